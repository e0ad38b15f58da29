"""hopping(t, hop): every `hop` milliseconds the events of the last t, as a batch (semantics
7.16).
"""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase, batch_chunk
from lockstep.windows.registry import WindowCall
from lockstep.windows.time_batch.meaning import Grid


class HoppingWindow(WindowBase):
    """`[X previous batch][RESET][C batch]` at each hop; the first event starts the grid of hops."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length_ms = int(call.constant(0))
        self._grid = Grid(int(call.constant(1)), None)
        self._held: list[StreamEvent] = []
        self._last: list[StreamEvent] = []

    def process(self, chunk: list[StreamEvent]) -> None:
        """Collects; the timer runs while there is something to emit."""
        if not self._held and not self._last:
            self.context.schedule(self, self._grid.advance(self.context.now_ms()))
        self._held += chunk

    def on_timer(self, due_ms: int) -> None:
        """Emits the events of the last t before the hop."""
        if due_ms != self._grid.next_ms:
            return
        self._grid.next_ms = due_ms + self._grid.period_ms
        oldest = due_ms - self._length_ms
        self._held = [event for event in self._held if event.timestamp_ms >= oldest]
        batch = [event for event in self._held if event.timestamp_ms < due_ms]
        previous, self._last = self._last, batch
        if self._held or self._last:
            self.context.schedule(self, self._grid.next_ms)
        out = batch_chunk(previous, batch, self.context.now_ms())
        if out:
            self.emit(out)

    def content(self) -> Iterable[StreamEvent]:
        """The last emitted batch."""
        return self._last

    def snapshot(self) -> PlainState:
        """The next hop, the events held and the last batch."""
        return (self._grid.next_ms, list(self._held), list(self._last))

    def restore(self, state: PlainState) -> None:
        self._grid.next_ms, held, last = state
        self._held, self._last = list(held), list(last)
