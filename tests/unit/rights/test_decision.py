"""The decision: roles, scopes, and what a refusal says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.rights import (
    EVERYWHERE,
    PERMISSIONS,
    ROUTES,
    ForbiddenError,
    Grant,
    Kind,
    Need,
    Permission,
    Principal,
    Role,
    Scope,
    StrangerError,
    administrator,
    check,
    refusal,
)

APPS = ("Hot", "Cold")
GRANTS = st.builds(Grant, st.sampled_from(Role), st.sampled_from((*APPS, EVERYWHERE)))


def caller(*grants: Grant) -> Principal:
    """A user with these."""
    return Principal(Kind.USER, "ann", frozenset(grants))


@pytest.mark.parametrize(
    ("role", "permissions"),
    [
        (Role.VIEW, {"view"}),
        (Role.SEND, {"send"}),
        (Role.OPERATE, {"view", "send", "operate"}),
        (Role.DEPLOY, {"view", "send", "operate", "deploy"}),
        (Role.CODE, {"view", "send", "operate", "deploy", "code"}),
        (Role.ADMINISTER, {"view", "send", "operate", "deploy", "code", "administer"}),
    ],
)
def test_what_each_role_may(role: Role, permissions: set[str]) -> None:
    """Written out once more, so that nobody widens one by accident."""
    assert {str(one) for one in PERMISSIONS[role]} == permissions


def test_a_grant_on_an_app_reaches_that_app_alone() -> None:
    """Neither another one nor what belongs to none."""
    one = caller(Grant(Role.OPERATE, "Hot"))
    assert one.may(Permission.OPERATE, "Hot")
    assert not one.may(Permission.OPERATE, "Cold")
    assert not one.may(Permission.OPERATE)
    assert not one.may(Permission.DEPLOY, "Hot")
    assert one.may_somewhere(Permission.VIEW)
    assert not one.may_somewhere(Permission.DEPLOY)


def test_an_app_of_a_star_is_no_everywhere() -> None:
    """A grant everywhere is made as such: an app cannot be named so, and a path that says `*` gets
    what every app gets."""
    assert not caller(Grant(Role.VIEW, "Hot")).may(Permission.VIEW, EVERYWHERE)


def test_strangers_and_forbidden_are_told_apart_and_no_more() -> None:
    """401 for whom nobody knows; 403 in the same words whether or not the app exists."""
    need = Need(Scope.APP, Permission.VIEW)
    assert isinstance(refusal(None, need, "Hot"), StrangerError)
    refused = refusal(caller(Grant(Role.VIEW, "Hot")), need, "Cold")
    assert isinstance(refused, ForbiddenError)
    assert "user ann has not the right to view on app 'Cold'" in str(refused)
    assert "ask an administrator" in str(refused)
    assert refusal(caller(Grant(Role.VIEW, "Hot")), need, "Hot") is None
    with pytest.raises(ForbiddenError, match="define function"):
        check(caller(Grant(Role.DEPLOY)), Permission.CODE, "Hot")


@given(st.frozensets(GRANTS, max_size=4), st.sampled_from(sorted(ROUTES)), st.sampled_from(APPS))
def test_everywhere_is_never_less_than_an_app(
    grants: frozenset[Grant], place: tuple[str, str], app: str
) -> None:
    """Whoever may with a grant on an app may with the same one everywhere; a further grant takes
    nothing away; an administrator may all."""
    need = ROUTES[place]
    one = Principal(Kind.USER, "ann", grants)
    wider = Principal(Kind.USER, "ann", frozenset(Grant(grant.role) for grant in grants))
    if refusal(one, need, app) is None:
        assert refusal(wider, need, app) is None
        more = Principal(Kind.USER, "ann", grants | {Grant(Role.SEND, "Cold")})
        assert refusal(more, need, app) is None
    assert refusal(administrator(Kind.CLUSTER), need, app) is None
    if not grants and need.permission is not None:
        assert refusal(one, need, app) is not None
