"""delay(t): events come out t milliseconds later, as current events of that time (semantics
7.6).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall


class DelayWindow(WindowBase):
    """Nothing comes out on arrival and nothing ever expires."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._delay_ms = int(call.constant(0))
        self._held: deque[StreamEvent] = deque()

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

    def content(self) -> Iterable[StreamEvent]:
        """The delayed events that have not left."""
        return self._held

    def snapshot(self) -> PlainState:
        """The delayed events, oldest first."""
        return list(self._held)

    def restore(self, state: PlainState) -> None:
        """See snapshot."""
        self._held = deque(state)
