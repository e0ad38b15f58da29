"""Pending timers of a window's realms, one or more for each, in the order of their requests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lockstep.columns import timer_kernel as timers
from lockstep.columns.column import Longs
from lockstep.windows.batches import Batches, grown_lines
from lockstep.windows.batching_kernel import UNKNOWN
from lockstep.windows.contract import Setup


class Timers:
    """A heap that kernels change; see kernels.timers. `counts`: how many timers there are, and the
    number of the last request."""

    def __init__(self) -> None:
        self.heap = np.zeros((0, 3), np.int64)
        self.counts = np.zeros(2, np.int64)

    def reserve(self, more: int) -> None:
        """Makes room for so many timers more."""
        self.heap = grown_lines(self.heap, int(self.counts[0]) + more)

    def ask(self, due_ms: int, number: int, owner: int) -> None:
        """Adds one that was asked for as the `number`th."""
        self.reserve(1)
        self.counts[0] = timers.push(self.heap, int(self.counts[0]), due_ms, number, owner)
        self.counts[1] = max(int(self.counts[1]), number)

    def keep(self, wanted: npt.NDArray[np.bool_]) -> None:
        """Forgets the timers, in the order of the heap's lines, that are not wanted."""
        kept = self.heap[: self.counts[0]][wanted]
        # Ascending lines are a heap.
        kept = kept[np.lexsort((kept[:, 1], kept[:, 0]))]
        self.heap[: len(kept)] = kept
        self.counts[0] = len(kept)

    def rename(self, owners: Longs, of_each: int) -> None:
        """Owners got new numbers, `of_each` neighbours together: `owners` gives the first of
        them."""
        own = self.heap[: self.counts[0], 2]
        own[:] = owners[own // of_each] + own % of_each

    @property
    def due_ms(self) -> int | None:
        """When the next one fires, or None."""
        return int(self.heap[0, 0]) if self.counts[0] else None


class TimedBatches(Batches):
    """Batches that close by timers at the boundaries of a grid, one for each realm. Per realm
    `_state` holds the next boundary, and in its last column the number of the timer's request."""

    shows_timers = True
    hears_timers = True
    columns = 2

    def __init__(self, setup: Setup, period_ms: int) -> None:
        super().__init__(setup)
        self._period_ms = period_ms
        self._state = np.zeros((0, self.columns), np.int64)
        self._timers = Timers()

    def reserve(self, realms: int) -> None:
        super().reserve(realms)
        known = len(self._state)
        self._state = grown_lines(self._state, realms)
        self._state[known:, 0] = UNKNOWN

    def boundary(self, realm: int) -> int | None:
        """The next one, as it is stored."""
        next_ms = int(self._state[realm, 0])
        return None if next_ms == UNKNOWN else next_ms

    def due_ms(self) -> int | None:
        return self._timers.due_ms

    def timers(self, realm: int) -> list[tuple[int, int]]:
        if realm >= len(self._state) or not self._state[realm, -1]:
            return []
        return [(int(self._state[realm, 0]), int(self._state[realm, -1]))]

    def load_timers(self, realm: int, timers: Sequence[tuple[int, int]]) -> None:
        for due_ms, number in timers:
            self._timers.ask(due_ms, number, realm)
            self._state[realm, -1] = number
