"""What a tumbling window collects: every event, or the latest or the first of each key
(`unique:`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import PlainState, StreamEvent

KeyOf = Callable[[StreamEvent], Any]


class EveryEvent:
    """All events in order of arrival."""

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []

    def key(self, event: StreamEvent) -> Any:
        """What `put` takes with the event. None: they have no keys here."""

    def put(self, event: StreamEvent, key: Any) -> None:
        """Takes an event whose key is known, and cannot fail."""
        self._events.append(event)

    def add(self, event: StreamEvent) -> None:
        """Takes an event."""
        self.put(event, None)

    def take(self) -> list[StreamEvent]:
        """The batch in order; the next one starts empty."""
        taken, self._events = self._events, []
        return taken

    def held(self) -> list[StreamEvent]:
        """The batch in order."""
        return list(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def restore(self, events: PlainState) -> None:
        """Takes over what `held` gave."""
        self._events[:] = events


class LatestOfKey:
    """The latest event of each key, in order of the keys' first events."""

    def __init__(self, key_of: KeyOf) -> None:
        self._key_of = key_of
        self._events: dict[Any, StreamEvent] = {}

    def key(self, event: StreamEvent) -> Any:
        """What `put` takes with the event. May fail of it."""
        return self._key_of(event)

    def put(self, event: StreamEvent, key: Any) -> None:
        """Takes an event whose key is known, and cannot fail."""
        self._events[key] = event

    def add(self, event: StreamEvent) -> None:
        """Takes an event."""
        self.put(event, self.key(event))

    def take(self) -> list[StreamEvent]:
        """The batch in order; the next one starts empty."""
        taken = list(self._events.values())
        self._events = {}
        return taken

    def held(self) -> list[StreamEvent]:
        """The batch in order."""
        return list(self._events.values())

    def __len__(self) -> int:
        return len(self._events)

    def restore(self, events: PlainState) -> None:
        """Takes over what `held` gave."""
        self._events = {self._key_of(event): event for event in events}


class FirstOfKey(LatestOfKey):
    """The first event of each key."""

    def put(self, event: StreamEvent, key: Any) -> None:
        self._events.setdefault(key, event)


Contents = EveryEvent | LatestOfKey
"""An open batch."""
