"""externalTime(attribute, t): sliding, where an attribute is the clock (semantics 7.7)."""

from __future__ import annotations

from lockstep.operators.contract import EXPIRED, StreamEvent
from lockstep.windows.attribute_clock import AttributeClock
from lockstep.windows.chunks import HoldingWindow
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


class ExternalTimeWindow(HoldingWindow):
    """Held events are checked from the front; the check stops at the first that stays. No
    timers.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._clock = AttributeClock(call)
        self._length_ms = int(call.constant(1))

    def process(self, chunk: list[StreamEvent]) -> None:
        """What is too old for the new event's value leaves in front of it, with that value as its
        time.
        """
        attribute, held = self._clock.attribute, self._held
        out: list[StreamEvent] = []
        taking = Taking(self.emit)
        for event in chunk:
            with taking:
                value = self._clock.of(event)
                last = value - self._length_ms
                while held and held[0].data[attribute] <= last:
                    out.append(StreamEvent(value, held.popleft().data, EXPIRED))
                held.append(event)
                out.append(event)
        taking.end(out)
