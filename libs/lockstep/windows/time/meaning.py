"""time(t): the events of the last t milliseconds by clock (semantics 7.3)."""

from __future__ import annotations

from lockstep.operators.contract import StreamEvent
from lockstep.windows.chunks import HoldingWindow
from lockstep.windows.registry import WindowCall


class TimeWindow(HoldingWindow):
    """Sliding by clock. The check goes from the oldest entry and stops at the first that stays.

    One timer is pending while something is held: that of the oldest entry.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length_ms = int(call.constant(0))

    def process(self, chunk: list[StreamEvent]) -> None:
        """What is out by now leaves in front of each new event."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        held = self._held
        for event in chunk:
            if held:
                self.expire(now - self._length_ms, now, out)
            if not held:
                self.context.schedule(self, event.timestamp_ms + self._length_ms)
            held.append(event)
            out.append(event)
        self.emit(out)

    def on_timer(self, due_ms: int) -> None:
        """All that is out by now leaves as one chunk."""
        out: list[StreamEvent] = []
        now = self.context.now_ms()
        self.expire(now - self._length_ms, now, out)
        if self._held:
            self.context.schedule(self, self._held[0].timestamp_ms + self._length_ms)
        if out:
            self.emit(out)
