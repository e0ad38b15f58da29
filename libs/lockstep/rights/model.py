"""Callers and what was granted to them: values, without a clock and without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

EVERYWHERE: Final = "*"
"""In the place of an app's name: all apps, and what belongs to none."""


class Permission(StrEnum):
    """What a route, topic or command asks for."""

    VIEW = "view"
    SEND = "send"
    OPERATE = "operate"
    DEPLOY = "deploy"
    CODE = "code"
    ADMINISTER = "administer"


class Role(StrEnum):
    """What can be granted."""

    VIEW = "view"
    SEND = "send"
    OPERATE = "operate"
    DEPLOY = "deploy"
    CODE = "code"
    ADMINISTER = "administer"


_OPERATE: Final = frozenset({Permission.VIEW, Permission.SEND, Permission.OPERATE})
PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.VIEW: frozenset({Permission.VIEW}),
    Role.SEND: frozenset({Permission.SEND}),
    Role.OPERATE: _OPERATE,
    Role.DEPLOY: _OPERATE | {Permission.DEPLOY},
    Role.CODE: _OPERATE | {Permission.DEPLOY, Permission.CODE},
    Role.ADMINISTER: frozenset(Permission),
}
"""What each role may. To send is no part of viewing, and to view no part of sending: a device that
sends need not see what became of it."""


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """A role on one app, or everywhere."""

    role: Role
    app: str = EVERYWHERE

    def covers(self, permission: Permission, app: str | None) -> bool:
        """`app`: None for what belongs to no app."""
        reaches = self.app == EVERYWHERE or (app is not None and self.app == app)
        return reaches and permission in PERMISSIONS[self.role]

    def __str__(self) -> str:
        where = "everywhere" if self.app == EVERYWHERE else f"on {self.app}"
        return f"{self.role} {where}"


class Kind(StrEnum):
    """What a caller is."""

    USER = "user"
    TOKEN = "token"
    PERSON = "person"
    """Whom the OpenID Connect provider knows: a human, or a service."""
    CLUSTER = "cluster"
    """Whoever has the secret that the processes share."""
    ANYBODY = "anybody"
    """At a door that asks for nothing."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller that is known, and what it was granted, itself or as a member of groups."""

    kind: Kind
    name: str
    grants: frozenset[Grant] = frozenset()
    token: str = field(default="", compare=False)
    """The id of the token that was shown, if it was one of the store's."""
    expires_ms: int = field(default=0, compare=False)
    """Of a person: when the provider's token runs out."""
    password_hash: str = field(default="", compare=False, repr=False)
    """Of a user: which password was the right one, to see later whether it still is."""

    def may(self, permission: Permission, app: str | None = None) -> bool:
        """On that app; None: everywhere."""
        return any(grant.covers(permission, app) for grant in self.grants)

    def may_somewhere(self, permission: Permission) -> bool:
        """On some app at least."""
        return any(permission in PERMISSIONS[grant.role] for grant in self.grants)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


def administrator(kind: Kind, name: str = "") -> Principal:
    """May everything."""
    return Principal(kind, name, frozenset({Grant(Role.ADMINISTER)}))
