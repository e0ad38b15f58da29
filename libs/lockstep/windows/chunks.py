"""What the windows share: where they emit to, and the default answers of those without timers or
content.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import EXPIRED, RESET, Emit, PlainState, StreamEvent, nowhere
from lockstep.windows.contents import Contents
from lockstep.windows.registry import WindowCall


class WindowBase:
    """A window without timers whose findable content is `held` (semantics 7)."""

    def __init__(self, call: WindowCall) -> None:
        self.context = call.context
        self.emit: Emit = nowhere

    def process(self, chunk: list[StreamEvent]) -> None:
        raise NotImplementedError

    def on_timer(self, due_ms: int) -> None:
        """No timers by default."""

    def content(self) -> Iterable[StreamEvent]:
        """Nothing to find by default."""
        return ()

    def snapshot(self) -> PlainState:
        """No state by default."""
        return None

    def restore(self, state: PlainState) -> None:
        """No state by default."""


class HoldingWindow(WindowBase):
    """A window that holds events, oldest first: they are its state, and findable."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._held: deque[StreamEvent] = deque()

    def content(self) -> Iterable[StreamEvent]:
        """The events inside."""
        return self._held

    def snapshot(self) -> PlainState:
        """The events inside, oldest first."""
        return list(self._held)

    def restore(self, state: PlainState) -> None:
        self._held = deque(state)

    def expire(self, until_ms: int, now: int, out: list[StreamEvent]) -> None:
        """Events of up to that time leave; the check stops at the first that stays."""
        held = self._held
        while held and held[0].timestamp_ms <= until_ms:
            out.append(StreamEvent(now, held.popleft().data, EXPIRED))


class BatchingWindow(WindowBase):
    """A window that collects a batch and findably keeps the last one that it emitted."""

    def __init__(self, call: WindowCall, contents: Contents) -> None:
        super().__init__(call)
        self._open = contents
        self._last: list[StreamEvent] = []

    def content(self) -> Iterable[StreamEvent]:
        """The last emitted batch."""
        return self._last

    def snapshot(self) -> PlainState:
        """The last batch and the open one."""
        return (list(self._last), self._open.held())

    def restore(self, state: PlainState) -> None:
        last, collected = state
        self._last = list(last)
        self._open.restore(collected)


def expired(event: StreamEvent, timestamp_ms: int) -> StreamEvent:
    """The event's expired copy."""
    return StreamEvent(timestamp_ms, event.data, EXPIRED)


def reset(timestamp_ms: int) -> StreamEvent:
    """The mark between two batches."""
    return StreamEvent(timestamp_ms, (), RESET)


def batch_chunk(
    previous: Iterable[StreamEvent], batch: list[StreamEvent], now: int, *, with_reset: bool = True
) -> list[StreamEvent]:
    """`[expired of the previous batch] [RESET] [current of this batch]` (semantics 7)."""
    chunk = [StreamEvent(now, event.data, EXPIRED) for event in previous]
    if with_reset and (chunk or batch):
        chunk.append(reset(now))
    chunk += batch
    return chunk
