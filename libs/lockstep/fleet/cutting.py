"""What of a record of the input log is a unit's own, and where in the record it stands.

A *moment* tells places within a record: 2e+1 is its event e (of several together, the first), 2e
the move of the clock in front of it. Moments are the record's own, so they are the same in all
units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from lockstep.events import Position, WriteRecord
from lockstep.events.bundles import STAYS
from lockstep.events.codec import EncodedEntry, EventsHeader
from lockstep.events.columns import EventColumns, numbers
from lockstep.execute.made import Looked
from lockstep.fleet.asking import Asking
from lockstep.fleet.shares import Shares, shares_of
from lockstep.fleet.units import Unit

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
NONE: Final[Longs] = np.zeros(0, np.int64)
NOT_READ: Final = (0, None)


@dataclass(frozen=True, eq=False)
class Moves:
    """How the chunks of a record move the clock in front of them, and to what at least.

    `firsts`: the first event of each chunk; None where chunk e has the one event e.
    """

    clocks: Longs
    firsts: Longs | None

    @cached_property
    def _rising(self) -> Mask:
        rises = np.ones(len(self.clocks), np.bool_)
        np.greater(self.clocks[1:], self.clocks[:-1], out=rises[1:])
        return rises

    @cached_property
    def rises(self) -> Longs:
        """Which of them move it on; the first may."""
        return np.flatnonzero(self._rising)

    def rises_and(self, others: Longs) -> Longs:
        """Those and others, each once, in order."""
        if not len(others):
            return self.rises
        found = self._rising.copy()
        found[others] = True
        return np.flatnonzero(found)

    def moments(self, which: Longs) -> Longs:
        """Where some of them stand."""
        return (which if self.firsts is None else self.firsts[which]) * 2

    def before(self, moments: Longs) -> Longs:
        """The clock at events, whose moments these are."""
        found: Longs = self.clocks[self._chunks(moments)]
        return found

    def behind(self, moments: Longs) -> Longs:
        """Which moves come next."""
        found = self._chunks(moments) + 1
        return found[found < len(self.clocks)]

    def _chunks(self, moments: Longs) -> Longs:
        """In which chunk they are."""
        events = moments >> 1
        if self.firsts is None:
            return events
        return np.searchsorted(self.firsts, events, side="right") - 1


@dataclass(frozen=True, eq=False)
class Cut:
    """A unit's own of a record.

    `events`: of its stream, each chunk a delivery; None where there are none. `feed`: the place of
    that stream among the feeds. `moves`: how the record's chunks move the clock of a playback app.
    `whole`: the record, where it has nothing that is not the unit's. `record`: all of it, None
    where nobody looked.
    """

    clock_ms: int
    record: Looked | None
    events: EventColumns | None = None
    feed: int = 0
    found: Longs | None = None
    moves: Moves | None = None
    whole: Looked | None = None

    @cached_property
    def moments(self) -> Longs:
        """Of each delivery."""
        if self.found is not None:
            return self.found
        return NONE if self.events is None else firsts_of(self.events) * 2 + 1

    def coarse(self, moments: Longs) -> Longs:
        """Moments of chunks instead of events: what was sent together is not told apart."""
        assert isinstance(self.record, EventColumns)
        if self.record.is_single:
            return moments
        firsts = firsts_of(self.record)
        chunks = np.searchsorted(firsts, moments >> 1, side="right") - 1
        return firsts[chunks] * 2 + (moments & 1)


def joined_moves(moments: Longs, clocks: Longs, is_move: Mask, is_own: Mask) -> tuple[Mask, Longs]:
    """(which deliveries stay, the clock of each): the move of an event's own goes with that event.
    One by an event of others stays where it is, as timers that it fires have its moment."""
    given = np.where(is_move, clocks, STAYS)
    follows = is_own[1:] & (moments[1:] == moments[:-1] + 1)
    joins = np.flatnonzero(is_move[:-1] & follows)
    given[joins + 1] = clocks[joins]
    stay = np.ones(len(moments), np.bool_)
    stay[joins] = False
    return stay, given


def firsts_of(events: EventColumns) -> Longs:
    """The place of the first event of each chunk."""
    lengths = events.chunk_lengths.astype(np.int64)
    return np.cumsum(lengths) - lengths


class Cutter:
    """Cuts records for one unit. Pure: what it gives hangs on the position and the record alone."""

    def __init__(self, unit: Unit, asking: Asking) -> None:
        self._unit = unit
        self._asking = asking
        self._is_playback = unit.plan.is_playback
        self.feeds: dict[str, tuple[int, Shares | None]] = {
            feed.stream: (place, shares_of(unit, feed))
            for place, feed in enumerate(unit.group.feeds)
            if feed.from_input
        }

    def cut_entry(self, entry: EncodedEntry) -> Cut:
        """A unit's own of the record of an entry. What is not the unit's is not decoded, where the
        record itself says whose its events are."""
        header = None if entry.is_made else entry.header
        if isinstance(header, EventsHeader) and not (self._is_playback and header.has_timestamps):
            _, shares = self.feeds.get(header.stream, NOT_READ)
            if shares is not None and shares.has_none(header.keyings):
                return Cut(header.clock_ms, None)
        return self.cut(entry.position, entry.columns())

    def cut(self, position: Position, record: Looked) -> Cut:
        """A unit's own of the record."""
        clock_ms = record.clock_ms
        if isinstance(record, WriteRecord):
            own = self._asking.concerns(record.text, self._unit)
            return Cut(clock_ms, record, whole=record if own else None)
        if not isinstance(record, EventColumns):
            return Cut(clock_ms, record, whole=record)
        moves = moves_of(record) if self._is_playback and record.has_timestamps else None
        if record.stream not in self.feeds or not len(record):
            return Cut(clock_ms, record, moves=moves)
        place, shares = self.feeds[record.stream]
        if shares is None:
            return Cut(clock_ms, record, record, place, moves=moves, whole=record)
        chunks, numbers = _chunks_of(record), None
        if shares.is_by_number:
            numbers = position + np.arange(len(record), dtype=np.int64)
        share = shares(record, numbers, chunks)
        if share is None:
            return Cut(clock_ms, record, record, place, moves=moves, whole=record)
        if not len(share.index):
            return Cut(clock_ms, record, moves=moves)
        events = record.picked(share.index, share.lengths)
        return Cut(clock_ms, record, events, place, share.firsts * 2 + 1, moves)


def _chunks_of(record: EventColumns) -> Longs | None:
    """The chunk of each event; None where each is one of its own."""
    if record.is_single:
        return None
    lengths = record.chunk_lengths
    return np.repeat(np.arange(len(lengths)), lengths)


def moves_of(record: EventColumns) -> Moves | None:
    """The last event of a chunk moves the clock in front of it. The record remembers its moves, for
    all units of this process."""
    known: dict[str, Moves | None] = vars(record)
    if "_moves" not in known:
        known["_moves"] = _moves(record)
    return known["_moves"]


def _moves(record: EventColumns) -> Moves | None:
    if not len(record):
        return None
    firsts: Longs | None = None
    times = None if record.timestamps_ms is None else numbers(record.timestamps_ms)
    if record.is_single:
        count = len(record)
    else:
        lengths = record.chunk_lengths[record.chunk_lengths > 0].astype(np.int64)
        count, ends = len(lengths), np.cumsum(lengths)
        firsts = ends - lengths
        times = None if times is None else times[ends - 1]
    if times is None:
        return Moves(np.full(count, record.constant_ms, np.int64), firsts)
    return Moves(np.maximum.accumulate(times), firsts)
