"""The standard deviation of the values that are present."""

from __future__ import annotations

import math

from lockstep.aggregators.contract import Fields


class DeviationOfIntegers(Fields):
    """Population standard deviation of integers, from exact sums."""

    fields = (("count", 0), ("total", 0), ("squares", 0))
    __slots__ = ("count", "squares", "total")
    total: int
    squares: int

    def add(self, value: int | None) -> None:
        if value is not None:
            self.count += 1
            self.total += value
            self.squares += value * value

    def remove(self, value: int | None) -> None:
        if value is not None:
            self.count -= 1
            self.total -= value
            self.squares -= value * value

    def value(self) -> float | None:
        count = self.count
        if count <= 0:
            return None
        spread = count * self.squares - self.total * self.total
        return math.sqrt(max(spread, 0) / (count * count))


class DeviationOfFloats(Fields):
    """Population standard deviation by Welford's update, which values may also leave."""

    fields = (("count", 0), ("mean", 0.0), ("spread", 0.0))
    __slots__ = ("count", "mean", "spread")
    mean: float
    spread: float

    def add(self, value: float | None) -> None:
        if value is None:
            return
        self.count += 1
        if self.count == 0:  # it has left already, and was the last
            self.reset()
            return
        distance = value - self.mean
        self.mean += distance / self.count
        self.spread += distance * (value - self.mean)

    def remove(self, value: float | None) -> None:
        if value is None:
            return
        self.count -= 1
        if self.count == 0:
            self.reset()
            return
        distance = value - self.mean
        self.mean -= distance / self.count
        self.spread -= distance * (value - self.mean)
        if self.spread < 0 or self.count == 1:
            self.spread = 0.0  # what rounding left: a spread is never negative, nor of one value

    def value(self) -> float | None:
        if self.count <= 0:
            return None
        # Near the ends of a double the spread overflows, to either side.
        variance = self.spread / self.count
        return math.sqrt(variance) if variance >= 0 else math.nan
