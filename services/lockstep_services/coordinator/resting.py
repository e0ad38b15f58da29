"""Units that were moved to level loads, and are left alone for a while. Pure.

Loads are measured, and on busy machines they swing. Without a rest a lead would go to and fro.
A processor that joins is another matter: it gets its share at once, so every rest ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

LONGEST_RESTS: Final = 16
"""A unit that is moved again and again rests this many times as long as after its first move."""


class Resting:
    """Each move doubles a unit's rest. One that then stays for twice the longest begins anew."""

    def __init__(self, rest_ms: int) -> None:
        self._rest_ms = rest_ms
        self._moved: dict[str, tuple[int, int]] = {}
        self._nodes: frozenset[str] | None = None
        self._joined_ms = 0

    def see(self, nodes: Iterable[str], now_ms: int) -> None:
        """These may be given units now. One that could not before ends all rests."""
        nodes = frozenset(nodes)
        if self._nodes is not None and nodes - self._nodes:
            self._joined_ms = now_ms
        self._nodes = nodes

    def note(self, units: Iterable[str], now_ms: int) -> None:
        """They were moved now."""
        for unit in units:
            _, rests = self._moved.get(unit, (0, 0))
            self._moved[unit] = (now_ms, min(LONGEST_RESTS, max(1, 2 * rests)))

    def at(self, now_ms: int) -> frozenset[str]:
        """Those that rest."""
        for unit, (moved_ms, _) in list(self._moved.items()):
            if now_ms - moved_ms >= 2 * LONGEST_RESTS * self._rest_ms:
                del self._moved[unit]
        return frozenset(
            unit
            for unit, (moved_ms, rests) in self._moved.items()
            if moved_ms >= self._joined_ms and now_ms - moved_ms < rests * self._rest_ms
        )
