"""Streams of chunks in the order of one run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lockstep.columns import order_kernel as kernel
from lockstep.columns.chunks import Chunks, joined_orders, lengths_of, offsets_of
from lockstep.columns.column import Index, concat
from lockstep.columns.compiled import plain
from lockstep.columns.lazy import LazyColumns
from lockstep.columns.order import BEHIND, Order, level_of

_FEW_STREAMS = 8


def merge(streams: Sequence[Chunks]) -> Chunks:
    """What several queries wrote into one stream, in the order in which it arrives."""
    streams = [stream for stream in streams if stream.count] or list(streams[:1])
    if len(streams) == 1:
        return streams[0]
    columns = LazyColumns(
        len(streams[0].columns), lambda i: concat([stream.columns[i] for stream in streams])
    )
    lengths = np.concatenate([lengths_of(stream.starts) for stream in streams])
    starts = offsets_of(lengths)
    whole = Chunks(
        columns,
        np.concatenate([stream.times for stream in streams]),
        starts,
        joined_orders([stream.order for stream in streams]),
        np.concatenate([stream.now for stream in streams]),
    )
    permutation = merged([stream.order for stream in streams])
    if (permutation[1:] > permutation[:-1]).all():
        return whole
    return whole.arranged(permutation)


def merged(orders: Sequence[Order]) -> Index:
    """The permutation that brings the chunks of several streams, one behind the other, in order."""
    found = _interleaved(orders)
    if found is not None:
        return found
    moments = np.concatenate([order.moments for order in orders])
    depth = max(len(order.levels) for order in orders)
    levels = [np.concatenate([level_of(order, i) for order in orders]) for i in range(depth)]
    keys = [level for level in _compact(levels) if len(level) and (level != level[0]).any()]
    if not keys:
        return np.argsort(moments, kind="stable")
    return np.lexsort([*reversed(keys), moments])


def counts_before(those: Order, chunks: Order) -> Index:
    """How many of those stand in front of each chunk."""
    for counted in (_counted, _counted_by_levels):
        found = counted(those, chunks)
        if found is not None:
            return found
    arranged = merged([those, chunks])
    is_one = arranged < len(those)
    counts = np.cumsum(is_one)
    before = np.empty(len(chunks), np.int64)
    others = ~is_one
    before[arranged[others] - len(those)] = counts[others]
    return before


def _interleaved(orders: Sequence[Order]) -> Index | None:
    """The same as `merged`, if each stream is in order by its moments alone; None where it takes
    more than a look at the moments to say."""
    if len(orders) > _FEW_STREAMS:
        return None
    moments = np.concatenate([order.moments for order in orders])
    begins = np.cumsum([0, *map(len, orders)])
    arranged, is_clear = kernel.interleave(moments, begins, _ranks(orders))
    return arranged if is_clear else None


def _counted(those: Order, chunks: Order) -> Index | None:
    """The same as `counts_before`; None as above."""
    moments = plain(those.moments, np.int64), plain(chunks.moments, np.int64)
    before, is_clear = kernel.count_before(*moments, *_ranks((those, chunks)))
    return before if is_clear else None


def _counted_by_levels(those: Order, chunks: Order) -> Index | None:
    """The same as `counts_before`, if both are in order; else None."""
    depth = max(len(those.levels), len(chunks.levels))
    moments = plain(those.moments, np.int64), plain(chunks.moments, np.int64)
    levels = (
        np.array(_compact([level_of(order, i) for i in range(depth)]), np.int64).reshape(
            depth, len(order)
        )
        for order in (those, chunks)
    )
    before, is_clear = kernel.count_before_by_levels(*moments, *levels)
    return before if is_clear else None


def _ranks(orders: Sequence[Order]) -> Index:
    """How the streams compare at a moment that they share; -1 of those whose chunks' places differ,
    the same of those whose places are equal."""
    places = [_place(order) for order in orders]
    known = sorted({each for each in places if each is not None})
    return np.array([-1 if each is None else known.index(each) for each in places], np.int64)


def _place(order: Order) -> tuple[int, ...] | None:
    """What tells where a stream's chunks stand at their moments, if all have the same levels."""
    levels = [level for level in order.levels if isinstance(level, int)]
    if len(levels) < len(order.levels):
        return None
    return (*(level for level in levels if level != BEHIND), BEHIND)


def _compact(levels: list[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int64]]:
    """The levels without those that a chunk does not have and what came of it has: streams with
    chunks from several depths are filled up with BEHIND."""
    missing = [level == BEHIND for level in levels]
    if not any((one & ~other).any() for one, other in pairwise(missing)):
        return levels
    matrix, gaps = np.stack(levels, axis=1), np.stack(missing, axis=1)
    ordered = np.argsort(gaps, axis=1, kind="stable")
    return list(np.take_along_axis(matrix, ordered, axis=1).T)
