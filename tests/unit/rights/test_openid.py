"""Tokens of a provider: which are good, and what they give."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any

import jwt
import pytest

from lockstep.rights import Grant, Kind, Permission, Principal, Role, StrangerError, refusal
from lockstep.rights.accounts import AccountError, Directory
from lockstep.rights.decision import ForbiddenError
from lockstep.rights.needs import KNOWN
from lockstep.rights.openid import Key, Trust, grants_of, header_of, is_signed, keys_of, person
from tests.openid.provider import OpenIdServer, SigningKey

NOW_MS = 1_800_000_000_000
SERVER = OpenIdServer(lambda: NOW_MS / 1000)
SERVER.issuer = "https://login.example/realm"
ROLES = grants_of("staff=view, /ops/on call=operate:Hot, staff=send:Hot, a=b=deploy")
TRUST = Trust(
    SERVER.issuer, frozenset({"lockstep", "other"}), frozenset({"RS256", "ES256"}), 30_000,
    "preferred_username", "groups", ROLES,
)  # fmt: skip
KEY = keys_of({"keys": [SERVER.key.published]})[0]


def who(token: str, *, key: Key = KEY, trust: Trust = TRUST, now_ms: int = NOW_MS) -> Any:
    """Whose it is."""
    return person(token, key, trust, now_ms)


def test_a_good_token_names_a_person_with_what_the_groups_give() -> None:
    """The audience can be one of several; groups that nobody mapped give nothing."""
    found = who(SERVER.token(aud=["x", "other"], groups=["staff", "/ops/on call", "unknown"]))
    assert (found.kind, found.name, str(found)) == (Kind.PERSON, "ann", "person ann")
    assert found.grants == {
        Grant(Role.VIEW), Grant(Role.SEND, "Hot"), Grant(Role.OPERATE, "Hot"),
    }  # fmt: skip
    assert found.expires_ms == NOW_MS + 330_000


@pytest.mark.parametrize(
    ("claims", "path", "groups"),
    [
        ({"realm_access": {"roles": ["staff"]}}, "realm_access.roles", {Grant(Role.DEPLOY)}),
        ({"https://a.b/roles": "staff"}, "https://a.b/roles", {Grant(Role.DEPLOY)}),
        ({"groups": {"staff": 1}}, "groups", set()),
        ({"groups": [["staff"], 3]}, "groups", set()),
        ({"groups": None}, "groups", set()),
    ],
)
def test_roles_are_found_where_the_settings_say(
    claims: dict[str, Any], path: str, groups: set[Grant]
) -> None:
    """And nothing is made of what has another shape."""
    trust = replace(TRUST, roles_claim=path, roles=grants_of("staff=deploy"))
    assert who(SERVER.token(**claims), trust=trust).grants == groups


def test_a_person_without_a_role_may_nothing_and_is_told_so() -> None:
    """Not even what everybody may who is known; a default role changes that."""
    nobody = who(SERVER.token(groups=[]))
    refused = refusal(nobody, KNOWN)
    assert isinstance(refused, ForbiddenError)
    assert "person ann has no role here" in str(refused)
    guest = who(
        SERVER.token(groups=[]), trust=replace(TRUST, default=frozenset({Grant(Role.VIEW)}))
    )
    assert guest.may(Permission.VIEW)
    assert refusal(guest, KNOWN) is None


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"iss": "https://evil.example"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"aud": "another"}, "audience"),
        ({"aud": None}, "audience"),
        ({"aud": ["a", "b"]}, "audience"),
        ({"aud": 5}, "audience"),
        ({"aud": True}, "audience"),
        ({"aud": {"lockstep": 1}}, "audience"),
        ({"aud": [["lockstep"], 5]}, "audience"),
        ({"exp": NOW_MS // 1000 - 30}, "expired"),
        ({"exp": None}, "runs out"),
        ({"exp": "tomorrow"}, "no time"),
        ({"exp": 1e300}, "no time"),
        ({"nbf": NOW_MS // 1000 + 31}, "not good yet"),
        ({"preferred_username": None}, "names nobody"),
        ({"preferred_username": "a\nroot"}, "names nobody"),
        ({"preferred_username": "a" * 101}, "names nobody"),
        ({"preferred_username": ["ann"]}, "names nobody"),
        ({"events": {"http://schemas.openid.net/event/backchannel-logout": {}}}, "log-out"),
        ({"groups": ["x" * 9_000]}, "more than 8000 bytes"),
    ],
)
def test_a_token_with_a_wrong_claim_is_refused_with_the_reason(
    changed: dict[str, Any], says: str
) -> None:
    """Without a word of the token itself."""
    token = SERVER.token(**changed)
    with pytest.raises(StrangerError, match=says) as caught:
        who(token)
    assert token.split(".")[2] not in str(caught.value)


def test_clocks_may_differ_by_the_leeway() -> None:
    """On both ends."""
    second = NOW_MS // 1000
    token = SERVER.token(nbf=second + 30, exp=second + 60)
    assert who(token, now_ms=NOW_MS).name == "ann"
    assert who(token, now_ms=NOW_MS + 89_999).name == "ann"
    with pytest.raises(StrangerError, match="expired"):
        who(token, now_ms=NOW_MS + 90_000)


def _by_hand(header: dict[str, Any], secret: bytes | None) -> str:
    parts = [json.dumps(one).encode() for one in (header, SERVER.claims())]
    signed = b".".join(base64.urlsafe_b64encode(one).rstrip(b"=") for one in parts)
    mac = b"" if secret is None else hmac.digest(secret, signed, hashlib.sha256)
    return (signed + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()


@pytest.mark.parametrize("trust", [TRUST, replace(TRUST, algorithms=frozenset({"HS256", "none"}))])
def test_unsigned_tokens_and_those_with_the_public_key_as_a_secret_are_refused(
    trust: Trust,
) -> None:
    """`none` and HS256, even where somebody had put them among the algorithms."""
    kid = {"kid": "first"}
    for token in (
        _by_hand({"alg": "none", **kid}, None),
        _by_hand({"alg": "None", **kid}, None),
        _by_hand(kid, None),
        _by_hand({"alg": "HS256", **kid}, SERVER.key.pem),
    ):
        with pytest.raises(StrangerError):
            who(token, trust=trust)


def test_a_signature_of_another_key_or_another_kind_is_refused() -> None:
    """Also under the right key's id; and a token whose claims were changed afterwards."""
    other = SigningKey("first")
    with pytest.raises(StrangerError, match="signature"):
        who(SERVER.token(key=other))
    elliptic = SigningKey("first", "ES256")
    with pytest.raises(StrangerError, match="signature"):
        who(SERVER.token(key=elliptic))
    found = keys_of({"keys": [elliptic.published]})[0]
    assert who(SERVER.token(key=elliptic), key=found).name == "ann"
    head, _, tail = SERVER.token().split(".")
    forged = SERVER.token(groups=["/ops/on call"]).split(".")[1]
    with pytest.raises(StrangerError, match="signature"):
        who(f"{head}.{forged}.{tail}")
    algorithm = jwt.encode(SERVER.claims(), SERVER.key.private, "RS512", {"kid": "first"})
    with pytest.raises(StrangerError, match="'RS512' are not taken"):
        who(algorithm)


def test_what_cannot_be_read_is_refused() -> None:
    """And has the shape of a token at most."""
    for text in ("a.b.c", "..", "eyJhbGciOiJSUzI1NiJ9.W10.x", "é.é.é"):
        assert is_signed(text)
        with pytest.raises(StrangerError):
            header_of(text, TRUST)
    assert not is_signed("lockstep_abc_def")


def test_keys_are_those_that_sign_and_no_secrets() -> None:
    """What is not known is passed over."""
    published = SERVER.key.published
    listed = [
        {**published, "use": "enc"}, {"kty": "oct", "k": "c2VjcmV0", "kid": "s"},
        {"kty": "RSA", "n": "x"}, {"kty": "new"}, "text", {**published, "kid": "good"},
    ]  # fmt: skip
    assert [key.id for key in keys_of({"keys": listed})] == ["good"]
    unusable: list[Any] = [{}, [], {"keys": 3}]
    for wrong in unusable:
        with pytest.raises(ValueError, match="JWK Set"):
            keys_of(wrong)


def test_the_map_of_roles_says_where_it_cannot_be_read() -> None:
    """A role that there is not, or no role at all."""
    assert ROLES["a=b"] == {Grant(Role.DEPLOY)}
    assert grants_of("") == {}
    for wrong, says in (
        ("staff", "cannot be read"),
        ("=view", "cannot be read"),
        ("a=view, b=deploy:", "cannot be read at 'b=deploy:'"),
        ("a=view: , b=deploy", "cannot be read at 'a=view:'"),
        ("a=king", "king"),
    ):
        with pytest.raises(AccountError, match=says):
            grants_of(wrong)


def test_a_person_is_nobody_any_more_when_the_token_has_run_out() -> None:
    """A user of that name in the store changes nothing."""
    found: Principal = who(SERVER.token())
    assert Directory().still(found, found.expires_ms - 1) == found
    assert Directory().still(found, found.expires_ms) is None
