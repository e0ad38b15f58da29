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
from lockstep.columns.column import Longs
from lockstep.events import StreamSchema
from lockstep.events.bundles import STAYS
from lockstep.events.codec import EncodedEntry, EventsHeader
from lockstep.events.columns import EventColumns, Keyings, numbers, singles, taken
from lockstep.execute.together import Together, put_together
from lockstep.execute.turns import Turns, merged
from lockstep.fleet.cutting import Moves
from lockstep.fleet.shares import Shares

Wanted = Mapping[str, tuple[int, Shares | None]]
"""The streams that a unit reads from the input log: the place of each among its feeds, and how it
is cut; None: it gets all."""


@dataclass(frozen=True)
class Time:
    """What a unit has to hear of time. `clock_ms`: see channels.Merger. `is_heard`: moves of the
    clock in playback by events of others do something (plan.fleet.hears_time)."""

    is_playback: bool
    is_heard: bool
    clock_ms: int | None

    @property
    def stands_ms(self) -> int:
        """The clock in front of the records, at least."""
        return STAYS if self.clock_ms is None else self.clock_ms


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
    def streams(self) -> Mapping[str, _Stream]:
        """Those that have events."""
        return {stream: _Stream(self, stream) for stream in self.records.batches}

    @cached_property
    def _times(self) -> Longs:
        """The events' own, by place."""
        found = np.empty(int(self.starts[-1]), np.int64)
        for stream in self.streams.values():
            found[stream.places] = numbers(stream.batch.column(stream.batch.num_columns - 1))
        return found

    @cached_property
    def moves(self) -> Moves:
        """How the events move the clock of playback, as if each were a chunk of one record."""
        return Moves(np.maximum.accumulate(self._times), None)

    @cached_property
    def _is_in_order(self) -> bool:
        return bool((self._times == self.moves.clocks).all())

    def _late(self, places: Longs, clock_ms: int | None) -> Longs:
        """Those of some places whose event may be before the clock, which stood at `clock_ms`;
        None: nobody knows."""
        if clock_ms is None:
            return places
        if not len(places) or (self._is_in_order and clock_ms <= self.moves.clocks[0]):
            return places[:0]
        return places[self._times[places] < np.maximum(self.moves.clocks[places], clock_ms)]

    @cached_property
    def last_rises(self) -> Longs:
        """The last event of each record, if there is one, that moves the clock on."""
        rises = self.moves.rises
        record = np.searchsorted(self.starts, rises, "right")
        found: Longs = rises[np.diff(record, append=len(self.starts) + 1) != 0]
        return found

    def needed(self, own: Longs, late: Longs, clock_ms: int | None) -> Longs:
        """Which events move the clock such that something happens. A move to where the clock stands
        fires only what was asked for too late: by rows of others at the moments `late`, or by an
        event at the places `own` whose time is before the clock."""
        asked = np.concatenate([2 * self._late(own, clock_ms), late])
        return self.moves.rises_and(self.moves.behind(asked))

    @cached_property
    def moves_the_clock(self) -> bool:
        """Whether every record with events is heard by the clock of playback."""
        return bool(self.records.heard[self.records.rows > 0].all())


class _Stream:
    """A stream's events in the records of a pool."""

    def __init__(self, pool: Pooled, name: str) -> None:
        self._name = name
        self._said = pool.said
        self._starts = pool.starts
        self._positions = pool.records.positions
        (self.batch,) = pool.records.batches[name]
        number = list(pool.records.batches).index(name)
        rows = pool.records.rows
        self.records = np.flatnonzero((pool.records.streams == number) & (rows > 0))
        """Which records they are in."""
        self._lengths = rows[self.records]

    @cached_property
    def places(self) -> Longs:
        """Of each event."""
        behind = self._starts[self.records] - offsets_of(self._lengths)[:-1]
        found: Longs = np.repeat(behind, self._lengths) + np.arange(self.batch.num_rows)
        return found

    @cached_property
    def events(self) -> EventColumns:
        """Each a chunk of its own."""
        last = self.batch.num_columns - 1
        return EventColumns(
            self._name, 0, True, self.batch.select(range(last)), singles(self.batch.num_rows), 0,
            self.batch.column(last), keyings=self._keyings(),
        )  # fmt: skip

    def _keyings(self) -> Keyings:
        """What all records say of key groups."""
        said = [dict(self._said[i]) for i in self.records.tolist()]
        known = [name for name in said[0] if all(name in each for each in said)]
        return tuple((name, b"".join(each[name] for each in said)) for name in known)

    @cached_property
    def numbers(self) -> Longs:
        """Of each event, as `Shares` counts them: from the position of its record on."""
        begins = self._positions[self.records] - self._starts[self.records]
        found: Longs = self.places + np.repeat(begins, self._lengths)
        return found


def pooled(entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema]) -> Pooled | None:
    """Entries that units of this process fold next; those that fold the same ones share it. None
    where one is neither plain nor a tick."""
    if not entries or any(entry.is_made for entry in entries):
        return None
    known: _Known | None = vars(entries[0]).get("_pooled")
    if known is None or not known.is_of(entries):
        records = put_together(entries, schemas)
        pool = None if records is None else Pooled(records, [_said(entry) for entry in entries])
        known = _Known([entry.payload for entry in entries], pool)
        vars(entries[0])["_pooled"] = known
    return known.pool


@dataclass(frozen=True)
class _Known:
    """What the first entry remembers, without the others: in a circle they would stay for long."""

    payloads: Sequence[bytes]
    pool: Pooled | None

    def is_of(self, entries: Sequence[EncodedEntry]) -> bool:
        """Whether these are the same."""
        return len(entries) == len(self.payloads) and all(
            entry.payload is payload for entry, payload in zip(entries, self.payloads, strict=True)
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
    for name, stream in pool.streams.items():
        if name not in wanted:
            continue
        (rank, shares), share = wanted[name], None
        if shares is not None:
            numbered = stream.numbers if shares.is_by_number else None
            share = shares(stream.events, numbered, None)
        if share is None:
            yield Own(name, rank, stream.batch, stream.places)
        elif len(share.index):
            own = taken(stream.batch, share.index)
            yield Own(name, rank, own, stream.places[share.index])


def pool_cut(pool: Pooled, own: Sequence[Own], time: Time) -> PoolCut:
    """What a unit folds of all records, where others bring nothing."""
    if not time.is_playback or sum(len(each.places) for each in own) == int(pool.starts[-1]):
        return _plain(pool, own)
    return _turned(pool, own, time)


def counted(pool: Pooled, places: Longs) -> Longs:
    """How many of some places, in order, are of each record."""
    return np.diff(np.searchsorted(places, pool.starts))


def _records(pool: Pooled, own: Sequence[Own], turns: Turns | None) -> Together:
    records = pool.records
    rows, streams = np.zeros(len(records), np.int64), np.zeros(len(records), np.int64)
    for number, each in enumerate(own):
        of_stream = pool.streams[each.stream].records
        rows[of_stream] = counted(pool, each.places)[of_stream]
        streams[of_stream] = number
    batches = {each.stream: [each.batch] for each in own}
    return replace(records, rows=rows, streams=streams, batches=batches, turns=turns)


def lying(own: Sequence[Own]) -> Longs:
    """The places of all events as they lie in the batches."""
    if len(own) == 1:
        return own[0].places
    return np.concatenate([np.zeros(0, np.int64), *(each.places for each in own)])


def _plain(pool: Pooled, own: Sequence[Own]) -> PoolCut:
    """A delivery for each event."""
    records = _records(pool, own, None)

    def moments() -> tuple[Longs, Longs]:
        places = np.sort(lying(own))
        return records.rows, 2 * (places - np.repeat(pool.starts[:-1], records.rows)) + 1

    return PoolCut(pool, records, moments)


def _turned(pool: Pooled, own: Sequence[Own], time: Time) -> PoolCut:
    """A delivery for each event of the unit's own, and for each move of the clock by others that
    does something; where none does, for one of each record, so that the clock never moves far."""
    lie = lying(own)
    in_order = lie if len(own) == 1 else np.sort(lie)  # those of one stream have that of the log
    if time.is_heard:
        moves = pool.needed(in_order, in_order[:0], time.clock_ms)
        places, clocks, at = merged(in_order, moves, pool.moves.clocks)
    else:
        places, clocks, at = merged(in_order, pool.last_rises, pool.moves.clocks, time.stands_ms)
    counts = counted(pool, places)
    turns = Turns(counts, clocks, at if len(own) == 1 else at[np.searchsorted(in_order, lie)])

    def moments() -> tuple[Longs, Longs]:
        found = 2 * (places - np.repeat(pool.starts[:-1], counts))
        found[at] += 1
        return counts, found

    return PoolCut(pool, _records(pool, own, turns), moments)
