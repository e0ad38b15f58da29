"""externalTime(attribute, t): sliding, where an attribute is the clock (semantics 7.7)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall


class ExternalTimeWindow(WindowBase):
    """Held events are checked from the front; the check stops at the first that stays. No
    timers.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._attribute = call.attribute(0)
        self._length_ms = int(call.constant(1))
        self._held: deque[StreamEvent] = deque()

    def process(self, chunk: list[StreamEvent]) -> None:
        """What is too old for the new event's value leaves in front of it, with that value as its
        time.
        """
        attribute, held = self._attribute, self._held
        out: list[StreamEvent] = []
        for event in chunk:
            value = event.data[attribute]
            last = value - self._length_ms
            while held and held[0].data[attribute] <= last:
                out.append(StreamEvent(value, held.popleft().data, EXPIRED))
            held.append(event)
            out.append(event)
        self.emit(out)

    def content(self) -> Iterable[StreamEvent]:
        """The events inside."""
        return self._held

    def snapshot(self) -> PlainState:
        """The events inside, oldest first."""
        return list(self._held)

    def restore(self, state: PlainState) -> None:
        """See snapshot."""
        self._held = deque(state)
