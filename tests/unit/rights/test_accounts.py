"""Accounts as a value: who a token or password belongs to, and which changes are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.rights import Grant, Kind, Permission, Principal, Role
from lockstep.rights.accounts import (
    Account,
    AccountError,
    Change,
    Directory,
    Group,
    Token,
    User,
    checked,
    digest_of,
    directory,
    gone_with,
    grant_of,
    group_gone_with,
    named,
    stale,
    stored,
    token_text,
)
from lockstep.rights.attempts import MAX_KEYS, Attempts
from lockstep.rights.passwords import fits, hashed

ROOT = User("root", 1, grants=frozenset({Grant(Role.ADMINISTER)}))
ANN = User("ann", 2, groups=frozenset({"ops", "gone"}))
OPS = Group("ops", frozenset({Grant(Role.OPERATE, "Hot")}))
GIVEN = token_text("abc123", "s3cret_with_underscore")


def token(**more: object) -> Token:
    """Of a service that sends to one app, good until 100."""
    fields = {"grants": frozenset({Grant(Role.SEND, "Hot")}), **more}
    return Token("abc123", "sensor", digest_of(GIVEN), 1, 100, **fields)  # type: ignore[arg-type]


def of(*things: User | Group | Token) -> Directory:
    """As the store gives it."""
    return directory(7, [stored(one) for one in things])


def test_a_user_may_what_the_groups_may() -> None:
    """A group that is gone gives nothing."""
    found = of(ROOT, ANN, OPS).principal_of(ANN)
    assert found.may(Permission.OPERATE, "Hot")
    assert not found.may(Permission.OPERATE, "Cold")
    assert of(ROOT, ANN).principal_of(ANN).grants == frozenset()


def test_a_token_is_whose_it_is_until_it_runs_out_or_is_revoked() -> None:
    """A wrong secret, another id, a late hour: nobody."""
    known = of(ROOT, token())
    found = known.by_token(GIVEN, 99)
    assert found is not None
    assert (found.kind, found.name, found.token) == (Kind.TOKEN, "sensor", "abc123")
    assert known.still(found, 99) == found
    assert known.by_token(GIVEN, 100) is None
    assert known.still(found, 100) is None
    assert of(ROOT).still(found, 99) is None
    for wrong in (GIVEN + "x", token_text("other", "s3cret"), "lockstep_abc123", "", "s3cret"):
        assert known.by_token(wrong, 1) is None


def test_a_session_ends_with_its_user_and_an_invitation_opens_no_door() -> None:
    """Both are tokens of a user."""
    known = of(ROOT, ANN, OPS, token(user="ann", grants=frozenset()))
    found = known.by_token(GIVEN, 1)
    assert found is not None
    assert (found.kind, found.name) == (Kind.USER, "ann")
    after = checked(known, gone_with(known, "ann"))
    assert after.by_token(GIVEN, 1) is None
    assert after.still(found, 1) is None
    assert not after.tokens
    assert of(ROOT, ANN, token(user="ann", invites=True)).by_token(GIVEN, 1) is None


def test_somebody_can_always_administer() -> None:
    """The last one cannot go, nor can the first one be nobody."""
    with pytest.raises(AccountError, match="no user could administer"):
        checked(of(ROOT, ANN), gone_with(of(ROOT, ANN), "root"))
    with pytest.raises(AccountError, match="no user could administer"):
        checked(Directory(), Change([ANN]))
    with pytest.raises(AccountError, match="the last user cannot be removed"):
        checked(of(ROOT), gone_with(of(ROOT), "root"))
    assert checked(Directory(), Change([ROOT])).administrators == ["root"]


def test_what_ran_out_is_forgotten_but_for_tokens_of_services() -> None:
    """Those stay in the list until somebody revokes them."""
    assert stale(of(ROOT, token()), 1_000) == []
    assert stale(of(ROOT, ANN, token(user="ann")), 1_000) == [("token", "abc123")]
    assert stale(of(ROOT, ANN, token(user="ann")), 99) == []


def test_names_and_roles_are_checked() -> None:
    """With what would do."""
    assert named("ann@example.com", "user") == "ann@example.com"
    for name in ("", "a b", "-a", "a/b", "x" * 101, "ä"):
        with pytest.raises(AccountError, match="no name for a user"):
            named(name, "user")
    assert grant_of("view", None) == Grant(Role.VIEW)
    with pytest.raises(AccountError, match="no role 'root'"):
        grant_of("root", None)
    for app in ("", " "):
        with pytest.raises(AccountError, match="which app"):
            grant_of("view", app)


@given(st.text(max_size=20), st.text(max_size=20))
def test_stored_accounts_come_back_as_they_were(name: str, app: str) -> None:
    """Whatever the names hold."""
    user = User(name, 1, "hash", frozenset({Grant(Role.VIEW, app)}), frozenset({name}), id="1")
    assert of(user, OPS).users == {name: user}


def test_passwords_are_hashed_with_salt_and_have_a_length() -> None:
    """And no password fits a user that is not there, or has none yet."""
    kept = hashed("correct horse battery", "a" * 43)
    assert "correct" not in kept
    assert kept.startswith("$argon2id$")
    assert kept != hashed("correct horse battery", "b" * 43)
    assert fits(kept, "correct horse battery")
    assert not fits(kept, "correct horse batterx")
    assert not fits("", "nobody")
    assert not fits(kept, "x" * 10_000)
    for wrong in ("short", "x" * 257):
        with pytest.raises(AccountError, match="12 to 256"):
            hashed(wrong, "a" * 43)


def test_after_too_many_failures_one_waits() -> None:
    """For as long as it takes until the first of them is long enough ago."""
    attempts = Attempts(3, 100)
    for at in (0, 10, 20):
        assert attempts.wait_ms("ann", at) == 0
        attempts.failed("ann", at)
    assert attempts.wait_ms("ann", 30) == 70
    assert attempts.wait_ms("bob", 30) == 0
    assert attempts.wait_ms("ann", 100) == 0
    attempts.failed("ann", 100)
    attempts.succeeded("ann")
    assert attempts.wait_ms("ann", 101) == 0


def test_failures_of_many_names_are_not_kept_without_end() -> None:
    """The oldest are forgotten."""
    attempts = Attempts(1, 100)
    for number in range(MAX_KEYS + 1):
        attempts.failed(str(number), 0)
    assert attempts.wait_ms("0", 1) == 0
    assert attempts.wait_ms("1", 1) > 0


def test_failures_that_are_long_ago_are_forgotten() -> None:
    """A name that somebody made up takes no room any more."""
    attempts = Attempts(1, 100)
    for number in range(50):
        attempts.failed(str(number), number)
    attempts.failed("49", 130)
    assert list(attempts._failures) == [str(number) for number in (*range(31, 49), 49)]


def test_accounts_that_were_stored_before_scim_are_read() -> None:
    """They are active, no identity provider keeps them, and their names are their ids."""
    user = '{"name":"ann","created_ms":2,"password":"x","grants":[],"groups":["ops"]}'
    group = '{"name":"ops","grants":[{"role":"view","app":"*"}]}'
    found = directory(7, [Account("user", "ann", user), Account("group", "ops", group)])
    assert found.users["ann"] == User("ann", 2, "x", groups=frozenset({"ops"}), id="ann")
    assert (found.users["ann"].active, found.users["ann"].external_id) == (True, "")
    assert found.groups["ops"] == Group("ops", frozenset({Grant(Role.VIEW)}), id="ops")


def test_a_name_that_is_anothers_id_is_nobodys_id_besides() -> None:
    """Also after that other one has gone: whoever still asks for it finds nobody."""
    robert, bob = User("robert", 1, id="bob"), User("bob", 2, groups=frozenset({"Ops"}))
    traders, ops = Group("Traders", id="Ops"), Group("Ops")
    before = of(ROOT, robert, bob, traders, ops)
    assert {one.name: one.id for one in before.users.values()} == {
        "root": "root", "robert": "bob", "bob": "~bob",
    }  # fmt: skip
    assert {one.name: one.id for one in before.groups.values()} == {"Traders": "Ops", "Ops": "~Ops"}
    after = before
    for change in (gone_with(before, "robert"), group_gone_with(before, "Traders")):
        after = of(*_values(checked(after, change)))
    assert {one.name: one.id for one in after.users.values()} == {"root": "root", "bob": "~bob"}
    assert [(one.name, one.id) for one in after.groups.values()] == [("Ops", "~Ops")]
    gone = checked(after, group_gone_with(after, "Ops"))
    assert (gone.groups, gone.users["bob"].groups) == ({}, frozenset())
    assert "bob" not in checked(after, gone_with(after, "bob")).users


def _values(found: Directory) -> list[User | Group | Token]:
    return [*found.users.values(), *found.groups.values(), *found.tokens.values()]


def test_who_came_with_a_password_is_out_when_there_is_another() -> None:
    """Also another user's who has that name now; other changes leave that one in."""
    ann = replace(ANN, password="first")
    caller = of(ROOT, ann).principal_of(ann)
    assert of(ROOT, replace(ann, groups=frozenset())).still(caller, 1) == caller
    for later in (replace(ann, password="second"), User("ann", 3, "third"), User("ann", 3)):
        assert of(ROOT, later).still(caller, 1) is None
    assert "first" not in repr(caller)


def test_a_deactivated_user_is_nobody_at_every_door() -> None:
    """Neither a session nor an invitation counts, nor a request that is under way."""
    session = token(user="ann", grants=frozenset())
    known = of(ROOT, ANN, session)
    caller = known.by_token(GIVEN, 1)
    assert caller is not None
    out = of(ROOT, replace(ANN, active=False), session)
    assert out.by_token(GIVEN, 1) is None
    assert out.still(caller, 1) is None
    assert out.still(replace(caller, token=""), 1) is None
    assert of(replace(ANN, active=False), replace(session, invites=True)).token(GIVEN, 1) is None


def test_the_last_active_administrator_cannot_be_deactivated() -> None:
    """As little as removed: the suite would be nobody's."""
    with pytest.raises(AccountError, match="could administer"):
        checked(of(ROOT, ANN), Change([replace(ROOT, active=False)]))


def test_a_person_with_the_name_of_a_deactivated_user_is_nobody() -> None:
    """In whatever case; other persons are what they were."""
    ann, bob = (Principal(Kind.PERSON, name, expires_ms=9) for name in ("ANN", "bob"))
    assert of(ROOT, ANN).still(ann, 1) == ann
    out = of(ROOT, replace(ANN, active=False))
    assert (out.bars(ann), out.bars(bob)) == (True, False)
    assert (out.still(ann, 1), out.still(bob, 1)) == (None, bob)
