"""Where a chunk stands in the depth-first run of a slice (semantics 1), as numbers that compare.

A chunk of an input stream stands at a *moment*: an odd number per chunk of the log; the timers that
fire before it stand at the even number in front. What a query makes of a chunk stands below it: at
the query's place among the receivers of the stream, and there by the count of what it made of the
chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Index

Level = npt.NDArray[np.int64] | int
_FEW_STREAMS = 4
IN_FRONT = -1
"""The level of what a query reads of a table, in front of all that comes of it."""

BEHIND = np.iinfo(np.int64).max
"""The level of a chunk itself, behind everything that was made of it."""


class Order:
    """The places of the chunks of a stream: levels from the moment downwards."""

    __slots__ = ("levels", "moments")

    def __init__(self, moments: npt.NDArray[np.int64], levels: tuple[Level, ...] = ()) -> None:
        self.moments = moments
        self.levels = levels

    def __len__(self) -> int:
        return len(self.moments)

    def take(self, index: Index) -> Order:
        """The places of some of the chunks."""
        levels = (level if isinstance(level, int) else level[index] for level in self.levels)
        return Order(self.moments[index], tuple(levels))

    def below(self, *levels: Level) -> Order:
        """One step down."""
        return Order(self.moments, (*self.levels, *levels))


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
    found = _counted(those, chunks) if _ascends(those.moments) else None
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
    """The same as `merged`, if each of a few streams is in order by its moments alone."""
    if len(orders) > _FEW_STREAMS or not all(_ascends(each.moments, 1) for each in orders):
        return None
    begins = np.cumsum([0, *map(len, orders)])
    arranged = np.empty(begins[-1], np.int64)
    for number, own in enumerate(orders):
        ranks = np.arange(len(own), dtype=np.int64)
        for other in (*orders[:number], *orders[number + 1 :]):
            before = _counted(other, own)
            if before is None:
                return None
            ranks += before
        arranged[ranks] = np.arange(begins[number], begins[number + 1])
    return arranged


def _counted(those: Order, chunks: Order) -> Index | None:
    """How many of those, whose moments ascend, stand in front of each chunk; None where it takes
    more than a look at the moments to say."""
    before: Index = np.searchsorted(those.moments, chunks.moments, "left")
    inside = before < len(those)
    if not (those.moments[before[inside]] == chunks.moments[inside]).any():
        return before
    own, other = _place(those), _place(chunks)
    if own is None or other is None:
        return None
    depth = max(len(own), len(other))
    own, other = (each + (BEHIND,) * (depth - len(each)) for each in (own, other))
    if own == other:
        return None
    return before if other < own else np.searchsorted(those.moments, chunks.moments, "right")


def _place(order: Order) -> tuple[int, ...] | None:
    """The levels, if all chunks have the same."""
    levels = tuple(level for level in order.levels if isinstance(level, int))
    return levels if len(levels) == len(order.levels) else None


def _ascends(moments: npt.NDArray[np.int64], step: int = 0) -> bool:
    """Whether each is at least so much behind the one in front of it."""
    return bool((moments[1:] >= moments[:-1] + step).all())


def _compact(levels: list[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int64]]:
    """The levels without those that a chunk does not have and what came of it has: streams with
    chunks from several depths are filled up with BEHIND."""
    missing = [level == BEHIND for level in levels]
    if not any((one & ~other).any() for one, other in pairwise(missing)):
        return levels
    matrix, gaps = np.stack(levels, axis=1), np.stack(missing, axis=1)
    ordered = np.argsort(gaps, axis=1, kind="stable")
    return list(np.take_along_axis(matrix, ordered, axis=1).T)


def places_of(order: Order) -> list[tuple[int, ...]]:
    """The levels that each chunk has."""
    if not order.levels:
        return [()] * len(order)
    columns = [level_of(order, level).tolist() for level in range(len(order.levels))]
    rows = zip(*columns, strict=True)
    if any(BEHIND in column for column in columns):
        return [tuple(level for level in row if level != BEHIND) for row in rows]
    return list(rows)


def levels_from(places: Sequence[tuple[int, ...]]) -> tuple[Level, ...]:
    """The levels of chunks at such places: the reverse of `places_of`."""
    depth = max(map(len, places), default=0)
    matrix = np.full((depth, len(places)), BEHIND, np.int64)
    for number, each in enumerate(places):
        matrix[: len(each), number] = each
    return tuple(matrix)


def level_of(order: Order, level: int) -> npt.NDArray[np.int64]:
    """A level as numbers; chunks that have no such level stand behind all that do."""
    if level >= len(order.levels):
        return np.full(len(order), BEHIND, np.int64)
    value = order.levels[level]
    return np.full(len(order), value, np.int64) if isinstance(value, int) else value
