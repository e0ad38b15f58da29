"""Records of a slice that are cut at once, with rows of other units between their events.

The same order as that of single records (channels.py): by moment, then by clock where timers
brought the rows, then by feed, group and partition, then as they came out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lockstep.columns.chunks import offsets_of
from lockstep.columns.column import Longs
from lockstep.events.columns import taken
from lockstep.execute.together import joined_batch
from lockstep.execute.turns import Turns, settled
from lockstep.fleet.pooling import PoolCut, Pooled, Time, Wanted, counted, lying, own_of, pool_cut
from lockstep.fleet.stacking import Stack


@dataclass(frozen=True, eq=False)
class Brought:
    """A unit's own rows of a stack, at the places `index` in it; None: all of them. `turns`: whose
    it is at one moment, of each unit that brought some."""

    stack: Stack
    index: Longs | None
    turns: Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class _Source:
    """Events of one kind. `moments` count on from record to record. `index`: their places in the
    batch, None: all of it. `stack`: of rows that others brought."""

    turn: tuple[int, int]
    moments: Longs
    stream: str
    batch: pa.RecordBatch
    index: Longs | None = None
    stack: Stack | None = None

    @property
    def rows(self) -> pa.RecordBatch:
        """The events themselves."""
        return self.batch if self.index is None else taken(self.batch, self.index)

    @property
    def is_timed(self) -> bool:
        """Whether timers may have brought some of them."""
        return self.stack is not None and self.stack.is_timed

    def clocks(self) -> Longs:
        """In force in front of each where timers brought it."""
        if self.stack is None or self.index is None:
            return np.zeros(len(self.moments), np.int64)
        return self.stack.clocks[self.index]

    def late(self, pool: Pooled, clock_ms: int | None) -> Longs:
        """Moments of rows that may ask for a time that has passed: those that timers brought, and
        those whose own time is before the clock."""
        if self.stack is None or self.index is None:
            return self.moments[:0]
        if clock_ms is None:
            return self.moments
        clocks = np.maximum(pool.moves.clocks[self.moments >> 1], clock_ms)
        is_late = self.stack.times[self.index] < clocks
        found: Longs = self.moments[is_late | (self.moments & 1 == 0)]
        return found


def cut_at_once(
    pool: Pooled, wanted: Wanted, brought: Sequence[Brought], time: Time
) -> PoolCut | None:
    """What a unit folds: its own events, the rows that others brought, and in playback the moves of
    the clock that do something. None where it can't be told here."""
    sources: list[_Source] = []
    for each in brought:
        # Of a live app the clock of a row that a timer brought is between those of two records.
        if each.stack.is_timed and not time.is_playback:
            return None
        stands = each.stack.standing(pool)
        if stands is None:
            return None
        sources += _sources(each, stands)
    own = own_of(pool, wanted)
    if not sources:
        return pool_cut(pool, own, time)
    is_heard = time.is_heard or any(each.is_timed for each in sources)
    sources += [
        _Source((each.rank, 0), 2 * each.places + 1, each.stream, each.batch) for each in own
    ]
    if len({each.turn for each in sources}) < len(sources):
        return None  # what came out first is told by the rows' ordinals alone
    sources.sort(key=lambda each: each.turn)
    if not time.is_playback:
        return _laid(pool, sources, None)
    if not is_heard:
        return _laid(pool, sources, pool.last_rises, time.stands_ms)
    late = np.concatenate([each.late(pool, time.clock_ms) for each in sources])
    return _laid(pool, sources, pool.needed(lying(own), late, time.clock_ms))


def _sources(brought: Brought, stands: Longs) -> Iterator[_Source]:
    """Those of each unit that brought some."""
    stack, index = brought.stack, brought.index
    if index is None:
        index = np.arange(len(stands))
    bounds = np.searchsorted(index, stack.starts).tolist()
    for turn, start, stop in zip(brought.turns, bounds[:-1], bounds[1:], strict=True):
        if start < stop:
            own = index[start:stop]
            yield _Source(turn, stands[own], stack.stream, stack.batch, own, stack)


def _laid(
    pool: Pooled, sources: Sequence[_Source], moves: Longs | None, follows_ms: int | None = None
) -> PoolCut:
    """All in their order. `moves`: the places of events that move the clock of playback.
    `follows_ms`: each delivery moves it on."""
    moved = np.zeros(0, np.int64) if moves is None else moves
    moments = np.concatenate([2 * moved, *(each.moments for each in sources)])
    lengths = [len(moved), *(len(each.moments) for each in sources)]
    is_own = np.array([False, *(each.stack is None for each in sources)])
    order = _order(sources, moments, pool.moves.clocks[moved] if len(moved) else moved)
    stand = settled(
        order, moments, np.array(lengths, np.int64), is_own, pool.moves.clocks, follows_ms
    )
    moments, clocks = stand.moments, None if moves is None else stand.clocks
    counts = counted(pool, moments >> 1)
    rows = counted(pool, moments[stand.sources > 0] >> 1)
    batches, places = {}, [np.zeros(0, np.int64)]
    for stream, batch, at in _streams(sources, lengths, stand.sources, stand.numbers):
        batches[stream] = [batch]
        places.append(at)
    flat = np.concatenate(places)
    records = replace(
        pool.records,
        rows=rows,
        streams=np.zeros(len(rows), np.int64),
        batches=batches,
        turns=Turns(counts, clocks, flat),
    )
    return PoolCut(pool, records, lambda: (counts, _within(pool, moments, counts)))


def _within(pool: Pooled, moments: Longs, counts: Longs) -> Longs:
    found: Longs = moments - 2 * np.repeat(pool.starts[:-1], counts)
    return found


def _order(sources: Sequence[_Source], moments: Longs, clocks: Longs) -> Longs:
    """By moment, then by the clocks of what time brought, then as they stand: in front the moves
    of the clock, whose `clocks` are told."""
    if not any(each.is_timed for each in sources):
        return np.argsort(moments, kind="stable")
    in_force = np.concatenate([clocks, *(each.clocks() for each in sources)])
    return np.lexsort((np.where(moments & 1, 0, in_force), moments))


def _streams(
    sources: Sequence[_Source], lengths: Sequence[int], source: Longs, numbers: Longs
) -> Iterator[tuple[str, pa.RecordBatch, Longs]]:
    """(stream, its events in the order of their deliveries, which deliveries those are). The first
    of the `lengths` is that of the moves, which have no events. `numbers`: in its source."""
    for stream in dict.fromkeys(each.stream for each in sources):
        which = [n for n, each in enumerate(sources, 1) if each.stream == stream]
        is_here = np.zeros(len(lengths), np.bool_)
        is_here[which] = True
        at = np.flatnonzero(is_here[source])
        if not len(at):
            continue
        batch, index = _below([sources[n - 1] for n in which])
        begins = np.zeros(len(lengths), np.int64)
        begins[which] = offsets_of(np.array([lengths[n] for n in which]))[:-1]
        places = index[numbers[at] + begins[source[at]]]
        is_same = len(places) == batch.num_rows and bool((np.diff(places) == 1).all())
        yield stream, batch if is_same else taken(batch, places), at


def _below(sources: Sequence[_Source]) -> tuple[pa.RecordBatch, Longs]:
    """A batch that has all events of some sources, and where they are in it."""
    batch, indices = sources[0].batch, [each.index for each in sources if each.index is not None]
    if len(indices) == len(sources) and all(each.batch is batch for each in sources):
        return batch, np.concatenate(indices)
    parts = [each.rows for each in sources]
    # Records may call the columns otherwise than rows do.
    names = parts[0].schema
    batch = joined_batch([pa.RecordBatch.from_arrays(one.columns, schema=names) for one in parts])
    return batch, np.arange(batch.num_rows)
