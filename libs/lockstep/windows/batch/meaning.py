"""batch([n]): each arriving chunk is a batch (semantics 7.12)."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase, batch_chunk
from lockstep.windows.registry import WindowCall


class BatchWindow(WindowBase):
    """`[X previous chunk][RESET][C this chunk]`; with n the chunk comes in pieces of n."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length = int(call.constant(0, 0))
        self._last: list[StreamEvent] = []

    def process(self, chunk: list[StreamEvent]) -> None:
        """The first piece brings the expired ones of all pieces of the previous chunk."""
        previous, self._last = self._last, list(chunk)
        size = self._length or len(chunk)
        now = self.context.now_ms()
        for start in range(0, len(chunk), size):
            self.emit(batch_chunk(previous, chunk[start : start + size], now))
            previous = []

    def content(self) -> Iterable[StreamEvent]:
        """The last batch."""
        return self._last

    def snapshot(self) -> PlainState:
        """The last batch."""
        return list(self._last)

    def restore(self, state: PlainState) -> None:
        """See snapshot."""
        self._last = list(state)
