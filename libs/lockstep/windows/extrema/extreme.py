"""Which of two events counts more here, and the events that may yet count most."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError
from lockstep.windows.registry import WindowCall

Beats = Callable[[Any, Any], bool]
"""Whether the first value counts more than the second."""

MAX: Beats = operator.gt
MIN: Beats = operator.lt


def values_of(call: WindowCall) -> Callable[[list[StreamEvent]], list[Any]]:
    """The values of a chunk's events; a null among them is refused before any is taken."""
    name, position = call.name, call.attribute(0)

    def values(chunk: list[StreamEvent]) -> list[Any]:
        found = [event.data[position] for event in chunk]
        if None in found:
            raise EventError(f"extrema:{name} takes no null value")
        return found

    return values


class Candidate(NamedTuple):
    """An event that may yet count most: its number, until when it is inside, and its value."""

    number: int
    until: int
    value: Any
    event: StreamEvent


class Candidates:
    """Those that no later event beats or equals for as long as they are inside. The first counts
    most and leaves first, so a step takes constant time on average."""

    def __init__(self, beats: Beats) -> None:
        self._beats = beats
        self._those: deque[Candidate] = deque()
        self._number = 0

    def add(self, value: Any, until: int, event: StreamEvent) -> None:
        """Takes an event; among equals the latest counts most."""
        self._number += 1
        those, longer = self._those, []
        while those and not self._beats(those[-1].value, value):
            beaten = those.pop()
            if beaten.until > until:
                longer.append(beaten)
        if not those or those[-1].until < until:
            those.append(Candidate(self._number, until, value, event))
        those.extend(reversed(longer))

    def leave(self, at: int) -> None:
        """What is inside until then, or until before, goes."""
        while self._those and self._those[0].until <= at:
            self._those.popleft()

    def best(self) -> Candidate | None:
        """The one that counts most."""
        return self._those[0] if self._those else None

    def snapshot(self) -> Any:
        """The number of the latest event, and the candidates."""
        return (self._number, [tuple(each) for each in self._those])

    def restore(self, state: Any) -> None:
        """Takes over what `snapshot` gave."""
        self._number, those = state
        self._those = deque(Candidate(*each) for each in those)
