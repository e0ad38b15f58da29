"""timeBatch(t [, start.time]) on columns (semantics 7.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.execute.columnar.kernels import batching, plain
from lockstep.execute.columnar.order import Order
from lockstep.execute.columnar.windows.batches import Batches, Closings
from lockstep.execute.columnar.windows.contract import Setup, Step


class TimeBatchWindow(Batches):
    """Batches close by timers at the boundaries of a grid."""

    shows_timers = True

    def __init__(self, setup: Setup, period_ms: int, start_ms: int | None) -> None:
        super().__init__(setup)
        self._period_ms = period_ms
        self._start_ms = start_ms
        self._next_ms: int | None = None

    def closings(self, step: Step, collected: int) -> Closings:
        """See Batches."""
        chunks, moves = step.chunks, step.moves
        known = self._next_ms is not None
        state = np.array(
            [self._next_ms or 0, int(known), collected, int(len(self.last) > 0)], np.int64
        )
        until, moment, due, clock = batching.close_by_time(
            plain(chunks.starts, np.int64),
            plain(chunks.order.moments, np.int64),
            plain(chunks.now, np.int64),
            plain(moves.moments, np.int64),
            plain(moves.clock, np.int64),
            moves.before,
            moves.leaps,
            self._period_ms,
            self._start_ms is not None,
            self._start_ms or 0,
            state,
        )
        self._next_ms = int(state[0]) if state[1] else None
        order = Order(moment, (due, step.place, 0))
        return Closings(until, order, clock, clock)

    def store(self, realm: int) -> Any:
        """See ColumnarWindow."""
        return (self._next_ms, *super().store(realm))

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        """See ColumnarWindow."""
        self._next_ms, last, collected = state
        super().load(realm, (last, collected), groups)

    def timers(self, realm: int) -> list[int]:
        """See ColumnarWindow."""
        if self._next_ms is None or not (len(self.open) or len(self.last)):
            return []
        return [self._next_ms]
