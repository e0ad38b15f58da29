"""The audit log: what is noted of a request, and what is not. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lockstep.rights.model import Permission
from lockstep.rights.needs import Need

_UNTOLD: Final = frozenset({None, Permission.VIEW, Permission.SEND})
MAX_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """`address`: who was connected; `forwarded`: for whom, as that one says. `route`: as the table
    of needs has it; `path`: what it was. `status`: of the answer."""

    at_ms: int
    who: str
    address: str
    forwarded: str
    method: str
    route: str
    path: str
    app: str
    status: int
    node: str
    id: int = 0


def is_told(need: Need, method: str, status: int) -> bool:
    """What changes something is noted, and what was refused for want of a right. Who looked and
    what was sent is not: it would be most of all requests."""
    if status in (401, 403):
        return True
    return method not in ("GET", "HEAD") and need.permission not in _UNTOLD


def cut(text: str) -> str:
    """Strangers write into the log: not more than this each."""
    return text[:MAX_CHARACTERS]
