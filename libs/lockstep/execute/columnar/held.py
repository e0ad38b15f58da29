"""Rows that an operator keeps from slice to slice: arrays with places that are given out and taken
back.

A place that was freed in a slice is not used again within it, so its values can still be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.events import AttributeType
from lockstep.execute.columnar.column import DTYPES, Array, Column, Index, Strings, either
from lockstep.execute.columnar.pool import StringPool

_FIRST_CAPACITY = 1024
Longs = npt.NDArray[np.int64]


class Places:
    """Numbers 0 … capacity - 1, given out and taken back; the lowest are given out first."""

    def __init__(self) -> None:
        self.capacity = 0
        self._free = np.zeros(0, np.int64)
        self._count = 0
        self.used = 0

    def take(self, count: int) -> tuple[Longs, int]:
        """(that many places, the capacity now needed)."""
        if count > self._count:
            self._grow(count - self._count)
        taken = self._free[self._count - count : self._count][::-1].copy()
        self._count -= count
        self.used += count
        return taken, self.capacity

    def _grow(self, missing: int) -> None:
        capacity = max(_FIRST_CAPACITY, 2 * self.capacity, self.capacity + missing)
        free = np.empty(capacity, np.int64)
        new = capacity - self.capacity
        free[:new] = np.arange(capacity - 1, self.capacity - 1, -1)
        free[new : new + self._count] = self._free[: self._count]
        self._free, self._count, self.capacity = free, self._count + new, capacity

    def give_back(self, places: Longs) -> None:
        """The places may be given out again."""
        count = len(places)
        self._free[self._count : self._count + count] = places[::-1]
        self._count += count
        self.used -= count

    def reset(self, used: npt.NDArray[np.bool_]) -> None:
        """Exactly these places are in use."""
        free = np.flatnonzero(~used)[::-1]
        self._count = len(free)
        self._free[: self._count] = free
        self.used = self.capacity - self._count


class HeldRows:
    """Rows of a schema in places: columns, timestamps, and further whole numbers (`extras`)."""

    def __init__(self, types: Sequence[AttributeType], pool: StringPool, extras: int = 0) -> None:
        self.types = tuple(types)
        self.pool = pool
        self.places = Places()
        # One place that nobody has: what has no row (a RESET mark) may be read from it.
        self.times = np.zeros(1, np.int64)
        self.extras = [np.zeros(1, np.int64) for _ in range(extras)]
        self._values: list[Array] = [np.zeros(1, _dtype(type_)) for type_ in types]
        self._nulls: list[npt.NDArray[np.bool_] | None] = [None] * len(self.types)

    def __len__(self) -> int:
        return self.places.used

    def add(self, columns: Sequence[Column], times: Longs, extras: Sequence[Longs] = ()) -> Longs:
        """Writes rows; gives their places."""
        places, capacity = self.places.take(len(times))
        if capacity > len(self.times):
            self._resize(capacity)
        self.times[places] = times
        for own, new in zip(self.extras, extras, strict=True):
            own[places] = new
        for i, column in enumerate(columns):
            if isinstance(column, Strings):
                column = self.pool.adopt(column)
            self._values[i][places] = column.values
            self._write_nulls(i, places, column.nulls)
        return places

    def _write_nulls(self, i: int, places: Longs, nulls: Any) -> None:
        own = self._nulls[i]
        if own is None:
            if nulls is None or not nulls.any():
                return
            own = self._nulls[i] = np.zeros(len(self.times), np.bool_)
        own[places] = False if nulls is None else nulls

    def _resize(self, capacity: int) -> None:
        self.times = _resized(self.times, capacity)
        self.extras = [_resized(extra, capacity) for extra in self.extras]
        self._values = [_resized(values, capacity) for values in self._values]
        self._nulls = [
            None if nulls is None else _resized(nulls, capacity) for nulls in self._nulls
        ]

    def column(self, i: int, places: Index) -> Column:
        """The values of an attribute in places; null in places of -1."""
        nulls = self._nulls[i]
        missing = None if nulls is None else nulls[places]
        if len(places) and places.min() < 0:
            missing = either(missing, places < 0)
        if self.types[i] is AttributeType.STRING:
            return Strings(codes=self._values[i][places], words=self.pool.words, nulls=missing)
        return Column(self.types[i], self._values[i][places], missing)

    def columns(self, places: Index) -> tuple[Column, ...]:
        """The values of all attributes in places."""
        return tuple(self.column(i, places) for i in range(len(self.types)))

    def copy(self, i: int, source: Longs, target: Longs) -> None:
        """An attribute of some places into others."""
        self._values[i][target] = self._values[i][source]
        nulls = self._nulls[i]
        if nulls is not None:
            nulls[target] = nulls[source]

    def raw(self, i: int) -> Array:
        """An attribute's array by place, as it lies in memory."""
        return self._values[i]

    def text_columns(self) -> list[Array]:
        """The codes of all string columns, as they lie in memory."""
        return [
            values
            for type_, values in zip(self.types, self._values, strict=True)
            if type_ is AttributeType.STRING
        ]


def _dtype(type_: AttributeType) -> Any:
    return np.int32 if type_ is AttributeType.STRING else DTYPES[type_]


def _resized(values: Array, capacity: int) -> Array:
    grown = np.zeros(capacity, values.dtype)
    grown[: len(values)] = values
    return grown
