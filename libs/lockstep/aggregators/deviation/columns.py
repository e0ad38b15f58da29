"""stdDev in columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import (
    DOUBLE,
    EXACT_DOUBLE,
    WHOLE,
    Chosen,
    Feed,
    Grouped,
    Leaves,
    numbers,
)
from lockstep.aggregators.deviation import kernel
from lockstep.columns.column import Column, Unfit
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType


class FloatDeviations(Grouped):
    """stdDev(x) of floating values."""

    names = (("count", np.int64), ("mean", np.float64), ("spread", np.float64))

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        (argument,) = arguments
        value, valid = numbers(argument, np.float64)
        self._spread = np.empty(len(value), np.float64)
        self._count = np.zeros(len(value), np.int64)
        own = (self.arrays["count"], self.arrays["mean"], self.arrays["spread"])
        kernel.run_float_deviations(
            *self._marked(feed), value, valid, *own, self._spread, self._count
        )

    def result(self, name: str) -> Column:
        with np.errstate(all="ignore"):
            return Column(DOUBLE, np.sqrt(self._spread / self._count), self._count <= 0)


class IntegerDeviations(Grouped):
    """stdDev(x) of whole numbers."""

    names = (("count", np.int64), ("total", np.int64), ("squares", np.int64))

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        (argument,) = arguments
        value, valid = numbers(argument, np.int64)
        self._outs = [np.zeros(len(value), np.int64) for _ in range(3)]
        own = (self.arrays["count"], self.arrays["total"], self.arrays["squares"])
        if not kernel.run_integer_deviations(*self._marked(feed), value, valid, *own, *self._outs):
            raise Unfit("squares beyond 2^62")

    def result(self, name: str) -> Column:
        count, total, squares = self._outs
        nulls = count <= 0
        scaled = count.astype(np.float64)
        sums = scaled * squares, total.astype(np.float64) ** 2, scaled * scaled
        with np.errstate(all="ignore"):
            found = np.sqrt(np.maximum(count * squares - total * total, 0) / (count * count))
        large = np.maximum(np.maximum(sums[0], sums[1]), sums[2]) >= EXACT_DOUBLE
        for i in np.flatnonzero(large & ~nulls).tolist():
            n, t, q = int(count[i]), int(total[i]), int(squares[i])
            found[i] = math.sqrt(max(n * q - t * t, 0) / (n * n))
        return Column(DOUBLE, found, nulls)

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        if any(max(abs(total), squares) > 2**62 for _, total, squares in states):
            raise Unfit("squares beyond 2^62")
        super().load(groups, states)


def choose(name: str, types: Sequence[AttributeType], leaves: Leaves) -> Chosen:
    """See Choose."""
    return Chosen("deviation", IntegerDeviations if types[0] in WHOLE else FloatDeviations)
