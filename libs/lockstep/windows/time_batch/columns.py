"""timeBatch(t [, start.time] [, stream.current.event]) on columns (semantics 7.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.order import Order
from lockstep.windows import batching_kernel as batching
from lockstep.windows.batches import Closings, PassingBatches
from lockstep.windows.batching_kernel import UNKNOWN
from lockstep.windows.contract import ColumnarCall, ColumnarWindow, Setup, Step
from lockstep.windows.time.columns import timed_order
from lockstep.windows.time.kernel import Clock, Events
from lockstep.windows.time_batch import kernel
from lockstep.windows.timers import TimedBatches


class TimeBatchWindow(TimedBatches):
    """Batches close by timers at the boundaries of a grid, one for each realm."""

    columns = 4

    def __init__(self, setup: Setup, period_ms: int, start_ms: int | None) -> None:
        super().__init__(setup, period_ms)
        self._start_ms = start_ms

    def closings(self, step: Step, keys: Longs) -> Closings:
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

    def store(self, realm: int) -> Any:
        batches = super().store(realm)
        return (self.boundary(realm), *batches)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        next_ms, last, collected = state
        super().load(realm, (last, collected), groups)
        had = int(self.last[realm, 2] > 0)
        boundary = UNKNOWN if next_ms is None else next_ms
        self._state[realm] = boundary, self.collecting[realm, 2], had, 0


class PassingTimeBatch(PassingBatches, TimedBatches):
    """Events pass at once; at each boundary of the grid those that did leave."""

    def __init__(self, setup: Setup, period_ms: int, start_ms: int | None) -> None:
        super().__init__(setup, period_ms)
        self._start_ms = start_ms

    def flow(self, step: Step) -> Flow:
        chunks = step.chunks
        keys, inside, places = self.enter(step)
        self._timers.reserve(chunks.count)
        lines, offsets, made, self._free = kernel.pass_by_time(
            Events.of(chunks, keys, places),
            Clock.of(step.moves),
            kernel.Grid(self._period_ms, self._start_ms is not None, self._start_ms or 0),
            self.setup.wants_expired,
            inside,
            self._state,
            self._timers.heap,
            self._timers.counts,
            self.collecting,
            self._newer.values,
        )
        source, moment, due, clock, number, realms = np.ascontiguousarray(made.T)
        owner = (self.setup.rank, number)
        order = timed_order(chunks.order, source, moment, due, owner, step.place)
        return self.passed(step, lines, offsets, order, clock, realms)

    def store(self, realm: int) -> Any:
        collected = self.store_collected(realm)
        return (self.boundary(realm), collected)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        next_ms, collected = state
        self.load_collected(realm, collected, groups)
        self._state[realm] = UNKNOWN if next_ms is None else next_ms, 0


def time_batch(call: ColumnarCall, setup: Setup) -> ColumnarWindow:
    """The form that the arguments ask for."""
    flag = next((index for index in range(1, len(call)) if call.is_flag(index)), None)
    start_ms = int(call.constant(1)) if len(call) > 1 and flag != 1 else None
    passes = flag is not None and call.constant(flag)
    make = PassingTimeBatch if passes else TimeBatchWindow
    return make(setup, int(call.constant(0)), start_ms)
