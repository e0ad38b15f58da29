"""Pending timers of a window's realms, one or more for each, in the order of their requests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lockstep.columns import timer_kernel as timers
from lockstep.columns.column import Longs
from lockstep.windows.batches import grown_lines


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
