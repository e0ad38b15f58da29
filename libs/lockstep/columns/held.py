"""Rows that an operator keeps from slice to slice: arrays with places that are given out and taken
back.

A place that was freed in a slice is not used again within it, so its values can still be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import DTYPES, Array, Column, Index, Strings, either, from_values
from lockstep.columns.growing import GrowingArray
from lockstep.columns.pool import StringPool
from lockstep.columns.times import check_time
from lockstep.events import AttributeType
from lockstep.operators.contract import StreamEvent

_FIRST_CAPACITY = 1024
_DOUBLING_UP_TO = 1 << 20
"""Rows; from here on capacity grows by an eighth: what stands empty of ten million rows is
memory."""
Longs = npt.NDArray[np.int64]


class Places:
    """Numbers 0 … capacity - 1, given out and taken back; the lowest are given out first."""

    def __init__(self) -> None:
        self.capacity = 0
        # Those given back, the next one last; all from `_fresh` on were never given out.
        self._free = np.zeros(0, np.int64)
        self._count = 0
        self._fresh = 0
        self.used = 0

    def take(self, count: int) -> tuple[Longs, int]:
        """(that many places, the capacity now needed)."""
        again = min(count, self._count)
        fresh = count - again
        if self._fresh + fresh > self.capacity:
            self._grow(self._fresh + fresh)
        taken = np.empty(count, np.int64)
        taken[:again] = self._free[self._count - again : self._count][::-1]
        taken[again:] = np.arange(self._fresh, self._fresh + fresh)
        self._count -= again
        self._fresh += fresh
        self.used += count
        return taken, self.capacity

    def _grow(self, needed: int) -> None:
        more = max(min(self.capacity, _DOUBLING_UP_TO), self.capacity // 8)
        self.capacity = max(_FIRST_CAPACITY, self.capacity + more, needed)

    def give_back(self, places: Longs) -> None:
        """The places may be given out again."""
        count = len(places)
        needed = self._count + count
        if needed > len(self._free):
            free = np.empty(min(max(needed, 2 * len(self._free)), self.capacity), np.int64)
            free[: self._count] = self._free[: self._count]
            self._free = free
        self._free[self._count : needed] = places[::-1]
        self._count = needed
        self.used -= count

    def given_out(self) -> Longs:
        """All that are in use."""
        used = np.ones(self._fresh, np.bool_)
        used[self._free[: self._count]] = False
        return np.flatnonzero(used)

    def reset(self, used: npt.NDArray[np.bool_]) -> None:
        """Exactly these places are in use."""
        self._free = np.flatnonzero(~used)[::-1].copy()
        self._count = len(self._free)
        self._fresh = self.capacity
        self.used = self.capacity - self._count


class HeldRows:
    """Rows of a schema in places: columns, timestamps, and further whole numbers (`extras`)."""

    def __init__(self, types: Sequence[AttributeType], pool: StringPool, extras: int = 0) -> None:
        self.types = tuple(types)
        self.pool = pool
        pool.serve(self)
        self.places = Places()
        # One place that nobody has: what has no row (a RESET mark) may be read from it.
        self._times = GrowingArray(np.int64, 1)
        self._extras = [GrowingArray(np.int64, 1) for _ in range(extras)]
        self._values = [GrowingArray(_dtype(type_), 1) for type_ in types]
        self._nulls: list[GrowingArray | None] = [None] * len(self.types)

    @property
    def times(self) -> Longs:
        """Timestamps by place."""
        return self._times.values

    def extra(self, i: int) -> Longs:
        """Further numbers by place."""
        return self._extras[i].values

    def __len__(self) -> int:
        return self.places.used

    def add(self, columns: Sequence[Column], times: Longs, extras: Sequence[Longs] = ()) -> Longs:
        """Writes rows; gives their places."""
        places = self.take(len(times))
        self.times[places] = times
        for own, new in zip(self._extras, extras, strict=True):
            own.values[places] = new
        for i, column in enumerate(columns):
            self.put(i, places, column)
        return places

    def take(self, count: int) -> Longs:
        """So many places, to be written."""
        places, capacity = self.places.take(count)
        if capacity > len(self.times):
            self._resize(capacity)
        return places

    def put(self, i: int, places: Longs, column: Column) -> None:
        """Writes an attribute of some places."""
        if isinstance(column, Strings):
            column = self.pool.adopt(column)
        self._values[i].values[places] = column.values
        self._write_nulls(i, places, column.nulls)

    def _write_nulls(self, i: int, places: Longs, nulls: Any) -> None:
        own = self._nulls[i]
        if own is None:
            if nulls is None or not nulls.any():
                return
            own = self._nulls[i] = GrowingArray(np.bool_, len(self.times))
        own.values[places] = False if nulls is None else nulls

    def _resize(self, capacity: int) -> None:
        for array in (self._times, *self._extras, *self._values, *self._nulls):
            if array is not None:
                array.reserve(capacity)

    def column(self, i: int, places: Index) -> Column:
        """The values of an attribute in places; null in places of -1."""
        nulls, values = self._nulls[i], self._values[i].values
        missing = None if nulls is None else nulls.values[places]
        if len(places) and places.min() < 0:
            missing = either(missing, places < 0)
        if self.types[i] is AttributeType.STRING:
            return Strings(codes=values[places], words=self.pool.words, nulls=missing)
        return Column(self.types[i], values[places], missing)

    def mixed(self, i: int, places: Index, column: Column, rows: Index) -> Column:
        """The values of another column in some of its rows; where a row is -1, those of an
        attribute in places. Few are, mostly, so the others are gathered as if there were none."""
        old = np.flatnonzero(rows < 0)
        if not len(old):
            return column.take(rows)
        held = self.column(i, places[old])
        if len(old) == len(rows):
            return held
        fresh = self.pool.adopt(column) if isinstance(column, Strings) else column
        values = fresh.values[rows]
        values[old] = held.values
        nulls = None if fresh.nulls is None else fresh.nulls[rows]
        if nulls is None and held.nulls is not None:
            nulls = np.zeros(len(rows), np.bool_)
        if nulls is not None:
            nulls[old] = False if held.nulls is None else held.nulls
        if isinstance(fresh, Strings):
            return Strings(codes=values, words=self.pool.words, nulls=nulls)
        return Column(self.types[i], values, nulls)

    def columns(self, places: Index) -> tuple[Column, ...]:
        """The values of all attributes in places."""
        return tuple(self.column(i, places) for i in range(len(self.types)))

    def events(self) -> dict[int, StreamEvent]:
        """All rows by place, as the reference holds them."""
        places = self.places.given_out()
        times = self.times[places].tolist()
        columns = [column.to_pylist() for column in self.columns(places)]
        rows = zip(*columns, strict=True) if columns else ((),) * len(times)
        return dict(zip(places.tolist(), map(StreamEvent, times, rows), strict=True))

    def add_event(self, event: StreamEvent) -> int:
        """Takes a row over from the reference; gives its place. Unfit for a time beyond reach."""
        check_time(event.timestamp_ms)
        columns = [
            from_values(type_, [value]) for type_, value in zip(self.types, event.data, strict=True)
        ]
        return int(self.add(columns, np.array([event.timestamp_ms], np.int64))[0])

    def copy(self, i: int, source: Longs, target: Longs) -> None:
        """An attribute of some places into others."""
        values, nulls = self._values[i].values, self._nulls[i]
        values[target] = values[source]
        if nulls is not None:
            nulls.values[target] = nulls.values[source]

    def raw(self, i: int) -> Array:
        """An attribute's array by place, as it lies in memory."""
        return self._values[i].values

    def text_columns(self) -> list[Array]:
        """The codes of all string columns, as they lie in memory."""
        return [
            values.values
            for type_, values in zip(self.types, self._values, strict=True)
            if type_ is AttributeType.STRING
        ]


def _dtype(type_: AttributeType) -> Any:
    return np.int32 if type_ is AttributeType.STRING else DTYPES[type_]
