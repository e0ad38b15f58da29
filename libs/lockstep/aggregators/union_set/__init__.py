"""unionSet(s): the members of all sets that are present, as a set of its own (semantics 6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lockstep.aggregators.contract import Copies
from lockstep.operators.errors import EventError
from lockstep.operators.limits import check_group
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.signatures import OBJECT, aggregator, gives


class UnionSet(Copies):
    """Counts in how many sets each member is."""

    __slots__ = ()

    def add(self, members: Iterable[Any] | None) -> None:
        for member in _members(members):
            self.take(member)
        check_group(len(self.inside), "unionSet")

    def remove(self, members: Iterable[Any] | None) -> None:
        for member in _members(members):
            self.drop(member)

    def value(self) -> frozenset[Any]:
        return frozenset(self.inside)


def _members(members: Any) -> Iterable[Any]:
    if members is None:
        return ()
    if not isinstance(members, (set, frozenset)):
        raise EventError(f"unionSet wants a set, not a {type(members).__name__}")
    return map(java.key, members)


EXTENSIONS = (
    aggregator(
        "unionSet",
        gives(OBJECT, Parameter("set", (OBJECT,))),
        doc="members of all sets",
        make=lambda arguments: UnionSet(),
    ),
)
