"""What of a record of the input log is a unit's own, and where in the record it stands.

A *moment* tells places within a record: 2e+1 is its event e (of several together, the first), 2e
the move of the clock in front of it. Moments are the record's own, so they are the same in all
units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.events import Position, WriteRecord
from lockstep.events.columns import EventColumns, numbers
from lockstep.fleet.entries import Looked
from lockstep.fleet.shares import Shares, shares_of
from lockstep.fleet.units import Answering, Unit

Longs = npt.NDArray[np.int64]
NONE: Final[Longs] = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Cut:
    """A unit's own of a record.

    `events`: of its stream, each chunk a delivery; None where there are none. `feed`: the place of
    that stream among the feeds. `moves` (moments, clocks): how the record's chunks move the clock
    of a playback app. `whole`: the record, where it has nothing that is not the unit's. `record`:
    all of it.
    """

    clock_ms: int
    record: Looked
    events: EventColumns | None = None
    feed: int = 0
    found: Longs | None = None
    moves: tuple[Longs, Longs] | None = None
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
        firsts = firsts_of(self.record)
        chunks = np.searchsorted(firsts, moments >> 1, side="right") - 1
        return firsts[chunks] * 2 + (moments & 1)


def firsts_of(events: EventColumns) -> Longs:
    """The place of the first event of each chunk."""
    lengths = events.chunk_lengths.astype(np.int64)
    return np.cumsum(lengths) - lengths


class Cutter:
    """Cuts records for one unit. Pure: what it gives hangs on the position and the record alone."""

    def __init__(self, unit: Unit, answering: Answering) -> None:
        self._unit = unit
        self._answering = answering
        self._is_playback = unit.plan.is_playback
        self._feeds: dict[str, tuple[int, Shares | None]] = {
            feed.stream: (place, shares_of(unit, feed))
            for place, feed in enumerate(unit.group.feeds)
            if feed.from_input
        }

    def cut(self, position: Position, record: Looked) -> Cut:
        """A unit's own of the record."""
        clock_ms = record.clock_ms
        if isinstance(record, WriteRecord):
            own = self._answering.number_of(record.text) == self._unit.number
            return Cut(clock_ms, record, whole=record if own else None)
        if not isinstance(record, EventColumns):
            return Cut(clock_ms, record, whole=record)
        moves = _moves(record) if self._is_playback and record.has_timestamps else None
        if record.stream not in self._feeds or not len(record):
            return Cut(clock_ms, record, moves=moves)
        place, shares = self._feeds[record.stream]
        if shares is None:
            return Cut(clock_ms, record, record, place, moves=moves, whole=record)
        numbers = position + np.arange(len(record), dtype=np.int64)
        share = shares(record, numbers, _chunks_of(record))
        if share is None:
            return Cut(clock_ms, record, record, place, moves=moves, whole=record)
        if not len(share.index):
            return Cut(clock_ms, record, moves=moves)
        events = taken(record, share.index, share.lengths)
        return Cut(clock_ms, record, events, place, share.firsts * 2 + 1, moves)


def _chunks_of(record: EventColumns) -> Longs | None:
    """The chunk of each event; None where each is one of its own."""
    lengths = record.chunk_lengths
    if len(lengths) == len(record) and int(lengths.max()) == 1:
        return None
    return np.repeat(np.arange(len(lengths)), lengths)


def taken(record: EventColumns, index: Longs, lengths: Longs) -> EventColumns:
    """Some of a record's events, in chunks of these lengths."""
    places = pa.array(index)
    stamps, ids = record.timestamps_ms, record.event_ids
    return replace(
        record,
        batch=record.batch.take(places) if record.batch.num_columns else record.batch,
        chunk_lengths=lengths.astype(np.int32),
        timestamps_ms=None if stamps is None else stamps.take(places),
        event_ids=None if ids is None else ids.take(places),
    )


def _moves(record: EventColumns) -> tuple[Longs, Longs] | None:
    """(moments, clocks) of the moves: the last event of a chunk moves the clock in front of it."""
    lengths = record.chunk_lengths.astype(np.int64)
    lengths = lengths[lengths > 0]
    if not len(lengths):
        return None
    ends = np.cumsum(lengths)
    if record.timestamps_ms is None:
        clocks = np.full(len(ends), record.constant_ms, np.int64)
    else:
        clocks = np.maximum.accumulate(numbers(record.timestamps_ms)[ends - 1])
    return (ends - lengths) * 2, clocks
