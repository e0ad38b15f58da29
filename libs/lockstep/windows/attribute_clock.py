"""The time of an event for a window where an attribute is the clock (semantics 7.7 and 7.8)."""

from __future__ import annotations

from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError
from lockstep.windows.registry import WindowCall


class AttributeClock:
    """Reads the attribute that the window's call names at `place`, in milliseconds."""

    def __init__(self, call: WindowCall, place: int = 0) -> None:
        self.attribute = call.attribute(place)
        self._window = call.name
        self._attribute_name = call.schema.attributes[self.attribute].name

    def of(self, event: StreamEvent) -> int:
        """The event's time. `EventError` if it is null: such an event has no place in time."""
        value: int | None = event.data[self.attribute]
        if value is None:
            raise EventError(f"{self._window}: the attribute {self._attribute_name} is null")
        return value
