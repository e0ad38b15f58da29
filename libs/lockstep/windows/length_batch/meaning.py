"""lengthBatch(n [, stream.current.event]): batches of n events (semantics 7.2)."""

from __future__ import annotations

from lockstep.operators.contract import Emit, StreamEvent
from lockstep.windows.chunks import (
    BatchingWindow,
    HoldingWindow,
    WindowBase,
    batch_chunk,
    expired,
    reset,
)
from lockstep.windows.contents import Contents, EveryEvent
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


class CountedBatches(BatchingWindow):
    """A batch closes when its contents count n; each complete batch is a chunk of its own."""

    def __init__(self, call: WindowCall, length: int, contents: Contents) -> None:
        super().__init__(call, contents)
        self._length = length

    def process(self, chunk: list[StreamEvent]) -> None:
        """Collects; emits `[X previous][RESET][C batch]` for every batch that is complete."""
        batch, taking = self._open, Taking(self.emit)
        for event in chunk:
            with taking:
                batch.add(event)
                if len(batch) >= self._length:
                    self._close(taking.emit)
        taking.end()

    def _close(self, emit: Emit) -> None:
        previous, self._last = self._last, self._open.take()
        emit(batch_chunk(previous, self._last, self.context.now_ms()))


class StreamingLengthBatch(HoldingWindow):
    """Current events pass at once; the (n+1)th expires the batch in front of it."""

    def __init__(self, call: WindowCall, length: int) -> None:
        super().__init__(call)
        self._length = length

    def process(self, chunk: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        for event in chunk:
            if len(self._held) == self._length:
                out += batch_chunk(self._held, [], now)
                self._held.clear()
            self._held.append(event)
            out.append(event)
        self.emit(out)


class EmptyBatches(WindowBase):
    """n = 0: each event is in and out at once."""

    def process(self, chunk: list[StreamEvent]) -> None:
        """`[C][X][RESET]` per event."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        for event in chunk:
            out += (event, expired(event, now), reset(now))
        self.emit(out)


def length_batch(call: WindowCall) -> WindowBase:
    """The form that the arguments ask for."""
    length = int(call.constant(0))
    if length == 0:
        return EmptyBatches(call)
    if call.constant(1, False):
        return StreamingLengthBatch(call, length)
    return CountedBatches(call, length, EveryEvent())
