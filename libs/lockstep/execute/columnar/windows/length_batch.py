"""lengthBatch(n) on columns (semantics 7.2)."""

from __future__ import annotations

import numpy as np

from lockstep.execute.columnar.windows.batches import Batches, Closings
from lockstep.execute.columnar.windows.contract import Longs, Setup, Step


class LengthBatchWindow(Batches):
    """A batch closes with its nth event."""

    def __init__(self, setup: Setup, length: int) -> None:
        super().__init__(setup)
        self._length = length

    def closings(self, step: Step, collected: int) -> Closings:
        """See Batches."""
        n = self._length
        until = np.arange(n, collected + len(step.chunks) + 1, n, dtype=np.int64)
        return closed_in(step, until, until - 1 - collected)


def closed_in(step: Step, until: Longs, events: Longs, time: Longs | None = None) -> Closings:
    """Closings that certain events of the slice cause."""
    chunks = step.chunks
    chunk = chunks.chunk_of[events]
    now = chunks.now[chunk]
    # Several closings of one chunk stand in order.
    order = chunks.order.take(chunk).below(step.place, np.arange(len(until), dtype=np.int64))
    return Closings(until, order, now, now if time is None else time)
