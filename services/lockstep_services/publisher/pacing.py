"""How many rows a batch takes, for sinks that may get a batch twice: where the cursor is moved
behind the rows, a batch that is cut short (a crash, a lease that moved) is sent again from its
beginning. So a batch takes about a given time, however fast the destination is, and no more than
that is sent again. Pure.
"""

from __future__ import annotations

from typing import Final

FIRST_ROWS: Final = 64


class Pace:
    """Begins small and doubles while full batches end in time; who was too slow gets what it would
    have managed. `least_rows`: what is under way at once takes as long as one alone.
    """

    def __init__(self, *, limit_rows: int, target_ms: int, least_rows: int) -> None:
        self._limit = limit_rows
        self._target_ms = target_ms
        self._least = min(least_rows, limit_rows)
        self.rows = max(self._least, min(FIRST_ROWS, limit_rows))

    def took(self, duration_ms: int, rows: int) -> None:
        """A batch of so many rows was delivered in so long."""
        manages = rows * self._target_ms // max(1, duration_ms)
        if duration_ms > self._target_ms:
            self.rows = max(self._least, min(self.rows, manages))
        elif rows >= self.rows:
            self.rows = max(self.rows, min(2 * self.rows, manages, self._limit))
