"""time(t): the events of the last t milliseconds by clock (semantics 7.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall


class TimeWindow(WindowBase):
    """Sliding by clock. The check goes from the oldest entry and stops at the first that stays.

    One timer is pending while something is held: that of the oldest entry.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length_ms = int(call.constant(0))
        self._held: deque[StreamEvent] = deque()

    def process(self, chunk: list[StreamEvent]) -> None:
        """What is out by now leaves in front of each new event."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        held = self._held
        for event in chunk:
            if held:
                self._expire(now, out)
            if not held:
                self.context.schedule(self, event.timestamp_ms + self._length_ms)
            held.append(event)
            out.append(event)
        self.emit(out)

    def on_timer(self, due_ms: int) -> None:
        """All that is out by now leaves as one chunk."""
        out: list[StreamEvent] = []
        held = self._held
        self._expire(self.context.now_ms(), out)
        if held:
            self.context.schedule(self, held[0].timestamp_ms + self._length_ms)
        if out:
            self.emit(out)

    def _expire(self, now: int, out: list[StreamEvent]) -> None:
        held, last = self._held, now - self._length_ms
        while held and held[0].timestamp_ms <= last:
            out.append(StreamEvent(now, held.popleft().data, EXPIRED))

    def content(self) -> Iterable[StreamEvent]:
        """The events inside; expired ones are removed lazily."""
        return self._held

    def snapshot(self) -> PlainState:
        """The events inside, oldest first."""
        return list(self._held)

    def restore(self, state: PlainState) -> None:
        """See snapshot."""
        self._held = deque(state)
