"""timeBatch(t [, start.time]) on columns (semantics 7.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.expressions import NotLowerable
from lockstep.columns.order import Order
from lockstep.windows import batching_kernel as batching
from lockstep.windows.batches import Batches, Closings, grown_lines
from lockstep.windows.batching_kernel import UNKNOWN
from lockstep.windows.contract import ColumnarCall, Setup, Step
from lockstep.windows.timers import Timers


class TimeBatchWindow(Batches):
    """Batches close by timers at the boundaries of a grid, one for each realm."""

    shows_timers = True
    hears_timers = True

    def __init__(self, setup: Setup, period_ms: int, start_ms: int | None) -> None:
        super().__init__(setup)
        self._period_ms = period_ms
        self._start_ms = start_ms
        self._state = np.zeros((0, 4), np.int64)
        self._timers = Timers()

    def reserve(self, realms: int) -> None:
        """See Batches."""
        super().reserve(realms)
        known = len(self._state)
        self._state = grown_lines(self._state, realms)
        self._state[known:, 0] = UNKNOWN

    def closings(self, step: Step, keys: Longs) -> Closings:
        """See Batches."""
        chunks, moves = step.chunks, step.moves
        self._timers.reserve(len(self._state))
        closed = batching.close_by_time(
            plain(chunks.starts, np.int64),
            plain(chunks.order.moments, np.int64),
            plain(chunks.now, np.int64),
            keys,
            plain(moves.moments, np.int64),
            plain(moves.clock, np.int64),
            moves.before,
            moves.leaps,
            self._period_ms,
            self._start_ms is not None,
            self._start_ms or 0,
            self._state,
            self._timers.heap,
            self._timers.counts,
        )
        at, realms, moment, due, clock, firing = np.ascontiguousarray(closed.T)
        order = Order(moment, (due, self.setup.rank, firing, 0))
        return Closings(at, realms, order, clock, clock)

    def due_ms(self) -> int | None:
        """See ColumnarWindow."""
        return self._timers.due_ms

    def store(self, realm: int) -> Any:
        """See ColumnarWindow."""
        batches = super().store(realm)
        next_ms = int(self._state[realm, 0])
        return (None if next_ms == UNKNOWN else next_ms, *batches)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        """See ColumnarWindow."""
        next_ms, last, collected = state
        super().load(realm, (last, collected), groups)
        had = int(self.last[realm, 2] > 0)
        boundary = UNKNOWN if next_ms is None else next_ms
        self._state[realm] = boundary, self.collecting[realm, 2], had, 0

    def timers(self, realm: int) -> list[tuple[int, int]]:
        """See ColumnarWindow."""
        if realm >= len(self._state) or not self._state[realm, 3]:
            return []
        return [(int(self._state[realm, 0]), int(self._state[realm, 3]))]

    def load_timers(self, realm: int, timers: Sequence[tuple[int, int]]) -> None:
        """See RecallsTimers."""
        for due_ms, number in timers:
            self._timers.ask(due_ms, number, realm)
            self._state[realm, 3] = number


def time_batch(call: ColumnarCall, setup: Setup) -> TimeBatchWindow:
    """NotLowerable for the streaming form."""
    if any(call.is_flag(index) for index in range(1, len(call))):
        raise NotLowerable("stream.current.event")
    start_ms = int(call.constant(1)) if len(call) > 1 else None
    return TimeBatchWindow(setup, int(call.constant(0)), start_ms)
