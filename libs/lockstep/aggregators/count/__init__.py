"""count() and count(x): events, whether x is null or not (semantics 6)."""

from __future__ import annotations

from typing import Any

from lockstep.aggregators.contract import Fields
from lockstep.operators.contract import PlainState
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.aggregators import Kept
from lockstep.siddhiql.catalogue.signatures import LONG, aggregator, gives


class Count(Fields):
    """How many events are present."""

    fields = (("count", 0),)
    __slots__ = ("count",)

    def add(self, *values: Any) -> None:
        self.count += 1

    def remove(self, *values: Any) -> None:
        self.count -= 1

    def value(self) -> int:
        return self.count

    def snapshot(self) -> PlainState:
        return self.count

    def restore(self, state: PlainState) -> None:
        self.count = state


EXTENSIONS = (
    aggregator(
        "count",
        gives(LONG),
        gives(LONG, Parameter("value")),
        doc="how many events, nulls counted too",
        make=lambda arguments: Count(),
        columns=f"{__name__}.columns",
        keeps=(Kept.COUNT,),
        examples=("count()",),
    ),
)
