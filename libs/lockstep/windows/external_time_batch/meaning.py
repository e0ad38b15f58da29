"""externalTimeBatch(attribute, t [, start.time [, timeout [, replace.with.batchtime]]]): batches by
an
attribute (semantics 7.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import Emit, PlainState, StreamEvent
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
        self._attribute = call.attribute(first)
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
        taking = Taking(self.emit)
        for event in chunk:
            with taking:
                self._take(event, taking.emit)
        if self._timeout_ms > 0 and self._end_ms is not None:
            self._due_ms = self.context.now_ms() + self._timeout_ms
            self.context.schedule(self, self._due_ms)
        taking.end()

    def _take(self, event: StreamEvent, emit: Emit) -> None:
        value = event.data[self._attribute]
        if self._end_ms is None:
            self._begin(event, value)
        assert self._end_ms is not None
        self._latest_ms = max(self._latest_ms, value)
        if value >= self._end_ms:
            self._close(emit)
            self._flushed = False
            self._end_ms = self._end_behind(self._latest_ms)
        self._open.add(self._stamped(event))

    def _begin(self, event: StreamEvent, value: int) -> None:
        if self._start_of is None:
            self._end_ms = value + self._period_ms
            self._start_ms = value
        else:
            self._start_ms = int(self._start_of(event))
            self._end_ms = self._end_behind(value)
        self._latest_ms = value

    def _end_behind(self, value: int) -> int:
        return value + self._period_ms - (value - self._start_ms) % self._period_ms

    def _stamped(self, event: StreamEvent) -> StreamEvent:
        if not self._replaces:
            return event
        at = self._attribute
        data = (*event.data[:at], self._end_ms, *event.data[at + 1 :])
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
        self._start_ms, self._end_ms, self._latest_ms, self._due_ms, self._flushed = period


def external_time_batch(call: WindowCall) -> WindowBase:
    """All events of the period."""
    return AttributeBatches(call, EveryEvent())
