"""Tokens of an OpenID Connect provider: which are good, whose they are, what they give. Pure. The
one door of PyJWT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import jwt

from lockstep.events import LockstepError
from lockstep.rights.accounts import AccountError, grant_of
from lockstep.rights.decision import StrangerError
from lockstep.rights.model import Grant, Kind, Principal

FAMILIES: Final[Mapping[str, str]] = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
"""The kind of key by how the algorithm's name begins: asymmetric ones alone."""
MAX_NAME: Final = 100
AGAIN: Final = "get a new token from the provider"
_UNCHECKED: Final[Any] = dict.fromkeys(
    ("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss"), False
)
"""By the library, which asks a clock of its own."""
_UNREAD: Final[Any] = {"verify_signature": False, **_UNCHECKED}
Claims: TypeAlias = Mapping[str, Any]


class SignatureError(StrangerError):
    """The token is not signed with the key that it was judged by."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose tokens are taken, and what they give: `roles` by the groups that they name, `default`
    to everybody."""

    issuer: str
    audiences: frozenset[str]
    algorithms: frozenset[str]
    leeway_ms: int
    user_claim: str
    roles_claim: str
    roles: Mapping[str, frozenset[Grant]] = field(default_factory=dict)
    default: frozenset[Grant] = frozenset()
    max_bytes: int = 8_000


@dataclass(frozen=True, slots=True)
class Key:
    """A public key that the provider publishes. `algorithm`: the one that it is for; empty: any."""

    id: str
    kind: str
    algorithm: str
    value: Any

    def signs(self, algorithm: str) -> bool:
        """Whether a signature of that kind can be this key's."""
        return FAMILIES.get(algorithm[:2]) == self.kind and self.algorithm in ("", algorithm)


def grants_of(text: str) -> dict[str, frozenset[Grant]]:
    """Of `GROUP=ROLE:APP, …`; AccountError."""
    found: dict[str, frozenset[Grant]] = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        group, equals, what = each.rpartition("=")
        if not equals or not group.strip() or what.endswith(":"):
            raise AccountError(
                f"oidc.roles cannot be read at '{each[:100]}'", hint="GROUP=ROLE or GROUP=ROLE:APP"
            )
        role, _, app = what.partition(":")
        granted = grant_of(role.strip(), app.strip() or None)
        found[group.strip()] = found.get(group.strip(), frozenset()) | {granted}
    return found


def keys_of(published: Any) -> Sequence[Key]:
    """The usable ones of a JWK Set; those of kinds that are not known are passed over, and secrets
    are not keys here. ValueError for what is no such set."""
    listed = published.get("keys") if isinstance(published, dict) else None
    if not isinstance(listed, list):
        raise ValueError("no JWK Set")
    found = []
    for each in listed:
        if not isinstance(each, dict) or each.get("use", "sig") != "sig":
            continue
        if each.get("kty") not in FAMILIES.values():
            continue
        try:
            value = jwt.PyJWK(each).key
        except (jwt.PyJWTError, ValueError):
            continue
        named = str(each.get("kid", "")), str(each["kty"]), str(each.get("alg", ""))
        found.append(Key(*named, value))
    return found


def is_signed(text: str) -> bool:
    """Whether it has the shape of such a token."""
    return text.count(".") == 2


def header_of(token: str, trust: Trust) -> tuple[str, str]:
    """The key's id and the algorithm that a token names, after everything that can be said without
    a key: the provider is asked for keys of tokens alone that may be its. StrangerError."""
    if len(token) > trust.max_bytes:
        raise _stranger(f"the token has more than {trust.max_bytes} bytes", "ask for fewer claims")
    try:
        header = jwt.get_unverified_header(token)
        claims = jwt.decode(token, options=_UNREAD)
    except (jwt.PyJWTError, ValueError) as error:
        raise _stranger("this is no token that can be read", AGAIN) from error
    algorithm = str(header.get("alg", ""))
    if algorithm not in trust.algorithms:
        raise _stranger(
            f"tokens signed with '{algorithm[:20]}' are not taken",
            f"taken are {', '.join(sorted(trust.algorithms))}: oidc.algorithms",
        )
    if claims.get("iss") != trust.issuer:
        raise _stranger("the token is of an issuer that is not trusted here", "see oidc.issuer")
    return str(header.get("kid", "")), algorithm


def claims_of(token: str, key: Key, trust: Trust, now_ms: int) -> tuple[Claims, int]:
    """What a good token says, and when it runs out. StrangerError says what is wrong with it:
    SignatureError if another key may say otherwise."""
    _, algorithm = header_of(token, trust)
    try:
        if not key.signs(algorithm):
            raise jwt.InvalidSignatureError("of another kind")
        claims = jwt.decode(token, key.value, algorithms=[algorithm], options=_UNCHECKED)
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise SignatureError("the token's signature is not the provider's", hint=AGAIN) from error
    _check_audience(claims, trust)
    expires_ms = _check_time(claims, trust, now_ms)
    if "events" in claims:
        raise _stranger("this token tells of a log-out, and lets nobody in", AGAIN)
    return claims, expires_ms


def person(token: str, key: Key, trust: Trust, now_ms: int) -> Principal:
    """Whose token it is, with what that one may. StrangerError says what is wrong with it."""
    claims, expires_ms = claims_of(token, key, trust, now_ms)
    name = claims.get(trust.user_claim)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise _stranger(
            f"the token names nobody in the claim '{trust.user_claim}'",
            f"a text of at most {MAX_NAME} characters: oidc.user_claim, or the client's mappers",
        )
    given = [trust.roles.get(one, frozenset()) for one in _groups(claims, trust.roles_claim)]
    return Principal(
        Kind.PERSON, name, trust.default.union(*given), expires_ms=expires_ms + trust.leeway_ms
    )


def _check_audience(claims: Claims, trust: Trust) -> None:
    named = claims.get("aud")
    listed = named if isinstance(named, list) else [named]
    if not trust.audiences.intersection(one for one in listed if isinstance(one, str)):
        raise _stranger(
            "the token is for another audience",
            f"it has to name {' or '.join(sorted(trust.audiences))}: oidc.audience",
        )


def _check_time(claims: Claims, trust: Trust, now_ms: int) -> int:
    """When it runs out."""
    expires_ms, begins_ms = _ms(claims, "exp"), _ms(claims, "nbf")
    if expires_ms is None:
        raise _stranger("the token says not when it runs out", "it needs the claim exp")
    if now_ms >= expires_ms + trust.leeway_ms:
        raise _stranger("the token has expired", AGAIN)
    if begins_ms is not None and now_ms < begins_ms - trust.leeway_ms:
        raise _stranger("the token is not good yet", "compare this machine's clock")
    return expires_ms


def _ms(claims: Claims, name: str) -> int | None:
    found = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < 1e11:
        raise _stranger(f"the token's claim {name} is no time", AGAIN)
    return int(found * 1000)


def _groups(claims: Claims, path: str) -> Sequence[str]:
    """What the claim holds; a name with dots in it comes before a path."""
    found: Any = claims
    for step in (path,) if path in claims else path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return [found]
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _stranger(message: str, hint: str) -> LockstepError:
    return StrangerError(message, hint=hint)
