"""Records of a slice that all units of a process cut at once, not one record after another.

It takes records that are plain (execute.together), and ticks. A unit's own of them is read out of
one batch for each stream, and says the same as its own of each record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from lockstep.columns.chunks import offsets_of
from lockstep.columns.column import Longs, Mask
from lockstep.events import StreamSchema
from lockstep.events.bundles import STAYS
from lockstep.events.codec import EncodedEntry, EventsHeader
from lockstep.events.columns import EventColumns, Keyings, numbers, singles, taken
from lockstep.execute.together import Together, Turns, put_together
from lockstep.fleet.shares import Shares

Wanted = Mapping[str, tuple[int, Shares | None]]
"""The streams that a unit reads from the input log: the place of each among its feeds, and how it
is cut; None: it gets all."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """Records of a slice, and what each says of key groups. *Places* count their events in the
    order of the log."""

    records: Together
    said: Sequence[Keyings]

    @cached_property
    def starts(self) -> Longs:
        """The place of each record's first event, and the end."""
        return offsets_of(self.records.rows)

    @cached_property
    def _of_streams(self) -> Mapping[str, Longs]:
        """Which records are of each stream."""
        records = self.records
        has_rows = records.rows > 0
        return {
            stream: np.flatnonzero((records.streams == number) & has_rows)
            for number, stream in enumerate(records.batches)
        }

    def of_stream(self, stream: str) -> Longs:
        """Which records are of a stream."""
        return self._of_streams[stream]

    @cached_property
    def _places(self) -> dict[str, Longs]:
        return {}

    def places(self, stream: str) -> Longs:
        """The place of each event of a stream."""
        if stream not in self._places:
            of_stream = self.of_stream(stream)
            lengths = self.records.rows[of_stream]
            behind = self.starts[of_stream] - offsets_of(lengths)[:-1]
            found = np.repeat(behind, lengths) + np.arange(int(lengths.sum()))
            self._places[stream] = found
        return self._places[stream]

    @cached_property
    def _events(self) -> dict[str, EventColumns]:
        return {}

    def events(self, stream: str) -> EventColumns:
        """Those of a stream, each a chunk of its own."""
        if stream not in self._events:
            (batch,) = self.records.batches[stream]
            last = batch.num_columns - 1
            self._events[stream] = EventColumns(
                stream, 0, True, batch.select(range(last)), singles(batch.num_rows), 0,
                batch.column(last), keyings=self._keyings(stream),
            )  # fmt: skip
        return self._events[stream]

    def _keyings(self, stream: str) -> Keyings:
        """What all records of a stream say of key groups."""
        said = [dict(self.said[i]) for i in self.of_stream(stream).tolist()]
        known = [name for name in said[0] if all(name in each for each in said)]
        return tuple((name, b"".join(each[name] for each in said)) for name in known)

    def event_numbers(self, stream: str) -> Longs:
        """Of each event of a stream, as `Shares` counts them: from its position on."""
        of_stream = self.of_stream(stream)
        begins = self.records.positions[of_stream] - self.starts[of_stream]
        return self.places(stream) + np.repeat(begins, self.records.rows[of_stream])

    @cached_property
    def times(self) -> Longs:
        """The events' own, by place."""
        found = np.empty(int(self.starts[-1]), np.int64)
        for stream, (batch,) in self.records.batches.items():
            found[self.places(stream)] = numbers(batch.column(batch.num_columns - 1))
        return found

    @cached_property
    def clocks(self) -> Longs:
        """By place: what the clock of playback is there at least."""
        found: Longs = np.maximum.accumulate(self.times)
        return found

    @cached_property
    def rises(self) -> Mask:
        """Which events move that on; the first one may."""
        found = np.ones(len(self.clocks), np.bool_)
        np.greater(self.clocks[1:], self.clocks[:-1], out=found[1:])
        return found

    @cached_property
    def _is_in_order(self) -> bool:
        return bool((self.times == self.clocks).all())

    def late(self, places: Longs, clock_ms: int | None) -> Longs:
        """Those of some places whose event may be before the clock, which stood at `clock_ms`;
        None: nobody knows."""
        if clock_ms is None:
            return places
        if not len(places) or (self._is_in_order and clock_ms <= self.clocks[0]):
            return places[:0]
        return places[self.times[places] < np.maximum(self.clocks[places], clock_ms)]

    @cached_property
    def moves_the_clock(self) -> bool:
        """Whether every record with events is heard by the clock of playback."""
        return bool(self.records.heard[self.records.rows > 0].all())


def pooled(entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema]) -> Pooled | None:
    """Entries that units of this process fold next; those that fold the same ones share it. None
    where one is neither plain nor a tick."""
    if not entries:
        return None
    known: _Known | None = vars(entries[0]).get("_pooled")
    if known is not None and known.is_of(entries):
        return known.pool
    records, pool = put_together(entries, schemas), None
    if records is not None:
        pool = Pooled(records, [_said(entry) for entry in entries])
        # All of them came with bytes: entries that were made on the way are not plain.
        vars(entries[0])["_pooled"] = _Known([entry.payload for entry in entries], pool)
    return pool


@dataclass(frozen=True)
class _Known:
    """What the first entry remembers, without the others: in a circle they would stay for long."""

    payloads: Sequence[bytes]
    pool: Pooled

    def is_of(self, entries: Sequence[EncodedEntry]) -> bool:
        """Whether these are the same."""
        return len(entries) == len(self.payloads) and all(
            not entry.is_made and entry.payload is payload
            for entry, payload in zip(entries, self.payloads, strict=True)
        )


def _said(entry: EncodedEntry) -> Keyings:
    header = entry.header
    return header.keyings if isinstance(header, EventsHeader) else ()


@dataclass(frozen=True, eq=False)
class PoolCut:
    """What a unit folds of pooled records. `moments`: how many deliveries each record has, and the
    moment of each."""

    pool: Pooled
    records: Together
    moments: Callable[[], tuple[Longs, Longs]]


@dataclass(frozen=True, eq=False)
class Own:
    """A unit's own events of a stream, which is the feed of that `rank`, and their places."""

    stream: str
    rank: int
    batch: pa.RecordBatch
    places: Longs


def own_of(pool: Pooled, wanted: Wanted) -> tuple[Own, ...]:
    """A unit's own events of all streams."""
    return tuple(_own(pool, wanted))


def _own(pool: Pooled, wanted: Wanted) -> Iterator[Own]:
    for stream, (batch,) in pool.records.batches.items():
        if stream not in wanted:
            continue
        (rank, shares), share = wanted[stream], None
        if shares is not None:
            numbered = pool.event_numbers(stream) if shares.is_by_number else None
            share = shares(pool.events(stream), numbered, None)
        if share is None:
            yield Own(stream, rank, batch, pool.places(stream))
        elif len(share.index):
            own = taken(batch, share.index)
            yield Own(stream, rank, own, pool.places(stream)[share.index])


def pool_cut(
    pool: Pooled, own: Sequence[Own], *, is_playback: bool, clock_ms: int | None
) -> PoolCut:
    """What a unit folds of all records, where others bring nothing. `clock_ms`: see Merger."""
    if not is_playback or sum(len(each.places) for each in own) == int(pool.starts[-1]):
        return _plain(pool, own)
    return _turned(pool, own, clock_ms)


def counted(pool: Pooled, places: Longs) -> Longs:
    """How many of some places, in order, are of each record."""
    return np.diff(np.searchsorted(places, pool.starts))


def _records(pool: Pooled, own: Sequence[Own], turns: Turns | None) -> Together:
    records = pool.records
    rows, streams = np.zeros(len(records), np.int64), np.zeros(len(records), np.int64)
    for number, each in enumerate(own):
        of_stream = pool.of_stream(each.stream)
        rows[of_stream] = counted(pool, each.places)[of_stream]
        streams[of_stream] = number
    batches = {each.stream: [each.batch] for each in own}
    return replace(records, rows=rows, streams=streams, batches=batches, turns=turns)


def _lying(own: Sequence[Own]) -> Longs:
    """The places of all events as they lie in the batches."""
    if len(own) == 1:
        return own[0].places
    return np.concatenate([np.zeros(0, np.int64), *(each.places for each in own)])


def _plain(pool: Pooled, own: Sequence[Own]) -> PoolCut:
    """A delivery for each event."""
    records = _records(pool, own, None)

    def moments() -> tuple[Longs, Longs]:
        places = np.sort(_lying(own))
        return records.rows, 2 * (places - np.repeat(pool.starts[:-1], records.rows)) + 1

    return PoolCut(pool, records, moments)


def needed(pool: Pooled, own: Longs, brought: Longs, clock_ms: int | None) -> Mask:
    """Which events move the clock such that something happens. A move to where the clock stands
    fires only what was asked for too late: by rows of others at the places `brought`, or by an
    event whose time is before the clock; where that is not known, any event may be."""
    moves = pool.rises.copy()
    for places in (pool.late(own, clock_ms), brought):
        behind = places + 1
        moves[behind[behind < len(moves)]] = True
    return moves


def _turned(pool: Pooled, own: Sequence[Own], clock_ms: int | None) -> PoolCut:
    """A delivery for each event of the unit's own, and for each move of the clock by others that
    does something."""
    lying = _lying(own)
    moves = needed(pool, lying, lying[:0], clock_ms)
    owned = np.zeros(len(moves), np.bool_)
    owned[lying] = True
    places = np.flatnonzero(moves | owned)
    is_own = owned[places]
    counts = counted(pool, places)
    clocks = np.where(moves[places], pool.clocks[places], STAYS)
    # The events of one stream lie in the order of the log.
    at = np.flatnonzero(is_own) if len(own) == 1 else np.searchsorted(places, lying)
    turns = Turns(counts, clocks, at)

    def moments() -> tuple[Longs, Longs]:
        return counts, 2 * (places - np.repeat(pool.starts[:-1], counts)) + is_own

    return PoolCut(pool, _records(pool, own, turns), moments)
