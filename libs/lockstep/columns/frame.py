"""What expressions are evaluated on: rows whose attributes are found by slot and position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Column, Index, Mask
from lockstep.columns.order import Order

Times = npt.NDArray[np.int64]


class Frame(Protocol):
    """Rows of an event shape (siddhiql.scope), column by column."""

    def __len__(self) -> int: ...

    def column(self, slot: int, attribute: int) -> Column:
        """The attribute's column."""

    def result(self, index: int) -> Column:
        """The running value of the query's aggregator of that index, per row."""

    def times(self) -> Times:
        """The events' timestamps."""

    def now(self) -> Times:
        """The app clock at each row."""

    def absent(self, slot: int) -> Mask | None:
        """Where the slot holds no event (outer joins); None when nowhere."""

    def order(self) -> Order:
        """Where in the run each row is looked at; only where somebody asks a table."""


Find = Callable[[int, int], Column]
Evaluate = Callable[[Frame], Column]
"""An expression."""


class Rows:
    """A frame of given length whose columns are found (and remembered) when they are first read."""

    def __init__(
        self,
        length: int,
        find: Find,
        times: Callable[[], Times],
        now: Callable[[], Times],
        absent: Callable[[int], Mask | None] | None = None,
    ) -> None:
        self._length = length
        self._find = find
        self._times = times
        self._now = now
        self._absent = absent
        self._columns: dict[tuple[int, int], Column] = {}
        self.results: list[Column] = []
        self.where: Callable[[], Order] | None = None

    def __len__(self) -> int:
        return self._length

    def column(self, slot: int, attribute: int) -> Column:
        key = (slot, attribute)
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = self._find(slot, attribute)
        return found

    def known(self, slot: int, attribute: int) -> Column | None:
        """A column that was read or set, if it was."""
        return self._columns.get((slot, attribute))

    def result(self, index: int) -> Column:
        return self.results[index]

    def times(self) -> Times:
        return self._times()

    def now(self) -> Times:
        return self._now()

    def absent(self, slot: int) -> Mask | None:
        return None if self._absent is None else self._absent(slot)

    def order(self) -> Order:
        assert self.where is not None
        return self.where()

    def put(self, slot: int, attribute: int, column: Column) -> None:
        """Sets a column (of the output slot)."""
        self._columns[(slot, attribute)] = column

    def picked(self, index: Index) -> Rows:
        """The frame of some of the rows."""
        rows = Rows(
            len(index),
            lambda slot, attribute: self.column(slot, attribute).take(index),
            lambda: self.times()[index],
            lambda: self.now()[index],
            lambda slot: _picked(self.absent(slot), index),
        )
        rows.results = [result.take(index) for result in self.results]
        rows.where = lambda: self.order().take(index)
        return rows


def _picked(mask: Mask | None, index: Index) -> Mask | None:
    return None if mask is None else mask[index]


def nothing(slot: int, attribute: int) -> Any:
    """A frame without columns."""
    raise LookupError(f"no column {attribute} in slot {slot}")
