"""externalTimeBatch(attribute, t [, start.time [, timeout [, replace.with.batchtime]]]): batches
by an attribute (semantics 7.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import Emit, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.windows.attribute_clock import AttributeClock
from lockstep.windows.chunks import BatchingWindow, WindowBase, batch_chunk
from lockstep.windows.contents import Contents, EveryEvent
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


class AttributeBatches(BatchingWindow):
    """An event at or behind the end closes the batch and opens the one that contains it.

    With a timeout the open batch is flushed when nothing comes for that long by the clock; later
    events of its period bring the whole batch out again (`_flushed`).
    """

    def __init__(self, call: WindowCall, contents: Contents, first: int = 0) -> None:
        super().__init__(call, contents)
        self._name = call.name
        self._clock = AttributeClock(call, first)
        self._period_ms = int(call.constant(first + 1))
        self._start_of: Callable[[Any], Any] | None = None
        if len(call) > first + 2:
            self._start_of = call.value(first + 2)
        self._timeout_ms = int(call.constant(first + 3, 0))
        self._replaces = bool(call.constant(first + 4, False))
        self._start_ms = 0
        self._end_ms: int | None = None
        self._latest_ms = 0
        self._due_ms = 0
        self._flushed = False

    def process(self, chunk: list[StreamEvent]) -> None:
        taking, has_taken = Taking(self.emit), False
        for event in chunk:
            with taking:
                self._take(event, taking.emit)
                has_taken = True
        if has_taken and self._timeout_ms > 0:
            self._due_ms = self.context.now_ms() + self._timeout_ms
            self.context.schedule(self, self._due_ms)
        taking.end()

    def _take(self, event: StreamEvent, emit: Emit) -> None:
        value = self._clock.of(event)
        start_ms, end_ms, latest_ms = self._start_ms, self._end_ms, max(self._latest_ms, value)
        if end_ms is None:
            start_ms, latest_ms = self._start_at(event, value), value
        closes = end_ms is not None and value >= end_ms
        if end_ms is None or closes:
            end_ms = latest_ms + self._period_ms - (latest_ms - start_ms) % self._period_ms
        stamped = self._stamped(event, end_ms)
        key = self._open.key(stamped)
        # What may fail has been done: an event that is refused moves no batch.
        self._start_ms, self._end_ms, self._latest_ms = start_ms, end_ms, latest_ms
        if closes:
            self._close(emit)
            self._flushed = False
        self._open.put(stamped, key)

    def _start_at(self, event: StreamEvent, value: int) -> int:
        """From when on periods are counted, if that is the first event."""
        if self._start_of is None:
            return value
        start_ms = self._start_of(event)
        if start_ms is None:
            raise EventError(f"{self._name}: the start.time is null")
        return int(start_ms)

    def _stamped(self, event: StreamEvent, end_ms: int) -> StreamEvent:
        if not self._replaces:
            return event
        at = self._clock.attribute
        # The end of the last period that a long has is beyond it.
        data = (*event.data[:at], java.wrap_long(end_ms), *event.data[at + 1 :])
        return StreamEvent(event.timestamp_ms, data)

    def on_timer(self, due_ms: int) -> None:
        """Nothing came for the timeout: the open batch is flushed early."""
        if due_ms == self._due_ms:
            taking = Taking(self.emit)
            self._close(taking.emit)
            self._flushed = True
            taking.end()

    def _close(self, emit: Emit) -> None:
        batch = self._open.take()
        if self._flushed:
            if not batch:
                return
            # The whole batch comes again; contents by key keep one event of each.
            for event in [*self._last, *batch]:
                self._open.add(event)
            batch = self._open.take()
        previous, self._last = self._last, batch
        out = batch_chunk(previous, batch, self._latest_ms)
        if out:
            emit(out)

    def snapshot(self) -> PlainState:
        """The period, the batches, and what the timeout needs."""
        period = (self._start_ms, self._end_ms, self._latest_ms, self._due_ms, self._flushed)
        return (period, *super().snapshot())

    def restore(self, state: PlainState) -> None:
        period, *batches = state
        super().restore(batches)
        start_ms, self._end_ms, latest_ms, self._due_ms, self._flushed = period
        # Null in states of earlier revisions whose first event had no value.
        self._start_ms, self._latest_ms = start_ms or 0, latest_ms or 0


def external_time_batch(call: WindowCall) -> WindowBase:
    """All events of the period."""
    return AttributeBatches(call, EveryEvent())
