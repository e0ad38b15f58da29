"""Records of a slice that all units of a process cut at once, not one record after another.

It takes records that are plain (execute.together), and ticks. A unit's own of them is read out of
one batch for each stream, and says the same as its own of each record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

Wanted = Mapping[str, Shares | None]
"""The streams that a unit reads from the input log, and how each is cut; None: it gets all."""


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
        # Entries without bytes have no records, so their bytes are not asked for here.
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
    """A unit's own of pooled records. `places`: of its events, in order; None: of all."""

    pool: Pooled
    records: Together
    places: Longs | None
    turned: Longs | None = None

    def moments(self) -> tuple[Longs, Longs]:
        """(how many deliveries each record has, the moment of each)."""
        pool = self.pool
        if self.turned is not None:
            assert self.records.turns is not None
            counts, places = self.records.turns.counts, self.turned
            is_own = np.zeros(len(places), np.int64)
            is_own[self.records.turns.places] = 1
        else:
            counts = self.records.rows
            places = np.arange(int(pool.starts[-1])) if self.places is None else self.places
            is_own = np.ones(len(places), np.int64)
        return counts, 2 * (places - np.repeat(pool.starts[:-1], counts)) + is_own


def pool_cut(
    pool: Pooled, wanted: Wanted, *, is_playback: bool, clock_ms: int | None
) -> PoolCut | None:
    """A unit's own of all records. `clock_ms`: see Merger. None where it can't be told here."""
    if is_playback and not pool.moves_the_clock:
        return None
    records = pool.records
    rows = np.zeros(len(records), np.int64)
    batches: dict[str, Sequence[pa.RecordBatch]] = {}
    places: list[Longs] = []
    streams = np.zeros(len(records), np.int64)
    for stream, whole in records.batches.items():
        if stream not in wanted:
            continue
        of_stream, shares = pool.of_stream(stream), wanted[stream]
        share = None
        if shares is not None:
            counted = pool.event_numbers(stream) if shares.is_by_number else None
            share = shares(pool.events(stream), counted, None)
        if share is None:
            rows[of_stream] = records.rows[of_stream]
            batch, own = whole, pool.places(stream)
        elif not len(share.index):
            continue
        else:
            bounds = np.searchsorted(share.index, offsets_of(records.rows[of_stream]))
            rows[of_stream] = np.diff(bounds)
            batch, own = [taken(whole[0], share.index)], pool.places(stream)[share.index]
        streams[of_stream] = len(batches)
        batches[stream] = batch
        places.append(own)
    found = replace(records, rows=rows, streams=streams, batches=batches)
    if not is_playback or int(rows.sum()) == int(pool.starts[-1]):
        return PoolCut(pool, found, _in_order(places))
    return _turned(pool, found, places, clock_ms)


def _in_order(places: Sequence[Longs]) -> Longs:
    if not places:
        return np.zeros(0, np.int64)
    return places[0] if len(places) == 1 else np.sort(np.concatenate(places))


def _turned(pool: Pooled, records: Together, own: Sequence[Longs], clock_ms: int | None) -> PoolCut:
    """A delivery for each event of the unit's own, and for each move of the clock by others that
    does something. One to where the clock stands fires only what was asked for too late, by an
    event whose time is before the clock; where that is not known, any event may be."""
    lying = own[0] if len(own) == 1 else np.concatenate([np.zeros(0, np.int64), *own])
    moves = pool.rises.copy()
    late = lying
    if clock_ms is not None:
        late = lying[pool.times[lying] < np.maximum(pool.clocks[lying], clock_ms)]
    behind = late + 1
    moves[behind[behind < len(moves)]] = True
    delivered = moves.copy()
    delivered[lying] = True
    places = np.flatnonzero(delivered)
    counts = np.diff(np.searchsorted(places, pool.starts))
    clocks = np.where(moves[places], pool.clocks[places], STAYS)
    turns = Turns(counts, clocks, np.searchsorted(places, lying))
    return PoolCut(pool, replace(records, turns=turns), None, places)
