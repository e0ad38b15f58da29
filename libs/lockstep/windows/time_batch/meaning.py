"""timeBatch(t [, start.time] [, stream.current.event]): batches by clock (semantics 7.4)."""

from __future__ import annotations

from collections import deque

from lockstep.events import AttributeType
from lockstep.operators.contract import Emit, PlainState, StreamEvent
from lockstep.windows.chunks import BatchingWindow, HoldingWindow, WindowBase, batch_chunk
from lockstep.windows.contents import Contents, EveryEvent
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


class Grid:
    """Batch boundaries: the first event's clock plus whole periods, or start.time plus whole
    periods.
    """

    def __init__(self, period_ms: int, start_ms: int | None) -> None:
        self.period_ms = period_ms
        self._start_ms = start_ms
        self.next_ms: int | None = None

    def advance(self, now: int) -> int:
        """The boundary behind `now`; boundaries that passed without events are left out."""
        if self.next_ms is None:
            if self._start_ms is None:
                self.next_ms = now + self.period_ms
            else:
                self.next_ms = now + self.period_ms - (now - self._start_ms) % self.period_ms
        elif self.next_ms <= now:
            self.next_ms += ((now - self.next_ms) // self.period_ms + 1) * self.period_ms
        return self.next_ms


class ClockedBatches(BatchingWindow):
    """A batch closes at each boundary of the grid; an event exactly at one belongs to the next
    batch.

    `stamped`: the events leave with the boundary as their timestamp. `length`: closes also when
    so many are collected.
    """

    def __init__(
        self,
        call: WindowCall,
        grid: Grid,
        contents: Contents,
        *,
        stamped: bool = False,
        length: int | None = None,
    ) -> None:
        super().__init__(call, contents)
        self._grid = grid
        self._stamped = stamped
        self._length = length

    def process(self, chunk: list[StreamEvent]) -> None:
        """Collects; the timer of the next boundary runs while there is something to emit at it."""
        if self._holds and self._grid.next_ms is not None:
            # It waits already, but in states of revisions before a batch that failed asked for its
            # next timer.
            self.context.schedule(self, self._grid.next_ms)
        taking = Taking(self.emit)
        for event in chunk:
            with taking:
                self._take(event, taking.emit)
        taking.end()

    def _take(self, event: StreamEvent, emit: Emit) -> None:
        key = self._open.key(event)
        if not self._holds:  # an event that is refused begins nothing
            self.context.schedule(self, self._grid.advance(self.context.now_ms()))
        self._open.put(event, key)
        if self._length is not None and len(self._open) >= self._length:
            self._close(self.context.now_ms(), emit)

    @property
    def _holds(self) -> bool:
        """There is something to emit at the next boundary."""
        return bool(self._open or self._last)

    def on_timer(self, due_ms: int) -> None:
        """Closes the batch of a boundary; a timer from before the grid moved on is nobody's."""
        if due_ms != self._grid.next_ms:
            return
        self._grid.next_ms = due_ms + self._grid.period_ms
        taking = Taking(self.emit)
        self._close(due_ms, taking.emit)
        if self._last:
            self.context.schedule(self, self._grid.next_ms)
        taking.end()

    def _close(self, boundary_ms: int, emit: Emit) -> None:
        previous, batch = self._last, self._open.take()
        if self._stamped:
            batch = [StreamEvent(boundary_ms, event.data) for event in batch]
        self._last = batch
        out = batch_chunk(previous, batch, self.context.now_ms())
        if out:
            emit(out)

    def snapshot(self) -> PlainState:
        """The next boundary, the last batch and the open one."""
        return (self._grid.next_ms, *super().snapshot())

    def restore(self, state: PlainState) -> None:
        self._grid.next_ms, *batches = state
        super().restore(batches)


class StreamingTimeBatch(HoldingWindow):
    """Current events pass at once; at each boundary the batch is expired."""

    def __init__(self, call: WindowCall, grid: Grid) -> None:
        super().__init__(call)
        self._grid = grid

    def process(self, chunk: list[StreamEvent]) -> None:
        if not self._held:
            self.context.schedule(self, self._grid.advance(self.context.now_ms()))
        self._held += chunk
        self.emit(list(chunk))

    def on_timer(self, due_ms: int) -> None:
        """Expires the batch."""
        if due_ms != self._grid.next_ms:
            return
        self._grid.next_ms = due_ms + self._grid.period_ms
        batch, self._held = self._held, deque()
        self.emit(batch_chunk(batch, [], self.context.now_ms()))

    def snapshot(self) -> PlainState:
        """The next boundary and the events collected so far."""
        return (self._grid.next_ms, super().snapshot())

    def restore(self, state: PlainState) -> None:
        self._grid.next_ms, held = state
        super().restore(held)


def time_batch(call: WindowCall) -> WindowBase:
    """The form that the arguments ask for: a bool second argument is the streaming flag."""
    flag = next(
        (i for i in range(1, len(call)) if call.constant_type(i) is AttributeType.BOOL), None
    )
    start_ms = int(call.constant(1)) if len(call) > 1 and flag != 1 else None
    grid = Grid(int(call.constant(0)), start_ms)
    if flag is not None and call.constant(flag):
        return StreamingTimeBatch(call, grid)
    return ClockedBatches(call, grid, EveryEvent())
