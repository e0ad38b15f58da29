"""Ids 0, 1, … for pairs of whole numbers, in order of first appearance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregations.columns import kernel as buckets
from lockstep.aggregators.accumulators import grown
from lockstep.columns.compiled import plain

Longs = npt.NDArray[np.int64]
_FIRST_TABLE = 1024


class PairIds:
    """`first[id]` and `second[id]` are the pair of an id, below `len`."""

    def __init__(self) -> None:
        self.first = np.zeros(0, np.int64)
        self.second = np.zeros(0, np.int64)
        self._table = np.full(_FIRST_TABLE, -1, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def claim(self, first: Any, second: Any) -> Longs:
        """The ids of pairs, new ones for new pairs."""
        first, second = plain(first, np.int64), plain(second, np.int64)
        ids = np.empty(len(first), np.int64)
        at = 0
        while True:
            arrays = (self.first, self.second, self._table)
            at, self._count = buckets.claim(first, second, at, *arrays, self._count, ids)
            if at == len(first):
                return ids
            self._grow()

    def _grow(self) -> None:
        room = max(2 * self._count, _FIRST_TABLE)
        self.first, self.second = grown(self.first, room), grown(self.second, room)
        self._index(np.ones(self._count, np.bool_))

    def _index(self, wanted: npt.NDArray[np.bool_]) -> None:
        size = _FIRST_TABLE
        while size < 4 * self._count:
            size *= 2
        self._table = np.full(size, -1, np.int64)
        buckets.enter(self.first, self.second, wanted, self._table)

    def forget(self, gone: npt.NDArray[np.bool_]) -> None:
        """These pairs are new when they come again; their ids stay theirs until `keep`."""
        self._index(~gone)

    def keep(self, kept: Longs, first: Longs | None = None) -> None:
        """Only these ids are left, numbered anew in their order; `first`: new numbers for the first
        of each pair that is left."""
        self._count = len(kept)
        self.first[: len(kept)] = self.first[kept] if first is None else first
        self.second[: len(kept)] = self.second[kept]
        self._index(np.ones(len(kept), np.bool_))

    def rename_second(self, moved: Longs) -> None:
        """The second numbers of pairs have changed."""
        used = self.second[: self._count]
        self.second[: self._count] = moved[used]
        self._index(np.ones(self._count, np.bool_))
