"""What a door asks of its callers: a permission, and where it must hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lockstep.rights.model import Permission


class Scope(StrEnum):
    """Where the permission must hold."""

    OPEN = "open"
    """Nothing is asked, not even who it is."""
    KNOWN = "known"
    """Whoever is known may."""
    APP = "app"
    """On the app that the path or subject names."""
    SOMEWHERE = "somewhere"
    """On some app; what names the app stands in the request, or the answer holds what the caller
    may see: the handler narrows it."""
    EVERYWHERE = "everywhere"


@dataclass(frozen=True, slots=True)
class Need:
    """`permission` is None where the scope says everything."""

    scope: Scope
    permission: Permission | None = None

    def __str__(self) -> str:
        return str(self.scope) if self.permission is None else f"{self.permission} {self.scope}"


OPEN = Need(Scope.OPEN)
KNOWN = Need(Scope.KNOWN)
