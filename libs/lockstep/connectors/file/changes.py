"""What became of the files of a folder between two looks at it: a decision, without any I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

QUIET_MS: Final = 1_000
"""For so long a file has to stay as it is, to be called changed and no longer changing."""

CREATED: Final = "created"
MODIFYING: Final = "modifying"
MODIFIED: Final = "modifyingCompleted"
REMOVED: Final = "removed"


class Mark(NamedTuple):
    """What tells one state of a file from another; folders have no size."""

    modified_ns: int
    size_bytes: int
    is_folder: bool


class Changes:
    """Told of by path. `known`: the state of each file when it was last told of."""

    def __init__(self, known: Mapping[str, Mark]) -> None:
        self.known = dict(known)
        self._changing: dict[str, tuple[Mark, int]] = {}

    def look(self, found: Mapping[str, Mark], now_ms: int) -> list[tuple[str, str]]:
        """(path, status) of what has happened since the last look, folders around what is in them:
        what is removed from the inside out, then the rest from the outside in."""
        told: list[tuple[str, str]] = []
        for path in sorted(self.known, reverse=True):
            mark = found.get(path)
            if mark is None or mark.is_folder != self.known[path].is_folder:
                del self.known[path]
                self._changing.pop(path, None)
                told.append((path, REMOVED))
        for path, mark in sorted(found.items()):
            before = self.known.get(path)
            if before is None:
                self.known[path] = mark
                told.append((path, CREATED))
            elif before == mark:
                self._changing.pop(path, None)
            elif (status := self._changed(path, mark, now_ms)) is not None:
                told.append((path, status))
        return told

    def _changed(self, path: str, mark: Mark, now_ms: int) -> str | None:
        """One that changes on is told of once in a while, and when it has come to rest."""
        seen, since_ms = self._changing.setdefault(path, (mark, now_ms))
        if now_ms - since_ms < QUIET_MS:
            return None
        if seen != mark:
            self._changing[path] = (mark, now_ms)
            return MODIFYING
        del self._changing[path]
        self.known[path] = mark
        return MODIFIED
