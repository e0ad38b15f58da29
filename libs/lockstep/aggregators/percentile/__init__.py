"""`math:percentile(x, p)`: the p-th percentile of the values that are present."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from lockstep.operators.contract import PlainState
from lockstep.siddhiql.catalogue import Argument, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import DOUBLE, NUMBER, aggregator


class Percentile:
    """Keeps the values sorted. Nulls are ignored; null when nothing is left.

    The rank is p * n / 100. A whole rank gives the mean of the value there and the one behind it,
    any other the value at the nearest rank.
    """

    __slots__ = ("_percentile", "_values")

    def __init__(self, percentile: float) -> None:
        self._percentile = percentile
        self._values: list[float] = []

    def add(self, value: float | None, _percentile: float | None = None) -> None:
        if value is not None:
            bisect.insort(self._values, float(value))

    def remove(self, value: float | None, _percentile: float | None = None) -> None:
        if value is None:
            return
        at = bisect.bisect_left(self._values, value)
        if at < len(self._values) and self._values[at] == value:
            del self._values[at]

    def reset(self) -> None:
        self._values.clear()

    def value(self) -> float | None:
        values = self._values
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

    def is_empty(self) -> bool:
        return not self._values

    def snapshot(self) -> PlainState:
        return list(self._values)

    def restore(self, state: PlainState) -> None:
        self._values = list(state)


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
