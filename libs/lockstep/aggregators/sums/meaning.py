"""A total and how many values are in it."""

from __future__ import annotations

from lockstep.aggregators.contract import Fields
from lockstep.plan.java import wrap_long


class _Total(Fields):
    fields = (("total", 0), ("count", 0))
    __slots__ = ("count", "total")
    total: float

    def add(self, value: float | None) -> None:
        if value is not None:
            self.count += 1
            self.total = self.total + value if self.count else 0

    def remove(self, value: float | None) -> None:
        """See Aggregator. What rounding left behind goes with the last value."""
        if value is not None:
            self.count -= 1
            self.total = self.total - value if self.count else 0


class SumOfIntegers(_Total):
    """A long: exact inside, wrapped where it is read, which is what wrapping at each step gives."""

    __slots__ = ()

    def value(self) -> int | None:
        if self.count == 0:
            return None
        total = int(self.total)
        return total if -0x8000000000000000 <= total <= 0x7FFFFFFFFFFFFFFF else wrap_long(total)


class SumOfFloats(_Total):
    """A double."""

    __slots__ = ()

    def value(self) -> float | None:
        return float(self.total) if self.count else None


class Average(_Total):
    """A double; totals of integers are exact."""

    __slots__ = ()

    def value(self) -> float | None:
        return self.total / self.count if self.count else None
