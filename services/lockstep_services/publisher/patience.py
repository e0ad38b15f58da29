"""Which rows of a batch are given up, and when. Pure.

One row may be what its destination never takes: an address of its own that nobody answers at, or a
value that the server has no answer to. It is given up alone, and those behind it are sent. Where
nothing gets through, the destination is away, and all rows are given up at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from lockstep.events import OutputId, OutputRow, UnavailableError

MAX_UNHEARD: Final = 3
"""So often in a row rows are given up while none arrives; then the destination is away."""
MAX_ROUNDS: Final = 3
"""So often rows of a batch have all of their attempts. Behind that each has one, so that a batch
of many such rows ends."""


class MessagesAwayError(UnavailableError):
    """Some messages of a batch have not arrived; what is behind them may not have been sent.

    `rows`: theirs. `others_arrived`: with the same attempt.
    """

    def __init__(
        self, trouble: UnavailableError, rows: Sequence[OutputRow], *, others_arrived: bool
    ) -> None:
        super().__init__(trouble.message, where=trouble.where, hint=trouble.hint)
        self.rows = tuple(rows)
        self.others_arrived = others_arrived


class Patience:
    """With the rows of one batch: each has its own count of attempts."""

    def __init__(self, max_attempts: int) -> None:
        self._max_attempts = max_attempts
        self._tries: Counter[OutputId | None] = Counter()
        self._rounds = 0
        self._unheard = 0
        self._waited = False
        self.attempts = 0
        """Behind which rows are given up: of those that had the most of them."""

    def failed(self, error: UnavailableError, pending: Sequence[OutputRow]) -> int:
        """Notes an attempt. How often it was tried, for the pause before the next one.
        `pending`: all rows that have not arrived."""
        # None: all rows have arrived, and the cursor cannot be moved.
        tried: list[OutputId | None] = [row.id for row in _failed(error, pending)]
        tried = tried or [None]
        self._tries.update(tried)
        return max(self._tries[one] for one in tried)

    def spent(self, error: UnavailableError, pending: Sequence[OutputRow]) -> Sequence[OutputRow]:
        """The rows to be given up behind an attempt that was noted."""
        is_of_rows = isinstance(error, MessagesAwayError)
        others_arrived = isinstance(error, MessagesAwayError) and error.others_arrived
        if others_arrived:
            self._unheard, self._waited = 0, False
        # The destination gave no sign since the last ones: what is next shows whether it is there.
        # It is waited for once, before it counts as away.
        has_one = is_of_rows and (
            self._unheard > 0
            if self._waited
            else self._rounds >= MAX_ROUNDS and self._unheard < MAX_UNHEARD - 1
        )
        most = 1 if has_one else self._max_attempts
        found = [row for row in _failed(error, pending) if self._tries[row.id] >= most]
        if not found:
            return ()
        self._waited |= not has_one
        if not has_one or not self._unheard:
            self.attempts = max(self._tries[row.id] for row in found)
        self._rounds += 1
        self._unheard += 0 if others_arrived else 1
        return pending if self._unheard >= MAX_UNHEARD else found


def _failed(error: UnavailableError, pending: Sequence[OutputRow]) -> Sequence[OutputRow]:
    return error.rows if isinstance(error, MessagesAwayError) else pending
