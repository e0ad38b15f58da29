"""batch([n]): each arriving chunk is a batch (semantics 7.12)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import StreamEvent
from lockstep.windows.chunks import HoldingWindow, batch_chunk
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


class BatchWindow(HoldingWindow):
    """`[X previous chunk][RESET][C this chunk]`; with n the chunk comes in pieces of n."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length = int(call.constant(0, 0))

    def process(self, chunk: list[StreamEvent]) -> None:
        """The first piece brings the expired ones of all pieces of the previous chunk."""
        previous: Iterable[StreamEvent] = self._held
        self._held = deque(chunk)
        size = self._length or len(chunk)
        now, taking = self.context.now_ms(), Taking(self.emit)
        for start in range(0, len(chunk), size):
            taking.emit(batch_chunk(previous, chunk[start : start + size], now))
            previous = ()
        taking.end()
