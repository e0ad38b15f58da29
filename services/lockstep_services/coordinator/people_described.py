"""The routes of users, groups, tokens and log-ins, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from lockstep.frame.openapi import Described


class Login(TypedDict):
    """A user."""

    user: str
    password: str


class Offered(TypedDict):
    """`openid`: the provider's `issuer`, and `client_id` and `scope` for it; null without one."""

    openid: dict[str, str] | None


class Invited(TypedDict):
    """Who was invited chooses a password."""

    invitation: str
    password: str


class Session(TypedDict):
    """`token` goes into the header Authorization: Bearer."""

    user: str
    token: str
    expires_ms: int


class Me(TypedDict):
    """Who one is, and what one was granted."""

    kind: str
    name: str
    grants: list[dict[str, str]]


class NewPassword(TypedDict):
    """The one of today, and the next one."""

    old: str
    new: str


class UserName(TypedDict):
    """Which user it was."""

    user: str


class Users(TypedDict):
    """All users."""

    users: list[dict[str, Any]]


class PutUser(TypedDict):
    """Without a password the user is invited to choose one. `role`: of a new user, everywhere."""

    password: NotRequired[str]
    role: NotRequired[str]


class MadeUser(TypedDict):
    """`invitation`: shown this once."""

    user: str
    created: bool
    invitation: NotRequired[str]
    expires_ms: NotRequired[int]


class Invitation(TypedDict):
    """Shown this once."""

    user: str
    invitation: str
    expires_ms: int


class Groups(TypedDict):
    """All groups."""

    groups: list[dict[str, Any]]


class GroupName(TypedDict):
    """Which group it was."""

    group: str


class Member(TypedDict):
    """Who, and of which group."""

    group: str
    user: str


class GiveRole(TypedDict):
    """A role to a user or a group; without an app everywhere."""

    role: str
    user: NotRequired[str]
    group: NotRequired[str]
    app: NotRequired[str]


class Role(TypedDict):
    """Which role, and where."""

    role: str
    app: str


class Tokens(TypedDict):
    """All tokens, without their secrets."""

    tokens: list[dict[str, Any]]


class NewToken(TypedDict):
    """What it is for, and what it may."""

    name: str
    grants: list[dict[str, str]]
    expires_in_ms: NotRequired[int]


class CreatedToken(TypedDict):
    """`token`: shown this once."""

    id: str
    name: str
    token: str
    expires_ms: int


class TokenId(TypedDict):
    """Which token it was."""

    id: str


class Entries(TypedDict):
    """The newest first."""

    entries: list[dict[str, Any]]


_USER: Final = "/v1/users/{user}"
_MEMBER: Final = "/v1/groups/{group}/members/{user}"
PEOPLE: Final = (
    Described("GET", "/v1/login", "Where one can sign in besides.", Offered),
    Described("POST", "/v1/login", "Begins a session.", Session, Login),
    Described("POST", "/v1/logout", "Ends it.", UserName),
    Described("POST", "/v1/invitation", "Chooses a password, once.", Session, Invited),
    Described("GET", "/v1/me", "Who one is.", Me),
    Described("PUT", "/v1/me/password", "Changes one's password.", UserName, NewPassword),
    Described(
        "GET",
        "/v1/audit",
        "Who did what, the newest first.",
        Entries,
        query=("before", "limit", "app", "who"),
    ),
    Described("GET", "/v1/users", "All users.", Users),
    Described(
        "PUT", _USER, "Makes a user, or gives one a password.", MadeUser, PutUser, others=(201,)
    ),
    Described("DELETE", _USER, "Removes a user, who is out at once.", UserName),
    Described("POST", f"{_USER}/invitation", "Invites again.", Invitation, status=201),
    Described("GET", "/v1/groups", "All groups.", Groups),
    Described("PUT", "/v1/groups/{group}", "Makes a group.", GroupName, others=(201,)),
    Described("DELETE", "/v1/groups/{group}", "Removes a group.", GroupName),
    Described("PUT", _MEMBER, "Puts a user into a group.", Member),
    Described("DELETE", _MEMBER, "Takes a user out of a group.", Member),
    Described("POST", "/v1/grants", "Gives a role.", Role, GiveRole),
    Described("DELETE", "/v1/grants", "Takes a role back.", Role, GiveRole),
    Described("GET", "/v1/tokens", "The tokens that the caller may revoke.", Tokens),
    Described("POST", "/v1/tokens", "Makes a token.", CreatedToken, NewToken, status=201),
    Described("DELETE", "/v1/tokens/{token}", "Revokes a token.", TokenId),
)
