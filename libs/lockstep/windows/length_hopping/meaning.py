"""lengthHopping(n, hop): every `hop` events the last n of them, as a batch (extensions 1.4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase, batch_chunk
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


class LengthHoppingWindow(WindowBase):
    """`[X previous batch][RESET][C batch]`, a chunk of its own for each hop."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._hop = int(call.constant(1))
        self._since = 0
        self._held: deque[StreamEvent] = deque(maxlen=int(call.constant(0)))
        self._last: list[StreamEvent] = []

    def process(self, chunk: list[StreamEvent]) -> None:
        """Until n have come the batch is what there is."""
        taking = Taking(self.emit)
        for event in chunk:
            self._held.append(event)
            self._since += 1
            if self._since == self._hop:
                self._since = 0
                previous, self._last = self._last, list(self._held)
                taking.emit(batch_chunk(previous, self._last, self.context.now_ms()))
        taking.end()

    def content(self) -> Iterable[StreamEvent]:
        """The last emitted batch."""
        return self._last

    def snapshot(self) -> PlainState:
        """How many came since the last hop, the last n events, and the last batch."""
        return (self._since, list(self._held), list(self._last))

    def restore(self, state: PlainState) -> None:
        self._since, held, last = state
        self._held.extend(held)
        self._last = list(last)
