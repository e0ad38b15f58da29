"""Rows that wait over many slices, of which each copies few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from lockstep.columns.column import Column, Strings, from_values
from lockstep.events import AttributeType
from lockstep.rates.rows import Block, Keys, last_by_group, nothing

FEW: Final = 1024
"""Texts that are copied one by one."""


class Waiting:
    """Rows in order of arrival; `lasts`: the last of each group, groups in order of their first.
    `keys` are those that nobody else has rows of, if any.

    They stand in blocks, each at least twice as long as the next one. So a slice copies few of
    them, and all of them only when half as many have come since.
    """

    def __init__(
        self, types: Sequence[AttributeType], keys: Keys | None = None, *, lasts: bool = False
    ) -> None:
        self._types = types
        self._keys = keys
        self._lasts = lasts
        self._blocks: list[Block] = []

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def add(self, rows: Block) -> None:
        """These wait, too."""
        if len(rows):
            self._blocks.append(self._copied(rows))
        while len(self._blocks) > 1 and len(self._blocks[-2]) < 2 * len(self._blocks[-1]):
            self._join()
        if self._keys is not None:
            self._blocks = list(self._keys.forget(*self._blocks))

    def replace(self, rows: Block) -> None:
        """These wait, and no others."""
        self._blocks = []
        self.add(rows)

    def joined(self) -> Block:
        """All that wait."""
        while len(self._blocks) > 1:
            self._join()
        return self._blocks[0] if self._blocks else nothing(self._types)

    def _join(self) -> None:
        last = self._blocks.pop()
        joined = last.behind(self._blocks[-1])
        self._blocks[-1] = self._copied(joined) if self._lasts else joined

    def _copied(self, rows: Block) -> Block:
        """Those to keep, apart from the columns of the slice."""
        index = np.arange(len(rows), dtype=np.int64)
        if self._lasts:
            index, _ = last_by_group(np.zeros(len(rows), np.int64), rows.groups)
        kept = rows.take(index)
        return replace(kept, columns=tuple(map(_apart, kept.columns)))


def _apart(column: Column) -> Column:
    """Few texts apart from the dictionary that they are codes into. It may have all texts of the
    app, and with each that comes to it, making it an Arrow array starts anew."""
    if isinstance(column, Strings) and len(column) < FEW:
        return from_values(column.type, column.to_pylist())
    return column
