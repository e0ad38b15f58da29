"""sum, avg and stdDev: nulls are ignored, results are null when nothing is left (semantics 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lockstep.aggregators.contract import Aggregator
from lockstep.events import AttributeType
from lockstep.operators.contract import PlainState
from lockstep.plan.java import wrap_long
from lockstep.siddhiql.catalogue import Argument

_INTEGERS = (AttributeType.INT, AttributeType.LONG)


class _Total:
    """A total and how many values are in it."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.total: float = 0
        self.count = 0

    def add(self, value: float | None) -> None:
        """See Aggregator."""
        if value is not None:
            self.total += value
            self.count += 1

    def remove(self, value: float | None) -> None:
        """See Aggregator. What rounding left behind goes with the last value."""
        if value is not None:
            self.count -= 1
            self.total = self.total - value if self.count else 0

    def reset(self) -> None:
        """See Aggregator."""
        self.total = 0
        self.count = 0

    def is_empty(self) -> bool:
        """See Aggregator."""
        return self.count == 0

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return (self.total, self.count)

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self.total, self.count = state


class SumOfIntegers(_Total):
    """A long: exact inside, wrapped where it is read, which is what wrapping at each step gives."""

    __slots__ = ()

    def value(self) -> int | None:
        """See Aggregator."""
        if self.count == 0:
            return None
        total = int(self.total)
        return total if -0x8000000000000000 <= total <= 0x7FFFFFFFFFFFFFFF else wrap_long(total)


class SumOfFloats(_Total):
    """A double."""

    __slots__ = ()

    def value(self) -> float | None:
        """See Aggregator."""
        return float(self.total) if self.count else None


class Average(_Total):
    """A double; totals of integers are exact."""

    __slots__ = ()

    def value(self) -> float | None:
        """See Aggregator."""
        return self.total / self.count if self.count else None


class DeviationOfIntegers:
    """Population standard deviation of integers, from exact sums."""

    __slots__ = ("_count", "_squares", "_total")

    def __init__(self) -> None:
        self.reset()

    def add(self, value: int | None) -> None:
        """See Aggregator."""
        if value is not None:
            self._count += 1
            self._total += value
            self._squares += value * value

    def remove(self, value: int | None) -> None:
        """See Aggregator."""
        if value is not None:
            self._count -= 1
            self._total -= value
            self._squares -= value * value

    def reset(self) -> None:
        """See Aggregator."""
        self._count = 0
        self._total = 0
        self._squares = 0

    def value(self) -> float | None:
        """See Aggregator."""
        count = self._count
        if count == 0:
            return None
        return math.sqrt((count * self._squares - self._total * self._total) / (count * count))

    def is_empty(self) -> bool:
        """See Aggregator."""
        return self._count == 0

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return (self._count, self._total, self._squares)

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self._count, self._total, self._squares = state


class DeviationOfFloats:
    """Population standard deviation by Welford's update, which values may also leave."""

    __slots__ = ("_count", "_mean", "_spread")

    def __init__(self) -> None:
        self._count = 0
        self._mean = 0.0
        self._spread = 0.0

    def add(self, value: float | None) -> None:
        """See Aggregator."""
        if value is None:
            return
        self._count += 1
        distance = value - self._mean
        self._mean += distance / self._count
        self._spread += distance * (value - self._mean)

    def remove(self, value: float | None) -> None:
        """See Aggregator."""
        if value is None:
            return
        self._count -= 1
        if self._count == 0:
            self.reset()
            return
        distance = value - self._mean
        self._mean -= distance / self._count
        self._spread -= distance * (value - self._mean)
        if self._spread < 0 or self._count == 1:
            self._spread = 0.0  # what rounding left: a spread is never negative, nor of one value

    def reset(self) -> None:
        """See Aggregator."""
        self._count = 0
        self._mean = 0.0
        self._spread = 0.0

    def value(self) -> float | None:
        """See Aggregator."""
        return math.sqrt(self._spread / self._count) if self._count else None

    def is_empty(self) -> bool:
        """See Aggregator."""
        return self._count == 0

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return (self._count, self._mean, self._spread)

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self._count, self._mean, self._spread = state


def build_sum(arguments: Sequence[Argument]) -> Aggregator:
    """sum(x)."""
    return SumOfIntegers() if arguments[0].type in _INTEGERS else SumOfFloats()


def build_average(arguments: Sequence[Argument]) -> Aggregator:
    """avg(x)."""
    return Average()


def build_deviation(arguments: Sequence[Argument]) -> Aggregator:
    """stdDev(x)."""
    return DeviationOfIntegers() if arguments[0].type in _INTEGERS else DeviationOfFloats()
