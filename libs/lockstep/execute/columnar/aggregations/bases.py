"""The base values of one granularity's slots: arrays by slot, fed by kernels in the order of
arrival, and as the reference keeps them (operators.aggregations.columns)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.events import AttributeType
from lockstep.execute.columnar.accumulators import grown, numbers
from lockstep.execute.columnar.aggregations.pair_ids import PairIds
from lockstep.execute.columnar.column import (
    DTYPES,
    Array,
    Column,
    Mask,
    Strings,
    Unfit,
    from_values,
)
from lockstep.execute.columnar.kernels import buckets
from lockstep.execute.columnar.keys import KeySpace, value_names
from lockstep.execute.columnar.pool import StringPool
from lockstep.operators.aggregations.columns import Kind

Longs = npt.NDArray[np.int64]
NO_LONGS = np.zeros(0, np.int64)
_NO_FLAGS = np.zeros(0, np.bool_)
_WHOLE = (AttributeType.INT, AttributeType.LONG)


@dataclass(frozen=True, eq=False)
class Feed:
    """Events on their way into slots: the slot of each is `slot_of[cell]`; `latest` tells the slots
    whose latest event is among these, and which it is."""

    cell: Longs
    slot_of: Longs
    latest: tuple[Longs, Longs]

    def __len__(self) -> int:
        return len(self.cell)


class Base(Protocol):
    """One base value of all slots of a granularity."""

    def reserve(self, slots: int) -> None:
        """Makes room."""

    def fold(self, feed: Feed, argument: Any) -> None:
        """Takes events in; `argument` is what `Argument.of` made of the values."""

    def keep(self, kept: Longs) -> None:
        """Only these slots are left, numbered anew in their order."""

    def store(self, slots: Longs) -> list[Any]:
        """The values as the reference keeps them."""

    def load(self, values: Sequence[Any]) -> None:
        """Takes over what `store` gave, for slots 0, 1, …"""

    def text_columns(self) -> list[Array]:
        """The arrays of string codes that it keeps."""


class Number:
    """A sum, or the least or greatest value: null until there was one."""

    def __init__(self, kernel: Any, dtype: Any) -> None:
        self._kernel = kernel
        self._dtype = dtype
        self._values = np.zeros(0, dtype)
        self._has = _NO_FLAGS

    def reserve(self, slots: int) -> None:
        """See Base."""
        self._values, self._has = grown(self._values, slots), grown(self._has, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        """See Base."""
        value, valid = argument
        nowhere = np.zeros(0, self._dtype), _NO_FLAGS
        self._kernel(feed.cell, feed.slot_of, value, valid, self._values, self._has, *nowhere)

    def keep(self, kept: Longs) -> None:
        """See Base."""
        self._values, self._has = _kept(self._values, kept), _kept(self._has, kept)

    def store(self, slots: Longs) -> list[Any]:
        """See Base."""
        values: list[Any] = self._values[slots].tolist()
        for i in np.flatnonzero(~self._has[slots]).tolist():
            values[i] = None
        return values

    def load(self, values: Sequence[Any]) -> None:
        """See Base."""
        self.reserve(len(values))
        self._has[: len(values)] = [value is not None for value in values]
        self._values[: len(values)] = [0 if value is None else value for value in values]

    def text_columns(self) -> list[Array]:
        """See Base."""
        return []


class Count:
    """How many events."""

    def __init__(self) -> None:
        self._counts = NO_LONGS

    def reserve(self, slots: int) -> None:
        """See Base."""
        self._counts = grown(self._counts, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        """See Base."""
        buckets.count(feed.cell, feed.slot_of, self._counts, NO_LONGS)

    def keep(self, kept: Longs) -> None:
        """See Base."""
        self._counts = _kept(self._counts, kept)

    def store(self, slots: Longs) -> list[Any]:
        """See Base."""
        return list(self._counts[slots].tolist())

    def load(self, values: Sequence[Any]) -> None:
        """See Base."""
        self.reserve(len(values))
        self._counts[: len(values)] = values

    def text_columns(self) -> list[Array]:
        """See Base."""
        return []


class Distinct:
    """The different values: pairs of a slot and the number of a value in `space`, which all
    granularities share."""

    def __init__(self, space: KeySpace) -> None:
        self._space = space
        self._pairs = PairIds()
        self._sizes = NO_LONGS

    def reserve(self, slots: int) -> None:
        """See Base."""
        self._sizes = grown(self._sizes, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        """See Base."""
        slot, known = feed.slot_of[feed.cell], len(self._pairs)
        pair = self._pairs.claim(slot, argument)
        buckets.count_pairs(slot, pair, known, self._sizes, NO_LONGS)

    def keep(self, kept: Longs) -> None:
        """See Base."""
        moved = np.full(max(len(self._sizes), 1), -1, np.int64)
        moved[kept] = np.arange(len(kept))
        slots = moved[self._pairs.first[: len(self._pairs)]]
        left = np.flatnonzero(slots >= 0)
        self._pairs.keep(left, slots[left])
        self._sizes = _kept(self._sizes, kept)

    def used(self) -> Longs:
        """The numbers of all values that are held."""
        return self._pairs.second[: len(self._pairs)]

    def renumber(self, moved: Longs) -> None:
        """Values have new numbers."""
        self._pairs.rename_second(moved)

    def store(self, slots: Longs) -> list[Any]:
        """See Base."""
        found: list[set[Any]] = [set() for _ in range(len(self._sizes))]
        count, keys = len(self._pairs), self._space.keys
        pairs = self._pairs.first[:count].tolist(), self._pairs.second[:count].tolist()
        for slot, value in zip(*pairs, strict=True):
            found[slot].add(keys[value])
        return [found[slot] for slot in slots.tolist()]

    def load(self, values: Sequence[Any]) -> None:
        """See Base."""
        self.reserve(len(values))
        number = self._space.id_of
        slots = np.repeat(np.arange(len(values)), [len(each) for each in values])
        _refuse_nan(value for each in values for value in each)
        self._pairs.claim(slots, [number(value) for each in values for value in each])
        self._sizes[: len(values)] = [len(each) for each in values]

    def text_columns(self) -> list[Array]:
        """See Base."""
        return []


class Latest:
    """The value of the latest event."""

    def __init__(self, type_: AttributeType, pool: StringPool) -> None:
        self._type = type_
        self._pool = pool
        is_text = type_ is AttributeType.STRING
        self._values: Array = np.zeros(0, np.int32 if is_text else DTYPES[type_])
        self._null = _NO_FLAGS

    def reserve(self, slots: int) -> None:
        """See Base."""
        self._values, self._null = grown(self._values, slots), grown(self._null, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        """See Base."""
        slots, events = feed.latest
        self._put(slots, argument.take(events))

    def _put(self, slots: Any, column: Column) -> None:
        if isinstance(column, Strings):
            column = self._pool.adopt(column)
        self._values[slots] = column.values
        self._null[slots] = False if column.nulls is None else column.nulls

    def keep(self, kept: Longs) -> None:
        """See Base."""
        self._values, self._null = _kept(self._values, kept), _kept(self._null, kept)

    def column(self, slots: Longs) -> Column:
        """The values of slots."""
        nulls: Mask = self._null[slots]
        if self._type is AttributeType.STRING:
            return Strings(codes=self._values[slots], words=self._pool.words, nulls=nulls)
        return Column(self._type, self._values[slots], nulls)

    def store(self, slots: Longs) -> list[Any]:
        """See Base."""
        return self.column(slots).to_pylist()

    def load(self, values: Sequence[Any]) -> None:
        """See Base."""
        self.reserve(len(values))
        if values:
            self._put(np.arange(len(values)), from_values(self._type, values))

    def text_columns(self) -> list[Array]:
        """See Base."""
        return [self._values] if self._type is AttributeType.STRING else []


def _kept(values: Array, kept: Longs) -> Array:
    """The values of some slots; what is behind them is as in new slots."""
    found = np.zeros(len(values), values.dtype)
    found[: len(kept)] = values[kept]
    return found


def _refuse_nan(values: Any) -> None:
    if any(value != value for value in values):
        raise Unfit("a NaN among the values of distinctCount")


class Argument:
    """What one base value takes of each event. `type` is None for count(), which takes nothing."""

    FORGET_MIN = 4096
    """Values of distinctCount that come on top of those once found in use before they are looked
    through again."""

    def __init__(self, kind: Kind, type_: AttributeType | None, pool: StringPool) -> None:
        self.kind = kind
        self._type = type_
        self._pool = pool
        self._space = KeySpace()
        self._used = 0

    def new(self) -> Base:
        """The base value for a further granularity."""
        match self.kind:
            case Kind.COUNT:
                return Count()
            case Kind.DISTINCT:
                return Distinct(self._space)
            case Kind.LATEST:
                assert self._type is not None
                return Latest(self._type, self._pool)
        kernels = {Kind.LEAST: buckets.least, Kind.GREATEST: buckets.greatest}
        return Number(kernels.get(self.kind, buckets.add), self._dtype)

    @property
    def _dtype(self) -> Any:
        return np.int64 if self._type in _WHOLE else np.float64

    def of(self, column: Column) -> Any:
        """The values as `Base.fold` takes them; Unfit for a NaN among different values."""
        match self.kind:
            case Kind.COUNT:
                return None
            case Kind.LATEST:
                return column
            case Kind.DISTINCT:
                codes, keys = value_names(column)
                if column.values.dtype.kind == "f":
                    _refuse_nan(keys)
                return self._space.assign(codes, keys)
        return numbers(column, self._dtype)

    def settle(self, bases: Sequence[Base]) -> None:
        """The slice is done: values that no granularity holds any more may be forgotten."""
        if len(self._space) <= 2 * self._used + self.FORGET_MIN:
            return
        live = np.zeros(len(self._space), np.bool_)
        own = [base for base in bases if isinstance(base, Distinct)]
        for base in own:
            live[base.used()] = True
        self._used = int(live.sum())
        if 2 * self._used < len(live):
            moved = self._space.compact(live)
            for base in own:
                base.renumber(moved)
