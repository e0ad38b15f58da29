"""How often an app's events go over a limit, and when that is too often. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lockstep.control import STOPPED
from lockstep.events import Position
from lockstep.execute.contract import EventFault, SliceResult
from lockstep.execute.undoing import UNFOLDABLE


@dataclass(frozen=True, slots=True)
class PoisonLimit:
    """An app stops after so many such events within so many positions."""

    events: int
    positions: int


DEFAULT_POISON_LIMIT = PoisonLimit(20, 10_000)


class PoisonCount:
    """Of one engine. `stopped` says why the app does not go on; None: it does."""

    def __init__(self, limit: PoisonLimit) -> None:
        self._limit = limit
        self._positions: deque[Position] = deque(maxlen=limit.events)
        self.stopped: str | None = None

    def take(self, result: SliceResult) -> int:
        """A slice was folded; how many of its events were set aside."""
        found = [fault for fault in result.faults if fault.is_poison]
        if result.stopped is not None:
            self._stop(result.stopped)
        for fault in _counted(found):
            self._positions.append(fault.position)
            span = self._positions[-1] - self._positions[0]
            if len(self._positions) == self._limit.events and span < self._limit.positions:
                self._stop(
                    f"{self._limit.events} events went over a limit within "
                    f"{self._limit.positions} positions, the last at {fault.position}: "
                    f"{fault.reason}"
                )
        return len(found)

    def _stop(self, why: str) -> None:
        if self.stopped is None:
            self.stopped = (
                f"{STOPPED}{why}. Raise the limit on all processors; an app of one unit also goes"
                " on with a changed text"
            )


def _counted(found: Sequence[EventFault]) -> Iterator[EventFault]:
    """A record that was set aside as a whole counts once: one of its events may have been too
    much, and nobody knows which. Else one large record would end the app."""
    whole: Position | None = None
    for fault in found:
        if fault.reason == UNFOLDABLE:
            if fault.position == whole:
                continue
            whole = fault.position
        yield fault
