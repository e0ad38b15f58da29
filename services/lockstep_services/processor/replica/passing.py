"""What is on its way from a fold to the output log: when the door took it, and its trace. Pure.

For people: it is no part of the state, and is forgotten when a replica begins again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from lockstep.events import Position

MOST_SLICES: Final = 4_096


@dataclass(frozen=True, slots=True)
class Passage:
    """When the door took the oldest event (0: not known), and in which traces it was folded."""

    door_ms: int = 0
    traces: tuple[str, ...] = ()


class Passing:
    """Of the slices that brought rows, by the position of the last one. Beyond MOST_SLICES the
    oldest is forgotten."""

    def __init__(self) -> None:
        self._slices: deque[tuple[Position, Passage]] = deque(maxlen=MOST_SLICES)

    def folded(self, position: Position, passage: Passage) -> None:
        """A slice whose last row stands at `position`."""
        if passage.door_ms or passage.traces:
            self._slices.append((position, passage))

    def published(self, position: Position) -> Passage:
        """Of the slices whose rows stand up to `position`, which are forgotten; of a part of one
        its time alone."""
        done: list[Passage] = []
        while self._slices and self._slices[0][0] <= position:
            done.append(self._slices.popleft()[1])
        if not done and self._slices:
            return Passage(self._slices[0][1].door_ms)
        times = (each.door_ms for each in done if each.door_ms)
        return Passage(next(times, 0), tuple(trace for each in done for trace in each.traces))
