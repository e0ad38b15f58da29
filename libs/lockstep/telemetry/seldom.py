"""What is met again and again is told once, and then every so often. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

MINUTE_MS: Final = 60_000
MAX_KEPT: Final = 1_000
"""Different things that were told lately; what comes beyond them is not told."""


class Seldom:
    """Of several things, each by itself. Time is passed in, from a clock that never runs back."""

    def __init__(self, every_ms: int = MINUTE_MS) -> None:
        self._every_ms = every_ms
        self._told_ms: dict[Hashable, int] = {}

    def is_due(self, what: Hashable, now_ms: int) -> bool:
        """Whether to tell it now; whoever asks tells it then."""
        told_ms = self._told_ms.get(what)
        if told_ms is not None and now_ms - told_ms < self._every_ms:
            return False
        if len(self._told_ms) >= MAX_KEPT:
            lately = {k: ms for k, ms in self._told_ms.items() if now_ms - ms < self._every_ms}
            self._told_ms = lately
            if len(lately) >= MAX_KEPT:
                return False
        self._told_ms[what] = now_ms
        return True

    def over(self) -> bool:
        """It is over: all of it is told at once when it comes back. True where any was told."""
        any_told = bool(self._told_ms)
        self._told_ms.clear()
        return any_told
