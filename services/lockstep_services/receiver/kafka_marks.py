"""What tells the records of a partition apart: their offsets and their times, since a topic that
was made anew counts its offsets from 0 again.

Earlier releases went by offsets alone, and what they had read comes again where its offset was not
committed. So a partition whose place is theirs goes on so, up to where it ends when nobody has come
or gone for long: an update by turns may bring an earlier release back. Then its place is committed
with a note. The end is not asked for when a partition is assigned: that holds up the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.clock import Clock
from lockstep_services.receiver.offsets import Place

NOTE: Final = "lockstep: offset and time"
"""Stands with a committed offset. From there on nobody has read a record by its offset alone."""
SWITCH_AFTER_MS: Final = 3_600_000
"""Longer than an update by turns takes."""
ASK_AGAIN_MS: Final = 60_000
"""For the end of a partition that has told none."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Up to where a partition was read, as the broker keeps it."""

    place: Place
    offset: int
    note: str | None = None


@dataclass(slots=True)
class _Earlier:
    """A partition that goes by offsets alone. `end`: nothing behind it was read so by others; None:
    not known yet, and asked for at `ask_ms`."""

    next: int
    seen: int
    end: int | None = None
    ask_ms: int = 0


class Marks:
    """Of the partitions that one consumer reads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._earlier: dict[Place, _Earlier] = {}
        self._since_ms = 0

    def assigned(self, committed: Sequence[Reached]) -> None:
        """These are read from now on. A partition without a place was read by nobody."""
        self._since_ms = self._clock.monotonic_ms()
        self._earlier = {
            one.place: _Earlier(one.offset, one.offset - 1)
            for one in committed
            if one.offset >= 0 and one.note != NOTE
        }

    def of(self, place: Place, offset: int, time_ms: int | None) -> str:
        """The mark of a record that was read. `time_ms`: None of old ones that have none."""
        earlier = self._earlier.get(place)
        if earlier is not None:
            earlier.seen = max(earlier.seen, offset)
        is_timed = earlier is None and time_ms is not None
        return f"{offset}@{time_ms}" if is_timed else str(offset)

    def to_commit(self, place: Place, offset: int) -> Reached:
        """A place that was reached, for the broker."""
        if (earlier := self._earlier.get(place)) is None:
            return Reached(place, offset, NOTE)
        earlier.next = offset
        return Reached(place, offset)

    def due(self, end_of: Callable[[Place], int | None]) -> list[Reached]:
        """What is to be committed, and then to be `noted`, before more is read. `end_of`: where a
        partition ends; None where that is not to be had now."""
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._since_ms < SWITCH_AFTER_MS:
            return []
        for place, one in self._earlier.items():
            if one.end is None and now_ms >= one.ask_ms:
                one.end, one.ask_ms = end_of(place), now_ms + ASK_AGAIN_MS
        return [
            Reached(place, one.next, NOTE)
            for place, one in self._earlier.items()
            if one.end is not None and one.next >= one.end and one.next == one.seen + 1
        ]

    def noted(self, places: Collection[Reached]) -> None:
        """From now on their records go by their times, too."""
        for one in places:
            del self._earlier[one.place]
