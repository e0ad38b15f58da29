"""How much a replica has folded lately, and for how much of the time. Pure."""

from __future__ import annotations

from typing import Final

WINDOW_MS: Final = 10_000
"""A reading covers one to two of these: long enough not to follow every burst."""


class Effort:
    """Fed with slices; time is passed in."""

    def __init__(self, now_ms: int) -> None:
        self._since_ms = self._before_ms = now_ms
        self._events = self._busy_ms = 0
        self._events_before = self._busy_before_ms = 0

    def folded(self, now_ms: int, *, events: int, busy_ms: int) -> None:
        """A slice has just ended."""
        self._turn(now_ms)
        self._events += events
        self._busy_ms += busy_ms

    def read(self, now_ms: int, *, folding_ms: int = 0) -> tuple[int, int]:
        """(events per second, thousandths of the time in folding); `folding_ms`: for how long the
        slice under way has been folded."""
        self._turn(now_ms)
        span_ms = max(1, now_ms - self._before_ms)
        busy_ms = self._busy_before_ms + self._busy_ms + folding_ms
        events = self._events_before + self._events
        return events * 1_000 // span_ms, min(1_000, busy_ms * 1_000 // span_ms)

    def _turn(self, now_ms: int) -> None:
        """The present window becomes the one before when it is full; what is older is forgotten."""
        if now_ms - self._since_ms < WINDOW_MS:
            return
        is_old = now_ms - self._since_ms >= 2 * WINDOW_MS
        self._events_before = 0 if is_old else self._events
        self._busy_before_ms = 0 if is_old else self._busy_ms
        self._before_ms = now_ms - WINDOW_MS if is_old else self._since_ms
        self._since_ms = now_ms
        self._events = self._busy_ms = 0
