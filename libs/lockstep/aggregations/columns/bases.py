"""The base values of one granularity's slots: arrays by slot, fed by kernels in the order of
arrival, and as the reference keeps them (aggregations.meaning.columns)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.aggregations.columns import kernel as buckets
from lockstep.aggregations.columns.pair_ids import PairIds
from lockstep.aggregations.meaning.columns import extreme_of
from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import DTYPES, Array, Column, Mask, Strings, concat, from_values
from lockstep.columns.keys import KeySpace
from lockstep.columns.pool import StringPool
from lockstep.events import AttributeType
from lockstep.plan import java

Longs = npt.NDArray[np.int64]
NO_LONGS = np.zeros(0, np.int64)
_NO_FLAGS = np.zeros(0, np.bool_)


@dataclass(frozen=True, eq=False)
class Feed:
    """Events on their way into slots. `won` are the slots whose latest event is among these, and
    `winner` which it is; `before` which one it was in front of each event (-1: none of these), if
    that is wanted."""

    slots: Longs
    won: Longs
    winner: Longs
    before: Longs

    @property
    def traced(self) -> int:
        """For how many of the events it is kept what was in front of them: all or none."""
        return len(self.before)


class Base(Protocol):
    """One base value of all slots of a granularity."""

    def reserve(self, slots: int) -> None:
        """Makes room."""

    def fold(self, feed: Feed, argument: Any) -> None:
        """Takes events in; `argument` is what `Argument.of` made of the values."""

    def at(self, slots: Longs, events: Longs) -> Column:
        """The values that slots had in front of events of the feed; now, for events of -1."""

    def settle(self) -> None:
        """Nobody asks for what was in front of events any more."""

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
        self.settle()

    def reserve(self, slots: int) -> None:
        self._values, self._has = grown(self._values, slots), grown(self._has, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        value, valid = argument
        self._before = np.empty(feed.traced, self._dtype), np.empty(feed.traced, np.bool_)
        self._kernel(feed.slots, value, valid, self._values, self._has, *self._before)

    def at(self, slots: Longs, events: Longs) -> Column:
        values = _chosen(self._before[0], self._values, slots, events)
        has = _chosen(self._before[1], self._has, slots, events)
        type_ = AttributeType.LONG if self._dtype is np.int64 else AttributeType.DOUBLE
        return Column(type_, values, ~has)

    def settle(self) -> None:
        self._before = np.zeros(0, self._dtype), _NO_FLAGS

    def keep(self, kept: Longs) -> None:
        self._values, self._has = _kept(self._values, kept), _kept(self._has, kept)

    def store(self, slots: Longs) -> list[Any]:
        values: list[Any] = self._values[slots].tolist()
        for i in np.flatnonzero(~self._has[slots]).tolist():
            values[i] = None
        return values

    def load(self, values: Sequence[Any]) -> None:
        if self._kernel is not buckets.add:
            values = [extreme_of(value) for value in values]
        self.reserve(len(values))
        self._has[: len(values)] = [value is not None for value in values]
        self._values[: len(values)] = [0 if value is None else value for value in values]

    def text_columns(self) -> list[Array]:
        return []


class Count:
    """How many events."""

    def __init__(self) -> None:
        self._counts = NO_LONGS
        self._before = NO_LONGS

    def reserve(self, slots: int) -> None:
        self._counts = grown(self._counts, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        self._before = np.empty(feed.traced, np.int64)
        buckets.count(feed.slots, self._counts, self._before)

    def at(self, slots: Longs, events: Longs) -> Column:
        return Column(AttributeType.LONG, _chosen(self._before, self._counts, slots, events))

    def settle(self) -> None:
        self._before = NO_LONGS

    def keep(self, kept: Longs) -> None:
        self._counts = _kept(self._counts, kept)

    def store(self, slots: Longs) -> list[Any]:
        return list(self._counts[slots].tolist())

    def load(self, values: Sequence[Any]) -> None:
        self.reserve(len(values))
        self._counts[: len(values)] = values

    def text_columns(self) -> list[Array]:
        return []


class Distinct:
    """The different values: pairs of a slot and the number of a value in `space`, which all
    granularities share."""

    def __init__(self, space: KeySpace) -> None:
        self._space = space
        self._pairs = PairIds()
        self._sizes = NO_LONGS
        self._before = NO_LONGS

    def reserve(self, slots: int) -> None:
        self._sizes = grown(self._sizes, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        known = len(self._pairs)
        pair = self._pairs.claim(feed.slots, argument)
        self._before = np.empty(feed.traced, np.int64)
        buckets.count_pairs(feed.slots, pair, known, self._sizes, self._before)

    def at(self, slots: Longs, events: Longs) -> Column:
        return Column(AttributeType.LONG, _chosen(self._before, self._sizes, slots, events))

    def settle(self) -> None:
        self._before = NO_LONGS

    def keep(self, kept: Longs) -> None:
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
        found: list[set[Any]] = [set() for _ in range(len(self._sizes))]
        count, keys = len(self._pairs), self._space.keys
        pairs = self._pairs.first[:count].tolist(), self._pairs.second[:count].tolist()
        for slot, value in zip(*pairs, strict=True):
            found[slot].add(keys[value])
        return [found[slot] for slot in slots.tolist()]

    def load(self, values: Sequence[Any]) -> None:
        self.reserve(len(values))
        number = self._space.id_of
        values = [set(map(java.key, each)) for each in values]
        slots = np.repeat(np.arange(len(values)), [len(each) for each in values])
        self._pairs.claim(slots, [number(value) for each in values for value in each])
        self._sizes[: len(values)] = [len(each) for each in values]

    def text_columns(self) -> list[Array]:
        return []


class Latest:
    """The value of the latest event."""

    def __init__(self, type_: AttributeType, pool: StringPool) -> None:
        self._type = type_
        self._pool = pool
        is_text = type_ is AttributeType.STRING
        self._values: Array = np.zeros(0, np.int32 if is_text else DTYPES[type_])
        self._null = _NO_FLAGS
        self._trace: tuple[Feed, Column, Column] | None = None

    def reserve(self, slots: int) -> None:
        self._values, self._null = grown(self._values, slots), grown(self._null, slots)

    def fold(self, feed: Feed, argument: Any) -> None:
        if feed.traced:
            self._trace = feed, argument, self.column(feed.won)
        self._put(feed.won, argument.take(feed.winner))

    def at(self, slots: Longs, events: Longs) -> Column:
        now = self.column(slots)
        if self._trace is None or not len(slots):
            return now
        # Of three columns, one behind the other: as it is now, the arguments, as it was.
        feed, arguments, was = self._trace
        count = len(slots)
        index = np.arange(count, dtype=np.int64)
        earlier = np.flatnonzero(events >= 0)
        winner = feed.before[events[earlier]]
        place = np.searchsorted(feed.won, slots[earlier]) + count + len(arguments)
        # What no event of the slice has changed is as it is now.
        changed = winner >= 0
        index[earlier[changed]] = winner[changed] + count
        rest = earlier[~changed]
        known = np.isin(slots[rest], feed.won)
        index[rest[known]] = place[~changed][known]
        return concat([now, arguments, was]).take(index)

    def settle(self) -> None:
        self._trace = None

    def _put(self, slots: Any, column: Column) -> None:
        if isinstance(column, Strings):
            column = self._pool.adopt(column)
        self._values[slots] = column.values
        self._null[slots] = False if column.nulls is None else column.nulls

    def keep(self, kept: Longs) -> None:
        self._values, self._null = _kept(self._values, kept), _kept(self._null, kept)

    def column(self, slots: Longs) -> Column:
        """The values of slots."""
        nulls: Mask = self._null[slots]
        if self._type is AttributeType.STRING:
            return Strings(codes=self._values[slots], words=self._pool.words, nulls=nulls)
        return Column(self._type, self._values[slots], nulls)

    def store(self, slots: Longs) -> list[Any]:
        return self.column(slots).to_pylist()

    def load(self, values: Sequence[Any]) -> None:
        self.reserve(len(values))
        if values:
            self._put(np.arange(len(values)), from_values(self._type, values))

    def text_columns(self) -> list[Array]:
        return [self._values] if self._type is AttributeType.STRING else []


def _chosen(before: Array, now: Array, slots: Longs, events: Longs) -> Array:
    """What was in front of events, or is now."""
    if not len(before):
        return now[slots]
    return np.where(events >= 0, before[events], now[slots])


def _kept(values: Array, kept: Longs) -> Array:
    """The values of some slots; what is behind them is as in new slots."""
    found = np.zeros(len(values), values.dtype)
    found[: len(kept)] = values[kept]
    return found
