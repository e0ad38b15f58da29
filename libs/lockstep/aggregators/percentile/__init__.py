"""`math:percentile(x, p)`: the p-th percentile of the values that are present."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from lockstep.aggregators.contract import Contents
from lockstep.siddhiql.catalogue import Argument, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import DOUBLE, NUMBER, aggregator


class Percentile(Contents):
    """Keeps the values sorted. Nulls are ignored; null when nothing is left.

    The rank is p * n / 100. A whole rank gives the mean of the value there and the one behind it,
    any other the value at the nearest rank.
    """

    __slots__ = ("_percentile",)

    def __init__(self, percentile: float) -> None:
        super().__init__()
        self._percentile = percentile

    def add(self, value: float | None, _percentile: float | None = None) -> None:
        if value is not None:
            bisect.insort(self.inside, float(value))

    def remove(self, value: float | None, _percentile: float | None = None) -> None:
        if value is None:
            return
        at = bisect.bisect_left(self.inside, value)
        if at < len(self.inside) and self.inside[at] == value:
            del self.inside[at]

    def value(self) -> float | None:
        values: list[float] = self.inside
        if not values:
            return None
        rank = self._percentile * len(values) / 100
        whole = int(rank)
        if rank == whole:
            if whole == len(values):
                return values[-1]
            return (values[whole - 1] + values[whole]) / 2
        nearest = int(rank + 0.5)
        return values[max(nearest - 1, 0)]


def _percentage(arguments: Sequence[Argument]) -> None:
    if not 0 < float(arguments[1].value) <= 100:
        raise SignatureError(f"{arguments[1].value} is no percentile", hint="0 < p <= 100")


_TAKES = (Parameter("x", NUMBER), Parameter("p", (DOUBLE,), constant=True))

EXTENSIONS = (
    aggregator(
        "percentile",
        Overload(_TAKES, DOUBLE, check=_percentage),
        namespace="math",
        doc="the p-th percentile of the values present",
        make=lambda arguments: Percentile(float(arguments[1].value)),
    ),
)
