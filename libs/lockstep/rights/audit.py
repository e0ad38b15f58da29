"""The audit log: what is noted of a request, and what is not. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from lockstep.rights.model import Permission
from lockstep.rights.needs import Need

_UNTOLD: Final = frozenset({None, Permission.VIEW, Permission.SEND})
MAX_CHARACTERS: Final = 300
NOBODY: Final = "nobody"
"""Who was not known."""
MAX_STRANGERS_A_MINUTE: Final = 60
"""Refusals of callers whom nobody knows that a process notes one by one; the rest is counted."""
MAX_OF_ADDRESS_A_MINUTE: Final = 10
"""Of them, from one address."""
_MINUTE_MS: Final = 60_000


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


class Strangers:
    """Chooses which refusals of callers whom nobody knows are noted one by one: anybody can cause
    as many as there is time for, and each would be kept for months."""

    def __init__(self) -> None:
        self._until_ms = 0
        self._noted: Counter[str] = Counter()
        self._left_out = 0
        self._last: AuditEntry | None = None

    def take(self, entry: AuditEntry, address: str) -> bool:
        """Whether it is noted by itself; one that is not is counted. `told` comes first.
        `address`: of who asked, where one is believed who asks for many."""
        if entry.at_ms >= self._until_ms:
            self._until_ms = entry.at_ms + _MINUTE_MS
            self._noted.clear()
        if (
            self._noted.total() < MAX_STRANGERS_A_MINUTE
            and self._noted[address] < MAX_OF_ADDRESS_A_MINUTE
        ):
            self._noted[address] += 1
            return True
        self._left_out += 1
        self._last = entry
        return False

    def told(self, now_ms: int, *, is_end: bool = False) -> AuditEntry | None:
        """One entry for all that were left out, when their minute is over, or the process ends."""
        last, count = self._last, self._left_out
        if last is None or (now_ms < self._until_ms and not is_end):
            return None
        self._last, self._left_out = None, 0
        says = f"{count} more requests of strangers were refused within a minute"
        return replace(
            last, at_ms=now_ms, address="", forwarded="", method="", route="", path=says, app=""
        )
