"""distinctCount(x): how many different values; null is one (semantics 6)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from lockstep.aggregators.contract import Copies
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.aggregators import Kept
from lockstep.siddhiql.catalogue.signatures import LONG, NUMBER, STRING, aggregator, gives


def identity(value: Any) -> Hashable:
    """NaN is one value although it equals nothing; -0.0 is another than 0.0, as in Java."""
    if isinstance(value, float) and (value != value or value == 0.0):
        return repr(value)
    return value  # type: ignore[no-any-return]


class DistinctCount(Copies):
    """Counts the values that are present."""

    __slots__ = ()

    def add(self, value: Any) -> None:
        self.take(identity(value))

    def remove(self, value: Any) -> None:
        self.drop(identity(value))

    def value(self) -> int:
        return len(self.inside)


EXTENSIONS = (
    aggregator(
        "distinctCount",
        gives(LONG, Parameter("value", (*NUMBER, STRING))),
        doc="how many different values; null is one",
        make=lambda arguments: DistinctCount(),
        columns=f"{__name__}.columns",
        keeps=(Kept.DISTINCT,),
        examples=("distinctCount(k)",),
    ),
)
