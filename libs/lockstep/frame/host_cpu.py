"""How busy the host is, as Linux counts it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

COUNTERS: Final = Path("/proc/stat")
IDLE_FIELDS: Final = slice(3, 5)
"""Idle, and waiting for disks."""


class HostCpu:
    """Each reading is about the time since the one before. 0 where nobody counts."""

    def __init__(self, counters: Path = COUNTERS) -> None:
        self._counters = counters
        self._idle, self._all = self._read()

    def percent(self) -> int:
        """Of all cores together, since the last call."""
        idle, total = self._read()
        passed, rested = total - self._all, idle - self._idle
        self._idle, self._all = idle, total
        return 0 if passed <= 0 else min(100, max(0, 100 * (passed - rested) // passed))

    def _read(self) -> tuple[int, int]:
        try:
            first = self._counters.read_text().splitlines()[0].split()
            ticks = [int(one) for one in first[1:9]]
        except (OSError, ValueError, IndexError):
            return 0, 0
        return sum(ticks[IDLE_FIELDS]), sum(ticks)
