"""order by, offset and limit of each chunk's rows, on columns (semantics 5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Column, Index, Strings
from lockstep.columns.flow import EXPIRED, Kinds
from lockstep.columns.frame import Frame
from lockstep.expressions.columns import Compiler
from lockstep.siddhiql import ast

Ranks = npt.NDArray[np.int64]
_NULL = np.iinfo(np.int64).max


class Ordering:
    """Sorts each run of one event kind within a chunk, stably, nulls last; then drops `offset` rows
    of the chunk and cuts it at `limit`. Expired rows are never cut, but use the limit up."""

    def __init__(self, selector: ast.Selector, compiler: Compiler) -> None:
        self._keys = []
        for item in selector.order_by:
            compiler.type_of(item.variable)
            self._keys.append((compiler.compile(item.variable), item.descending))
        self._limit = None if selector.limit is None else int(selector.limit.value)
        self._offset = 0 if selector.offset is None else int(selector.offset.value)
        self.is_active = bool(self._keys) or self._limit is not None or self._offset > 0

    def arrange(self, frame: Frame, chunk: Index, kinds: Kinds | None) -> Index:
        """The rows that stay, in their order; `chunk` is that of each row, ascending."""
        index = np.arange(len(chunk), dtype=np.int64)
        if self._keys and len(index):
            changes = chunk[1:] != chunk[:-1]
            if kinds is not None:
                changes = changes | (kinds[1:] != kinds[:-1])
            runs = np.append(0, np.cumsum(changes))
            ranks = [ranks_of(key(frame), descending=down) for key, down in self._keys]
            index = np.lexsort([*reversed(ranks), runs])
        if not self._offset and self._limit is None:
            return index
        # Sorting moves rows within their chunk only, so `chunk` still tells the chunk of each.
        firsts = np.searchsorted(chunk, chunk)
        place = np.arange(len(chunk), dtype=np.int64) - firsts - self._offset
        stays = place >= 0
        if self._limit is not None:
            within = place < self._limit
            if kinds is not None:
                within |= kinds[index] == EXPIRED
            stays &= within
        return index[stays]


def ranks_of(column: Column, *, descending: bool) -> Ranks:
    """Numbers that are in order where the values are: NaN behind all others, nulls last."""
    if isinstance(column, Strings):
        texts = column.words.texts
        order = sorted(range(len(texts)), key=texts.__getitem__)
        by_code = np.empty(len(texts), np.int64)
        by_code[order] = np.arange(len(texts))
        ranks: Ranks = by_code[column.values]
    else:
        ranks = np.unique(column.values, return_inverse=True)[1].astype(np.int64)
    if descending:
        ranks = -ranks
    if column.nulls is not None:
        ranks = np.where(column.nulls, _NULL, ranks)
    return ranks
