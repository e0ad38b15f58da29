"""timeLength(t, n): the events of the last t milliseconds, n at most (semantics 7.5)."""

from __future__ import annotations

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.windows.chunks import HoldingWindow
from lockstep.windows.registry import WindowCall


class TimeLengthWindow(HoldingWindow):
    """Like time(t); when more than n would be inside, the oldest leaves in front of the new one."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._length_ms = int(call.constant(0))
        self._length = int(call.constant(1))
        self._armed = False

    def process(self, chunk: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        held = self._held
        for event in chunk:
            self.expire(now - self._length_ms, now, out)
            if len(held) >= self._length > 0:
                out.append(StreamEvent(now, held.popleft().data, EXPIRED))
            held.append(event)
            out.append(event)
            if not self._armed:
                self._arm()
        self.emit(out)

    def _arm(self) -> None:
        self._armed = bool(self._held)
        if self._armed:
            self.context.schedule(self, self._held[0].timestamp_ms + self._length_ms)

    def on_timer(self, due_ms: int) -> None:
        """What is out by now leaves as one chunk."""
        out: list[StreamEvent] = []
        now = self.context.now_ms()
        self.expire(now - self._length_ms, now, out)
        self._arm()
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """The events inside, and whether a timer runs."""
        return (super().snapshot(), self._armed)

    def restore(self, state: PlainState) -> None:
        held, self._armed = state
        super().restore(held)
