"""and(b) and or(b): what is true of all events that are present (semantics 6)."""

from __future__ import annotations

from lockstep.aggregators.contract import Fields
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.signatures import BOOL, aggregator, gives


class _Truths(Fields):
    """How many true and how many false values are present; null is refused."""

    fields = (("trues", 0), ("falses", 0))
    __slots__ = ("falses", "trues")
    trues: int
    falses: int

    def add(self, value: bool | None) -> None:
        self._count(value, 1)

    def remove(self, value: bool | None) -> None:
        self._count(value, -1)

    def _count(self, value: bool | None, step: int) -> None:
        if value is None:
            raise EventError("and/or take no null", hint="use default(x, false)")
        if value:
            self.trues += step
        else:
            self.falses += step

    def is_empty(self) -> bool:
        return self.trues == 0 and self.falses == 0


class AllTrue(_Truths):
    """and(b): false when nothing is left."""

    __slots__ = ()

    def value(self) -> bool:
        return self.trues > 0 and self.falses == 0


class AnyTrue(_Truths):
    """or(b)."""

    __slots__ = ()

    def value(self) -> bool:
        return self.trues > 0


_TAKES = gives(BOOL, Parameter("value", (BOOL,)))

EXTENSIONS = (
    aggregator("and", _TAKES, doc="true when all are true", make=lambda arguments: AllTrue()),
    aggregator("or", _TAKES, doc="true when one is true", make=lambda arguments: AnyTrue()),
)
