"""length(n): the last n events (semantics 7.1)."""

from __future__ import annotations

from lockstep.operators.contract import EXPIRED, StreamEvent
from lockstep.windows.chunks import HoldingWindow, expired, reset
from lockstep.windows.registry import WindowCall


class LengthWindow(HoldingWindow):
    """Sliding by count. n = 0: each event is in and out at once."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length = int(call.constant(0))

    def process(self, chunk: list[StreamEvent]) -> None:
        """When full, the oldest leaves in front of the new one."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        held, length = self._held, self._length
        for event in chunk:
            if length == 0:
                out += (event, expired(event, now), reset(now))
                continue
            if len(held) >= length:
                out.append(StreamEvent(now, held.popleft().data, EXPIRED))
            held.append(event)
            out.append(event)
        self.emit(out)
