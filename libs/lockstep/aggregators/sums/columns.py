"""sum and avg in columns: one accumulator for both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import (
    DOUBLE,
    EXACT_DOUBLE,
    LONG,
    WHOLE,
    Chosen,
    Feed,
    Grouped,
    Leaves,
    numbers,
)
from lockstep.aggregators.sums import kernel
from lockstep.columns.column import Column, Unfit
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType


class Totals(Grouped):
    """sum(x) and avg(x); whole numbers are added exactly."""

    def __init__(self, *, whole: bool) -> None:
        self._dtype: Any = np.int64 if whole else np.float64
        self.whole = whole
        self.names = (("total", self._dtype), ("count", np.int64))
        super().__init__()

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        (argument,) = arguments
        value, valid = numbers(argument, self._dtype)
        self._total = np.empty(len(value), self._dtype)
        self._count = np.zeros(len(value), np.int64)
        own = (self.arrays["total"], self.arrays["count"], self._total, self._count)
        if not kernel.run_totals(*self._marked(feed), value, valid, self.whole, *own):
            raise Unfit("a total beyond 2^62")

    def result(self, name: str) -> Column:
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

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        if self.whole and any(abs(total) > 2**62 for total, _ in states):
            raise Unfit("a total beyond 2^62")
        super().load(groups, states)


def choose(name: str, types: Sequence[AttributeType], leaves: Leaves) -> Chosen:
    """See Choose."""
    return Chosen("total", lambda: Totals(whole=types[0] in WHOLE))
