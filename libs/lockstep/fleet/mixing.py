"""Records of a slice that are cut at once, with rows of other units between their events.

The same order as that of single records (channels.py): by moment, then by clock where timers
brought the rows, then by feed, group and partition, then as they came out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lockstep.columns.chunks import offsets_of
from lockstep.columns.column import Longs
from lockstep.events import StreamSchema
from lockstep.events.columns import arrow_schema, taken
from lockstep.execute.together import Turns, joined_batch, with_times
from lockstep.fleet.cutting import joined_moves
from lockstep.fleet.pooling import PoolCut, Pooled, Wanted, counted, lying, own_of, pool_cut


@dataclass(frozen=True, eq=False)
class Brought:
    """A unit's own rows of a channel, each a chunk of its own, in the order in which they came out.

    `batch`: their values. They stand at `moments` of the records at `positions`, and `clocks` are
    in force in front of them. `turn`: whose it is at one moment.
    """

    stream: str
    positions: Longs
    moments: Longs
    clocks: Longs
    times: Longs
    batch: pa.RecordBatch
    turn: tuple[int, int]


@dataclass(frozen=True, eq=False)
class _Source:
    """Events of one kind. `moments` count on from record to record; `clocks`: of rows that others
    brought."""

    turn: tuple[int, int]
    moments: Longs
    stream: str
    batch: pa.RecordBatch
    clocks: Longs | None = None


def cut_at_once(
    pool: Pooled,
    wanted: Wanted,
    brought: Sequence[Brought],
    schemas: Mapping[str, StreamSchema],
    *,
    is_playback: bool,
    clock_ms: int | None,
) -> PoolCut | None:
    """What a unit folds: its own events, the rows that others brought, and in playback the moves of
    the clock that do something. `schemas`: of these rows. `clock_ms`: see Merger. None where it
    can't be told here."""
    sources: list[_Source] = []
    for each in brought:
        moments, batch = _standing(pool, each), _typed(each, schemas)
        # Of a live app the clock of a row that a timer brought is between those of two records.
        is_timed = moments is not None and not (moments & 1).all()
        if moments is None or batch is None or (is_timed and not is_playback):
            return None
        sources.append(_Source(each.turn, moments, each.stream, batch, each.clocks))
    own = own_of(pool, wanted)
    if not brought:
        return pool_cut(pool, own, is_playback=is_playback, clock_ms=clock_ms)
    sources += [
        _Source((each.rank, 0), 2 * each.places + 1, each.stream, each.batch) for each in own
    ]
    if len({each.turn for each in sources}) < len(sources):
        return None  # what came out first is told by the rows' ordinals alone
    sources.sort(key=lambda each: each.turn)
    if not is_playback:
        return _laid(pool, sources, None)
    rows = np.concatenate([each.moments for each in sources if each.clocks is not None])
    moves = pool.needed(lying(own), rows, clock_ms)
    return _laid(pool, sources, np.flatnonzero(moves))


def _standing(pool: Pooled, brought: Brought) -> Longs | None:
    """The moments, counted on from record to record; None where some are behind all events of
    their record."""
    positions = pool.records.positions
    record = np.minimum(np.searchsorted(positions, brought.positions), len(positions) - 1)
    if (positions[record] != brought.positions).any():
        return None
    if (brought.moments >= 2 * pool.records.rows[record]).any():
        return None
    found: Longs = 2 * pool.starts[record] + brought.moments
    return found


def _typed(brought: Brought, schemas: Mapping[str, StreamSchema]) -> pa.RecordBatch | None:
    """The rows in the exact types of their stream, and their times; None where they have others."""
    wanted = arrow_schema(schemas[brought.stream])
    if [column.type for column in brought.batch.columns] != wanted.types:
        return None
    batch = pa.RecordBatch.from_arrays(brought.batch.columns, schema=wanted)
    return with_times(batch, brought.times)


def _laid(pool: Pooled, sources: Sequence[_Source], moves: Longs | None) -> PoolCut:
    """All in their order. `moves`: the places of events that move the clock of playback."""
    moved = np.zeros(0, np.int64) if moves is None else moves
    moments = np.concatenate([2 * moved, *(each.moments for each in sources)])
    lengths = [len(moved), *(len(each.moments) for each in sources)]
    source = np.repeat(np.arange(len(lengths)), lengths)
    order = _order(sources, moments, pool.moves.clocks[moved] if len(moved) else moved)
    moments, source = moments[order], source[order]
    clocks: Longs | None = None
    if moves is not None:
        is_own = np.array([False, *(each.clocks is None for each in sources)])[source]
        in_force = pool.moves.clocks[moments >> 1]
        stay, clocks = joined_moves(moments, in_force, source == 0, is_own)
        moments, source, order, clocks = moments[stay], source[stay], order[stay], clocks[stay]
    counts = counted(pool, moments >> 1)
    rows = counted(pool, moments[source > 0] >> 1)
    batches, places = {}, [np.zeros(0, np.int64)]
    for stream, batch, at in _streams(sources, lengths, source, order):
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
    brought = [each for each in sources if each.clocks is not None]
    if all((each.moments & 1).all() for each in brought):
        return np.argsort(moments, kind="stable")
    none = [np.zeros(len(each.moments), np.int64) for each in sources]
    told = [
        zeros if each.clocks is None else each.clocks
        for each, zeros in zip(sources, none, strict=True)
    ]
    in_force = np.concatenate([clocks, *told])
    return np.lexsort((np.where(moments & 1, 0, in_force), moments))


def _streams(
    sources: Sequence[_Source], lengths: Sequence[int], source: Longs, order: Longs
) -> Iterator[tuple[str, pa.RecordBatch, Longs]]:
    """(stream, its events in the order of their deliveries, which deliveries those are). The first
    of the `lengths` is that of the moves, which have no events."""
    begins = offsets_of(np.array(lengths, np.int64))
    for stream in dict.fromkeys(each.stream for each in sources):
        which = [n for n, each in enumerate(sources, 1) if each.stream == stream]
        is_here = np.zeros(len(lengths), np.bool_)
        is_here[which] = True
        at = np.flatnonzero(is_here[source])
        if not len(at):
            continue
        behind = np.zeros(len(lengths), np.int64)
        behind[which] = begins[which] - offsets_of(np.array([lengths[n] for n in which]))[:-1]
        index = order[at] - behind[source[at]]
        parts = [sources[n - 1].batch for n in which]
        # Records may call the columns otherwise than rows do.
        names = parts[0].schema
        same = [pa.RecordBatch.from_arrays(each.columns, schema=names) for each in parts]
        batch = joined_batch(same)
        is_same = len(index) == batch.num_rows and bool((np.diff(index) == 1).all())
        yield stream, batch if is_same else taken(batch, index), at
