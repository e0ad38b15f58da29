"""Running values of one kind for all groups of a query: arrays by group, fed by a kernel.

Each accumulator serves all calls with the same argument. Its states are converted to and from the
reference's, aggregator by aggregator (`store` and `load`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.aggregators import totals_kernel as totals
from lockstep.columns.column import Array, Column, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType

Longs = npt.NDArray[np.int64]
LONG, DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
EXACT_DOUBLE = 2**53


@dataclass(frozen=True, eq=False)
class Feed:
    """The events of a flow as accumulators take them; `place` only where rows leave one by one."""

    kind: npt.NDArray[np.int8]
    group: Ids
    realm: Ids
    place: Longs | None


class Accumulator(Protocol):
    """Running values by group."""

    def reserve(self, groups: int, realms: int, places: int) -> None:
        """Makes room."""

    def run(self, feed: Feed, argument: Column | None) -> None:
        """Feeds events; the results are those of this flow until the next one."""

    def result(self, name: str) -> Column:
        """The running value, by the aggregator's name, at each event of the last flow."""

    def live(self) -> npt.NDArray[np.bool_]:
        """Which groups are not empty."""

    def move(self, moved: Ids, groups: int) -> None:
        """Groups got new ids (-1: gone)."""

    def store(self, groups: Ids) -> list[Any]:
        """The states of groups as the reference's aggregator has them."""

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """Takes over what `store` gave."""


def grown(values: Array, length: int, fill: Any = 0) -> Array:
    """The array with room for `length` values."""
    if len(values) >= length:
        return values
    bigger = np.full(max(length, 2 * len(values), 64), fill, values.dtype)
    bigger[: len(values)] = values
    return bigger


class Grouped:
    """What the accumulators share: arrays by group, and marks that empty a realm's groups."""

    names: tuple[tuple[str, Any], ...] = ()
    """The arrays by group, with their types."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {name: np.zeros(0, dtype) for name, dtype in self.names}
        self.emptied = np.zeros(0, np.int64)
        self.epochs = np.zeros(0, np.int64)
        self.realm_of = np.zeros(0, np.int64)
        self.groups = 0

    def reserve(self, groups: int, realms: int, places: int) -> None:
        """See Accumulator."""
        self.groups = groups
        self.epochs = grown(self.epochs, max(realms, 1))
        self.emptied = grown(self.emptied, max(groups, 1))
        self.realm_of = grown(self.realm_of, max(groups, 1))
        for name, values in self.arrays.items():
            self.arrays[name] = grown(values, max(groups, 1))

    def _marked(self, feed: Feed) -> tuple[Any, ...]:
        self.realm_of[feed.group] = feed.realm
        return (feed.kind, feed.group, feed.realm, self.epochs, self.emptied)

    def fresh(self) -> npt.NDArray[np.bool_]:
        """Groups that no mark has emptied since they were used."""
        n = self.groups
        found: npt.NDArray[np.bool_] = self.emptied[:n] == self.epochs[self.realm_of[:n]]
        return found

    def live(self) -> npt.NDArray[np.bool_]:
        """See Accumulator."""
        filled: npt.NDArray[np.bool_] = self.arrays["count"][: self.groups] != 0
        return self.fresh() & filled

    def move(self, moved: Ids, groups: int) -> None:
        """See Accumulator."""
        kept = np.flatnonzero(moved >= 0)
        to = moved[kept]
        for name, values in self.arrays.items():
            new = np.zeros_like(values)
            new[to] = values[kept]
            self.arrays[name] = new
        for name in ("emptied", "realm_of"):
            values = getattr(self, name)
            new = np.zeros_like(values)
            new[to] = values[kept]
            setattr(self, name, new)
        # New groups must not find a count that an old one left behind.
        self.emptied[groups:] = 0
        self.groups = groups

    def _at(self, groups: Ids, *names: str) -> list[list[Any]]:
        """The groups' values as Python numbers, an array at a time; zeros for those emptied."""
        gone = np.flatnonzero(self.emptied[groups] != self.epochs[self.realm_of[groups]])
        found = []
        for name in names:
            values = self.arrays[name][groups]
            values[gone] = 0
            found.append(values.tolist())
        return found

    def _put(self, groups: Ids, **values: Any) -> None:
        for name, value in values.items():
            self.arrays[name][groups] = value
        self.emptied[groups] = self.epochs[self.realm_of[groups]]


def columns_of_states(states: Sequence[Any], count: int) -> list[list[Any]]:
    """The parts of states that are tuples, part by part."""
    return [[state[i] for state in states] for i in range(count)]


def numbers(column: Column, dtype: Any) -> tuple[Array, npt.NDArray[np.bool_]]:
    """(values, which of them are no nulls) as kernels take them."""
    valid = np.ones(len(column), np.bool_) if column.nulls is None else ~column.nulls
    return plain(column.values, dtype), valid


class Counts(Grouped):
    """count(): nulls count too."""

    names = (("count", np.int64),)

    def run(self, feed: Feed, argument: Column | None) -> None:
        """See Accumulator."""
        self._out = np.empty(len(feed.kind), np.int64)
        totals.run_counts(*self._marked(feed), self.arrays["count"], self._out)

    def result(self, name: str) -> Column:
        """See Accumulator."""
        return Column(LONG, self._out)

    def store(self, groups: Ids) -> list[Any]:
        """See Accumulator."""
        return self._at(groups, "count")[0]

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """See Accumulator."""
        self._put(groups, count=states)


class Totals(Grouped):
    """sum(x) and avg(x); whole numbers are added exactly."""

    def __init__(self, *, whole: bool) -> None:
        self._dtype: Any = np.int64 if whole else np.float64
        self.whole = whole
        self.names = (("total", self._dtype), ("count", np.int64))
        super().__init__()

    def run(self, feed: Feed, argument: Column | None) -> None:
        """See Accumulator."""
        assert argument is not None
        value, valid = numbers(argument, self._dtype)
        self._total = np.empty(len(value), self._dtype)
        self._count = np.zeros(len(value), np.int64)
        kernel = totals.run_integer_totals if self.whole else totals.run_float_totals
        arrays = (self.arrays["total"], self.arrays["count"], self._total, self._count)
        if kernel(*self._marked(feed), value, valid, *arrays) is False:
            raise Unfit("a total beyond 2^62")

    def result(self, name: str) -> Column:
        """See Accumulator."""
        nulls = self._count == 0
        if name == "sum":
            return Column(LONG if self.whole else DOUBLE, self._total, nulls)
        with np.errstate(all="ignore"):
            mean = self._total / self._count
        if self.whole:
            # Python divides whole numbers exactly, a double only below 2^53.
            for i in np.flatnonzero(~nulls & (np.abs(self._total) >= EXACT_DOUBLE)).tolist():
                mean[i] = int(self._total[i]) / int(self._count[i])
        return Column(DOUBLE, mean, nulls)

    def store(self, groups: Ids) -> list[Any]:
        """See Accumulator."""
        return list(zip(*self._at(groups, "total", "count"), strict=True))

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """See Accumulator."""
        total, count = columns_of_states(states, 2)
        if self.whole and any(abs(each) > 2**62 for each in total):
            raise Unfit("a total beyond 2^62")
        self._put(groups, total=total, count=count)


class FloatDeviations(Grouped):
    """stdDev(x) of floating values."""

    names = (("count", np.int64), ("mean", np.float64), ("spread", np.float64))

    def run(self, feed: Feed, argument: Column | None) -> None:
        """See Accumulator."""
        assert argument is not None
        value, valid = numbers(argument, np.float64)
        self._spread = np.empty(len(value), np.float64)
        self._count = np.zeros(len(value), np.int64)
        own = (self.arrays["count"], self.arrays["mean"], self.arrays["spread"])
        totals.run_float_deviations(
            *self._marked(feed), value, valid, *own, self._spread, self._count
        )

    def result(self, name: str) -> Column:
        """See Accumulator."""
        with np.errstate(all="ignore"):
            return Column(DOUBLE, np.sqrt(self._spread / self._count), self._count == 0)

    def store(self, groups: Ids) -> list[Any]:
        """See Accumulator."""
        return list(zip(*self._at(groups, "count", "mean", "spread"), strict=True))

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """See Accumulator."""
        count, mean, spread = columns_of_states(states, 3)
        self._put(groups, count=count, mean=mean, spread=spread)


class IntegerDeviations(Grouped):
    """stdDev(x) of whole numbers."""

    names = (("count", np.int64), ("total", np.int64), ("squares", np.int64))

    def run(self, feed: Feed, argument: Column | None) -> None:
        """See Accumulator."""
        assert argument is not None
        value, valid = numbers(argument, np.int64)
        self._outs = [np.zeros(len(value), np.int64) for _ in range(3)]
        own = (self.arrays["count"], self.arrays["total"], self.arrays["squares"])
        if not totals.run_integer_deviations(*self._marked(feed), value, valid, *own, *self._outs):
            raise Unfit("squares beyond 2^62")

    def result(self, name: str) -> Column:
        """See Accumulator."""
        count, total, squares = self._outs
        nulls = count == 0
        scaled = count.astype(np.float64)
        sums = scaled * squares, total.astype(np.float64) ** 2, scaled * scaled
        with np.errstate(all="ignore"):
            found = np.sqrt((count * squares - total * total) / (count * count))
        large = np.maximum(np.maximum(sums[0], sums[1]), sums[2]) >= EXACT_DOUBLE
        for i in np.flatnonzero(large & ~nulls).tolist():
            n, t, q = int(count[i]), int(total[i]), int(squares[i])
            found[i] = math.sqrt((n * q - t * t) / (n * n))
        return Column(DOUBLE, found, nulls)

    def store(self, groups: Ids) -> list[Any]:
        """See Accumulator."""
        return list(zip(*self._at(groups, "count", "total", "squares"), strict=True))

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """See Accumulator."""
        count, total, squares = columns_of_states(states, 3)
        if any(max(abs(one), two) > 2**62 for one, two in zip(total, squares, strict=True)):
            raise Unfit("squares beyond 2^62")
        self._put(groups, count=count, total=total, squares=squares)
