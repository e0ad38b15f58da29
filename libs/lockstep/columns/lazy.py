"""Columns that are made when somebody first reads them: most queries read few of a stream's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from lockstep.columns.column import Column


class LazyColumns(Sequence[Column]):
    """`count` columns, each by `make` of its number, once. What `make` refers to stays in memory as
    long as these columns: who keeps them beyond a slice makes a tuple of them."""

    __slots__ = ("_made", "_make")

    def __init__(self, count: int, make: Callable[[int], Column]) -> None:
        self._make = make
        self._made: list[Column | None] = [None] * count

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Column: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Column, ...]: ...
    def __getitem__(self, index: int | slice) -> Column | tuple[Column, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        found = self._made[index]
        if found is None:
            found = self._made[index] = self._make(range(len(self))[index])
        return found
