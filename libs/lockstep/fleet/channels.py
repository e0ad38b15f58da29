"""What a unit folds, position by position: its own of the input log's record, and the rows that
other units brought at that position, in an order that is a pure function of the logs.

Rows of channels stand at moments of the record (see cutting.py). At one moment they are ordered by
clock where timers brought them, then by feed, group and partition, then as they came out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.events import Position, TickRecord, WriteRecord
from lockstep.events.bundles import STAYS, Bundle
from lockstep.events.codec import EncodedEntry
from lockstep.events.columns import (
    EventColumns,
    arrow_schema,
    numbers,
)
from lockstep.events.outputs import OutputColumns, Places
from lockstep.execute.made import EntriesTogether, Looked, MadeEntry
from lockstep.fleet.asking import Asking
from lockstep.fleet.cutting import NONE, Cut, Cutter, Moves, joined_moves
from lockstep.fleet.mixing import Brought, cut_at_once
from lockstep.fleet.pooling import PoolCut, Time, pooled
from lockstep.fleet.shares import shares_of
from lockstep.fleet.stacking import Channel, Stack, events_of, stacks_of
from lockstep.fleet.units import Unit
from lockstep.plan.fleet import hears_time

Longs = npt.NDArray[np.int64]
_IN_FRONT: Final = -1
"""The rank of the record's own moves of the clock."""

_PARTITIONS_MAX: Final = 1 << 20
_POOLED_MIN: Final = 2
"""So many entries are cut at once."""


@dataclass(frozen=True, eq=False)
class _Deliveries:
    """One part of a bundle, and of each of its chunks where it stands; `clocks` are in force in
    front of it."""

    part: EventColumns
    moments: Longs
    clocks: Longs
    numbers: Longs
    rank: int
    partition: int = 0


@dataclass(frozen=True, eq=False)
class _Rows:
    """A unit's own rows of a channel, and which of them begin a chunk."""

    rows: OutputColumns
    begins: npt.NDArray[np.bool_]
    rank: int
    partition: int

    def bounds(self, positions: Longs) -> tuple[list[int], list[int]]:
        """Between which places the rows of each position stand."""
        starts = np.searchsorted(self.rows.positions, positions)
        return starts.tolist(), np.searchsorted(self.rows.positions, positions, "right").tolist()

    def delivered(self, start: int, stop: int) -> _Deliveries:
        """The rows of one position."""
        rows = self.rows.part(start, stop)
        assert rows.places is not None
        begins = np.flatnonzero(self.begins[start:stop])
        return _Deliveries(
            events_of(rows, np.diff(np.append(begins, len(rows))).astype(np.int32)),
            rows.places.moments[begins],
            rows.places.clocks[begins],
            rows.ordinals[begins],
            self.rank,
            self.partition,
        )


class Merged:
    """Entries for a unit's executor, and where their deliveries stand in the records. `cut`: all of
    them, where they were cut together; else they are added one by one."""

    def __init__(
        self, is_playback: bool, together: tuple[EntriesTogether, PoolCut] | None = None
    ) -> None:
        self._made: list[MadeEntry] = []
        self._is_playback = is_playback
        self._cuts: list[Cut | Longs] = []
        self._together = together

    @property
    def entries(self) -> Sequence[EncodedEntry]:
        """What is folded."""
        return self._made if self._together is None else self._together[0]

    def add(self, position: Position, made: Looked, stands: Cut | Longs) -> None:
        """The next entry; `stands` has the moments of its deliveries."""
        self._made.append(MadeEntry(position, made))
        self._cuts.append(stands)

    def placed(self, columns: Iterable[OutputColumns]) -> list[OutputColumns]:
        """The channels' rows that came of these entries, at moments of the records."""
        found = [each for each in columns if len(each)]
        if not found:
            return []
        positions, counts, flat = self._stands()
        starts = np.cumsum(counts) - counts
        return [self._placed(each, positions, starts, counts, flat) for each in found]

    def _stands(self) -> tuple[Longs, Longs, Longs]:
        """(the positions, how many deliveries each has, the moment of each delivery)."""
        if self._together is not None:
            entries, cut = self._together
            return entries.records.positions, *cut.moments()
        positions = np.array([entry.position for entry in self._made], np.int64)
        moments = [each.moments if isinstance(each, Cut) else each for each in self._cuts]
        counts = np.array([len(each) for each in moments], np.int64)
        return positions, counts, np.concatenate([*moments, NONE])

    def _placed(
        self, rows: OutputColumns, positions: Longs, starts: Longs, counts: Longs, flat: Longs
    ) -> OutputColumns:
        places = rows.places
        assert places is not None, rows.stream
        entry = np.searchsorted(positions, rows.positions)
        delivery, is_odd = places.moments >> 1, (places.moments & 1).astype(np.bool_)
        # Behind the last delivery, and without any, timers stand in front.
        inside = delivery < counts[entry]
        stands = np.zeros(len(rows), np.int64)
        stands[inside] = flat[(starts[entry] + delivery)[inside]]
        before = stands & ~np.int64(1) if self._is_playback else np.zeros(len(rows), np.int64)
        moments = np.where(is_odd, stands, before)
        return replace(rows, places=Places(moments, places.clocks, places.chunks))


class Merger:
    """Makes what one unit folds. What the unit brings hangs on the entries and the channels' rows
    alone.

    `clock_ms`: the clock of a playback app in front of the next entries, which the unit's executor
    tells; None: not known. Who does not know it makes more deliveries, which bring the same.
    """

    def __init__(self, unit: Unit, asking: Asking) -> None:
        self._cutter = Cutter(unit, asking)
        self._is_playback = unit.plan.is_playback
        self._hears_time = hears_time(unit.plan.app)
        self._ranks: dict[str, int] = {}
        for place, feed in enumerate(unit.group.feeds):
            for writer in feed.writers:
                self._ranks.setdefault(writer, place)
        self._shares = {feed.stream: shares_of(unit, feed) for feed in unit.group.feeds}
        self._nothing = _nothing(unit)
        self._schemas = unit.plan.fleet.app.checked.streams
        self._rows_of = unit.plan.app.schemas
        playback = unit.plan.app.checked.annotations.get("playback")
        # Where nothing comes for a while the clock leaps, in front of any record.
        self._leaps = playback is not None and playback.get("idle.time") is not None
        self.clock_ms: int | None = None

    def merged(self, entries: Sequence[EncodedEntry], channels: Sequence[Channel]) -> Merged:
        """For the units' executor. `channels`: all rows of the streams that it reads, of all
        upstream units, at the positions of the entries."""
        if (pooled_cut := self._pooled(entries, channels)) is not None:
            together = EntriesTogether(pooled_cut.records, self._nothing)
            return Merged(self._is_playback, (together, pooled_cut))
        own = [self._own(each) for each in channels if len(each.rows)]
        found = Merged(self._is_playback)
        positions = np.array([entry.position for entry in entries], np.int64)
        bounds = [each.bounds(positions) for each in own]
        for i, entry in enumerate(entries):
            cut = self._cutter.cut_entry(entry)
            brought = [
                each.delivered(starts[i], stops[i])
                for each, (starts, stops) in zip(own, bounds, strict=True)
                if starts[i] < stops[i]
            ]
            if brought:
                found.add(entry.position, *self._together(cut, brought))
            elif cut.whole is None and cut.moves is not None:
                found.add(entry.position, *self._moved(cut, cut.moves))
            else:
                made = cut.whole or cut.events or TickRecord(cut.clock_ms)
                found.add(entry.position, made, cut)
            self._passed(cut)
        return found

    def _pooled(
        self, entries: Sequence[EncodedEntry], channels: Sequence[Channel]
    ) -> PoolCut | None:
        """What is folded of all entries at once, where that says the same."""
        if len(entries) < _POOLED_MIN or (self._is_playback and self._leaps):
            return None
        # What takes little comes first, and rows are put together once records can be.
        if not all(each.is_single for each in channels if len(each.rows)):
            return None
        pool = pooled(entries, self._schemas)
        if pool is None or (self._is_playback and not pool.moves_the_clock):
            return None
        stacks = stacks_of(channels, self._rows_of)
        if stacks is None:
            return None
        time = Time(self._is_playback, self._hears_time, self.clock_ms)
        brought = [self._brought(each) for each in stacks]
        found = cut_at_once(pool, self._cutter.feeds, brought, time)
        if found is not None and self._is_playback and self.clock_ms is not None:
            self.clock_ms = max([self.clock_ms, *pool.moves.clocks[-1:].tolist()])
        return found

    def _brought(self, stack: Stack) -> Brought:
        """The unit's own rows of a stack."""
        shares, share = self._shares[stack.stream], None
        if shares is not None:
            share = shares(stack.events, stack.ordinals if shares.is_by_number else None, None)
        turns = [self._turn(unit) for unit in stack.units]
        return Brought(stack, None if share is None else share.index, turns)

    def _turn(self, unit: Unit) -> tuple[int, int]:
        """Of the rows that a unit brought, at one moment."""
        return self._ranks[unit.group.name], unit.number * _PARTITIONS_MAX + unit.partition

    def _passed(self, cut: Cut) -> None:
        """The clock behind a record, if that in front of it was known."""
        if self.clock_ms is not None and cut.moves is not None:
            self.clock_ms = max(self.clock_ms, int(cut.moves.clocks[-1]))

    def _own(self, channel: Channel) -> _Rows:
        """The unit's own rows of a channel."""
        rows, unit = channel.rows, channel.unit
        assert rows.places is not None, rows.stream
        begins = channel.begins
        shares = self._shares[rows.stream]
        share = None
        if shares is not None:
            chunks = None if channel.is_single else channel.chunks
            share = shares(channel.events, rows.ordinals, chunks)
        if share is not None:
            rows = rows.picked(share.index)
            begins = np.zeros(len(rows), np.bool_)
            begins[slice(None) if share.starts is None else share.starts] = True
        return _Rows(rows, begins, *self._turn(unit))

    def _moved(self, cut: Cut, moves: Moves) -> tuple[Looked, Longs]:
        """As `_together`, of a record that brings nothing of others."""
        needed = self._needed(cut, moves, ())
        at, clocks = moves.moments(needed), moves.clocks[needed]
        if cut.events is None:
            part = self._empty(len(at))
            return Bundle(cut.clock_ms, np.zeros(len(at), np.uint16), (part,), clocks), at
        own = cut.moments
        front = np.searchsorted(own, at)  # which of the unit's own each move stands in front of
        joins = np.append(own, -1)[front] == at + 1
        alone = np.flatnonzero(~joins)
        places = front[alone] + np.arange(len(alone))
        owner = np.ones(len(own) + len(alone), np.uint16)
        owner[places] = 0
        given = np.full(len(own), STAYS, np.int64)
        given[front[joins]] = clocks[joins]
        is_own = owner == 1
        moments, all_clocks = np.empty(len(owner), np.int64), np.empty(len(owner), np.int64)
        moments[is_own], moments[places] = own, at[alone]
        all_clocks[is_own], all_clocks[places] = given, clocks[alone]
        parts = (self._empty(len(alone)), cut.events)
        return Bundle(cut.clock_ms, owner, parts, all_clocks), moments

    def _needed(self, cut: Cut, moves: Moves, brought: Sequence[_Deliveries]) -> Longs:
        """Which of a record's moves of the clock do something. One to where the clock stands fires
        only what was asked for too late: by rows that timers of others brought, or by a row or an
        event whose time is before the clock."""
        late = []
        for each in brought:
            is_late = self._late(each.part, moves.before(each.moments))
            late.append(each.moments[is_late | (each.moments & 1 == 0)])
        if cut.events is not None:
            late.append(cut.moments[self._late(cut.events, moves.before(cut.moments))])
        late = [each for each in late if len(each)]
        if not late:
            return moves.rises
        return moves.rises_and(moves.behind(np.concatenate(late)))

    def _late(self, events: EventColumns, clocks: Longs) -> npt.NDArray[np.bool_]:
        """Of which deliveries some event is before the clock; `clocks`: what it is there at
        least."""
        if self.clock_ms is None or self._leaps:
            return np.ones(len(clocks), np.bool_)
        times, lengths = numbers(events.timestamps()), events.chunk_lengths
        if len(lengths) < len(times):
            times = np.minimum.reduceat(times, np.cumsum(lengths) - lengths)
        found: npt.NDArray[np.bool_] = times < np.maximum(clocks, self.clock_ms)
        return found

    def _empty(self, count: int) -> EventColumns:
        """So many deliveries of no events."""
        return replace(self._nothing, chunk_lengths=np.zeros(count, np.int32))

    def _together(self, cut: Cut, brought: list[_Deliveries]) -> tuple[Looked, Longs]:
        """(what is folded, the moments of its deliveries)."""
        found = list(brought)
        if cut.moves is not None:
            needed = self._needed(cut, cut.moves, brought)
            moments, clocks = cut.moves.moments(needed), cut.moves.clocks[needed]
            empty = self._empty(len(needed))
            found.append(_Deliveries(empty, moments, clocks, moments, _IN_FRONT))
        if cut.events is not None:
            clocks = np.full(len(cut.moments), cut.clock_ms, np.int64)
            found.append(_Deliveries(cut.events, cut.moments, clocks, cut.moments, cut.feed))
        owner = np.repeat(np.arange(len(found)), [len(each.moments) for each in found])
        moments = np.concatenate([each.moments for each in found])
        clocks = np.concatenate([each.clocks for each in found])
        if len(found) > 1:
            order = _order(cut, found, owner, moments, clocks)
            owner, moments, clocks = owner[order], moments[order], clocks[order]
            # What waited for its turn stands where it was delivered, for whoever comes next.
            moments = np.maximum.accumulate(moments)
        given: Longs | None = None
        parts = [each.part for each in found]
        if self._is_playback:
            if cut.moves is not None:
                place = len(brought)
                stay, given = joined_moves(moments, clocks, owner == place, owner == place + 1)
                owner, moments, given = owner[stay], moments[stay], given[stay]
                left = int((owner == place).sum())
                parts[place] = self._empty(left)
        elif (is_even := moments & 1 == 0).any():
            given = _rising(np.where(is_even, clocks, cut.clock_ms))
        write = cut.whole if isinstance(cut.whole, WriteRecord) else None
        if given is None and write is None and len(parts) == 1:
            return replace(parts[0], clock_ms=cut.clock_ms), moments
        made = Bundle(cut.clock_ms, owner.astype(np.uint16), tuple(parts), given, write)
        return made, moments


def _order(
    cut: Cut, found: Sequence[_Deliveries], owner: Longs, moments: Longs, clocks: Longs
) -> Longs:
    numbers = np.concatenate([each.numbers for each in found])
    writers = [(each.rank, each.partition) for each in found]
    places = {writer: place for place, writer in enumerate(sorted(set(writers)))}
    turns = np.array([places[writer] for writer in writers], np.int64)[owner]
    is_even = moments & 1 == 0
    before = np.where(is_even, clocks, 0)
    coarse = moments
    if cut.events is not None:
        # A stream's receivers have a chunk one after another, and each of them all of it.
        coarse = cut.coarse(moments)
        ranks = np.array([each.rank for each in found], np.int64)
        before[~is_even] = np.sign(ranks - cut.feed)[owner][~is_even]
    return np.lexsort((numbers, turns, moments, before, coarse))


def _rising(clocks: Longs) -> Longs:
    """The clocks, where they rise."""
    highest = np.maximum.accumulate(clocks)
    stays = np.zeros(len(clocks), np.bool_)
    stays[1:] = highest[1:] == highest[:-1]
    return np.where(stays, STAYS, clocks)


def _nothing(unit: Unit) -> EventColumns:
    """No events, of any stream that the unit has."""
    checked = unit.plan.app.checked
    feeds = [feed.stream for feed in unit.group.feeds]
    name = next(each for each in (*feeds, *checked.streams, *checked.schemas))
    batch = pa.RecordBatch.from_pylist([], schema=arrow_schema(checked.schemas[name]))
    return EventColumns(name, 0, True, batch, np.zeros(0, np.int32), 0)
