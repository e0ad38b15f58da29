"""delay(t): events come out t milliseconds later, as current events of that time (semantics
7.6).
"""

from __future__ import annotations

from lockstep.operators.contract import StreamEvent
from lockstep.windows.chunks import HoldingWindow
from lockstep.windows.registry import WindowCall


class DelayWindow(HoldingWindow):
    """Nothing comes out on arrival and nothing ever expires."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._delay_ms = int(call.constant(0))

    def process(self, chunk: list[StreamEvent]) -> None:
        """Takes the events in."""
        if not self._held:
            self.context.schedule(self, chunk[0].timestamp_ms + self._delay_ms)
        self._held += chunk

    def on_timer(self, due_ms: int) -> None:
        """All that are due by now leave in one chunk."""
        now = self.context.now_ms()
        held, last = self._held, now - self._delay_ms
        out: list[StreamEvent] = []
        while held and held[0].timestamp_ms <= last:
            out.append(StreamEvent(now, held.popleft().data))
        if held:
            self.context.schedule(self, held[0].timestamp_ms + self._delay_ms)
        if out:
            self.emit(out)
