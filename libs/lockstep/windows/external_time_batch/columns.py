"""externalTimeBatch(a, t [, start.time [, timeout]]) on columns (semantics 7.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.rule import NotLowerable
from lockstep.columns.times import check_time
from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.windows.batches import Batches, Closings, grown_lines
from lockstep.windows.batching_kernel import UNKNOWN
from lockstep.windows.contract import ColumnarCall, Setup, Step
from lockstep.windows.external_time.columns import clock_values
from lockstep.windows.external_time_batch import kernel
from lockstep.windows.external_time_batch.kernel import DUE, END, NUMBER
from lockstep.windows.length_batch.columns import closed_in
from lockstep.windows.time.columns import timed_order
from lockstep.windows.time.kernel import Clock
from lockstep.windows.timers import Timers


class ExternalTimeBatchWindow(Batches):
    """An event at or behind the end closes the batch, and so does silence that lasts for the
    timeout (0: none does). `start_ms`: a number, the attribute that says it ("from the first
    event"), or None."""

    def __init__(
        self,
        setup: Setup,
        attribute: int,
        period_ms: int,
        *,
        start_ms: int | None = None,
        start_attribute: int | None = None,
        timeout_ms: int = 0,
    ) -> None:
        super().__init__(setup)
        self._attribute = attribute
        self._period_ms = period_ms
        self._start_ms = start_ms
        self._start_attribute = attribute if start_attribute is None else start_attribute
        self._timeout_ms = timeout_ms
        self.shows_timers = self.hears_timers = timeout_ms > 0
        self._state = np.zeros((0, 7), np.int64)
        self._timers = Timers()

    def reserve(self, realms: int) -> None:
        super().reserve(realms)
        known = len(self._state)
        self._state = grown_lines(self._state, realms)
        self._state[known:, END] = UNKNOWN

    def closings(self, step: Step, keys: Longs) -> Closings:
        chunks = step.chunks
        value = clock_values(step, self._attribute)
        begins = clock_values(step, self._start_attribute)
        if self._start_ms is not None:
            begins = np.full(len(value), self._start_ms, np.int64)
        self._timers.reserve(chunks.count)
        closed = kernel.close_by_attribute(
            plain(chunks.starts, np.int64),
            plain(chunks.order.moments, np.int64),
            plain(chunks.now, np.int64),
            keys,
            value,
            begins,
            self._period_ms,
            self._timeout_ms,
            Clock.of(step.moves),
            self._state,
            self._timers.heap,
            self._timers.counts,
        )
        at, realms, time, again, source, moment, due, now, number = np.ascontiguousarray(closed.T)
        if not self._timeout_ms:
            return closed_in(step, at, realms, at=at, time=time)
        owner = (self.setup.rank, number)
        order = timed_order(chunks.order, source, moment, due, owner, step.place)
        return Closings(at, realms, order, now, time, again)

    def due_ms(self) -> int | None:
        return self._timers.due_ms

    # --- state -----------------------------------------------------------------------------------

    def store(self, realm: int) -> Any:
        """See ColumnarWindow."""
        batches = super().store(realm)
        start, end, latest, due, _, flushed, _ = self._state[realm].tolist()
        period = (start, None if end == UNKNOWN else end, latest, due, bool(flushed))
        return (period, *batches)

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        (start, end, latest, due, flushed), last, collected = state
        # Null in states of earlier revisions whose first event had no value.
        start, latest = start or 0, latest or 0
        for time_ms in (start, latest):
            check_time(time_ms)
        super().load(realm, (last, collected), groups)
        ends = UNKNOWN if end is None else end
        line = (start, ends, latest, due, 0, flushed, self.collecting[realm, 2])
        self._state[realm] = line

    def timers(self, realm: int) -> list[tuple[int, int]]:
        if realm >= len(self._state) or not self._state[realm, NUMBER]:
            return []
        return [(int(self._state[realm, DUE]), int(self._state[realm, NUMBER]))]

    def load_timers(self, realm: int, timers: Sequence[tuple[int, int]]) -> None:
        """See RecallsTimers. Those that events have moved bring nothing."""
        asked = [number for due_ms, number in timers if due_ms == self._state[realm, DUE]]
        if asked:
            self._state[realm, NUMBER] = min(asked)
            self._timers.ask(int(self._state[realm, DUE]), min(asked), realm)


def external_time_batch(call: ColumnarCall, setup: Setup) -> ExternalTimeBatchWindow:
    """NotLowerable where the batch's time replaces the attribute."""
    if len(call) > 4 and call.constant(4):
        raise NotLowerable("an attribute that the time of its batch replaces")
    start_ms, start_attribute = None, None
    if len(call) > 2 and isinstance(call.call.arguments[2], ast.Constant):
        start_ms = int(call.constant(2))
    elif len(call) > 2:
        start_attribute = call.attribute(2, AttributeType.LONG)
    return ExternalTimeBatchWindow(
        setup,
        call.attribute(0, AttributeType.LONG),
        int(call.constant(1)),
        start_ms=start_ms,
        start_attribute=start_attribute,
        timeout_ms=int(call.constant(3)) if len(call) > 3 else 0,
    )
