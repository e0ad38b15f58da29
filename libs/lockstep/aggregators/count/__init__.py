"""count() and count(x): events, whether x is null or not (semantics 6)."""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import PlainState
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.aggregators import Kept
from lockstep.siddhiql.catalogue.signatures import LONG, aggregator, gives


class Count:
    """How many events are present."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def add(self, *values: Any) -> None:
        self._count += 1

    def remove(self, *values: Any) -> None:
        self._count -= 1

    def reset(self) -> None:
        self._count = 0

    def value(self) -> int:
        return self._count

    def is_empty(self) -> bool:
        return self._count == 0

    def snapshot(self) -> PlainState:
        return self._count

    def restore(self, state: PlainState) -> None:
        self._count = state


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
