"""list:collect and list:merge: lists of what is present.

Every result is a list of its own: what holds it keeps what it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.aggregators.contract import Contents
from lockstep.functions.collected import keeper
from lockstep.functions.java_equality import contains, position
from lockstep.functions.list.meaning import items_of
from lockstep.operators.contract import PlainState
from lockstep.operators.limits import check_group
from lockstep.siddhiql.catalogue import Argument, Parameter
from lockstep.siddhiql.catalogue.signatures import BOOL, OBJECT, aggregator, gives


class _Items(Contents):
    """Values in order of arrival."""

    __slots__ = ()

    def take(self, value: Any, distinct: Any) -> None:
        """One more; with `distinct` only if it is not there yet."""
        if distinct is not True or not contains(self.inside, value):
            self.inside.append(value)

    def value(self) -> list[Any]:
        return list(self.inside)


class ListCollect(_Items):
    """The values; the oldest copy leaves first."""

    __slots__ = ("keep",)

    def __init__(self, arguments: Sequence[Argument]) -> None:
        super().__init__()
        self.keep = keeper(arguments[0])

    def add(self, value: Any, distinct: Any = False) -> None:
        self.take(self.keep(value), distinct)
        check_group(len(self.inside), "list:collect")

    def remove(self, value: Any, distinct: Any = False) -> None:
        at = position(self.inside, self.keep(value))
        if at >= 0:
            del self.inside[at]

    def restore(self, state: PlainState) -> None:
        # A snapshot of an older version holds floats as they came.
        super().restore(list(map(self.keep, state)))


class ListMerge(_Items):
    """The values of all lists; a list that leaves takes all copies of its values along."""

    __slots__ = ()

    def add(self, values: Any, distinct: Any = False) -> None:
        for value in items_of(values, "list:merge"):
            self.take(value, distinct)
        check_group(len(self.inside), "list:merge")

    def remove(self, values: Any, distinct: Any = False) -> None:
        gone = items_of(values, "list:merge")
        self.inside = [value for value in self.inside if not contains(gone, value)]


_DISTINCT = Parameter("is.distinct", (BOOL,), optional=True)

EXTENSIONS = (
    aggregator(
        "collect",
        gives(OBJECT, Parameter("value"), _DISTINCT),
        namespace="list",
        doc="the values as a list",
        make=ListCollect,
    ),
    aggregator(
        "merge",
        gives(OBJECT, Parameter("list", (OBJECT,)), _DISTINCT),
        namespace="list",
        doc="the values of all lists as one",
        make=lambda arguments: ListMerge(),
    ),
)
