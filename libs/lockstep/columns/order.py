"""Where a chunk stands in the depth-first run of a slice (semantics 1), as numbers that compare.

A chunk of an input stream stands at a *moment*: an odd number per chunk of the log; the timers that
fire before it stand at the even number in front. What a query makes of a chunk stands below it: at
the query's place among the receivers of the stream, and there by the count of what it made of the
chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Index

Level = npt.NDArray[np.int64] | int
IN_FRONT = -1
"""The level in front of all that comes of a chunk: of what a query reads of a table, and of an
instance that the chunk makes."""

START = -1
"""The moment of the app's start, in front of all others."""

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
