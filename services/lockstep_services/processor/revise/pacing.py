"""How the revisions of a process are spread, so that those of a thousand small apps leave the cores
to their events. Pure."""

from __future__ import annotations

from typing import Final

BUSY_SHARE: Final = 10
"""One in so many parts of the time goes to revisions, as far as they are paced."""
APART_MAX_MS: Final = 1_000
"""A revision that takes long keeps others waiting for no longer."""
FORGETTING: Final = 0.9


class RevisionPace:
    """Turns in the order in which they were asked for."""

    def __init__(self) -> None:
        self._took_ms = 0.0
        self._next_ms = 0.0

    def wait_ms(self, now_ms: int) -> int:
        """A turn: how long until it comes."""
        turn_ms = max(float(now_ms), self._next_ms)
        self._next_ms = turn_ms + min(APART_MAX_MS, BUSY_SHARE * self._took_ms)
        return round(turn_ms - now_ms)

    def took(self, duration_ms: int) -> None:
        """A revision took so long, whether or not it had a turn."""
        self._took_ms = FORGETTING * self._took_ms + (1 - FORGETTING) * duration_ms
