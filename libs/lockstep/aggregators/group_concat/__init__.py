"""`str:groupConcat`: the texts that are present, joined (extensions 2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from lockstep.aggregators.contract import Copies
from lockstep.functions.java_text import compare
from lockstep.operators.errors import LeavingError
from lockstep.operators.limits import check_group
from lockstep.siddhiql.catalogue import Argument, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import BOOL, STRING, aggregator, gives

_BY_UNITS = cmp_to_key(compare)


class GroupConcat(Copies):
    """Equal keys stand together, in order of their first arrival or sorted; nulls are ignored.

    The separator is that of the last event.
    """

    __slots__ = ("_distinct", "_order", "_separator")

    def __init__(self, distinct: bool, order: str | None) -> None:
        super().__init__()
        self._distinct = distinct
        self._order = order
        self._separator = ","

    def add(self, key: str | None, separator: str | None = ",", *_constants: object) -> None:
        self._separator = "null" if separator is None else separator
        if key is not None:
            self.take(key)
            check_group(len(self.inside), "groupConcat")

    def remove(self, key: str | None, separator: str | None = ",", *_constants: object) -> None:
        self._separator = "null" if separator is None else separator
        if key is not None:
            self.drop(key)

    def value(self) -> str:
        keys = [str(key) for key in self.inside]
        if self._order is not None:
            keys.sort(key=_BY_UNITS, reverse=self._order == "DESC")
        if not self._distinct:
            keys = [key for key in keys for _ in range(self.inside[key])]
        return self._separator.join(keys)

    def snapshot(self) -> object:
        return (super().snapshot(), self._separator)

    def restore(self, state: object) -> None:
        assert isinstance(state, tuple)
        counts, self._separator = state
        super().restore(counts)


class OldGroupConcat(GroupConcat):
    """With one argument it fails when an event leaves (@app:compat; semantics 23, 14)."""

    __slots__ = ()

    def remove(self, key: str | None, separator: str | None = ",", *_constants: object) -> None:
        raise LeavingError(
            "str:groupConcat(x) fails when an event expires in Siddhi 5.1", hint=_HINT
        )


_HINT = "give it the separator: str:groupConcat(x, ',')"


def _build(arguments: Sequence[Argument]) -> GroupConcat:
    """str:groupConcat(key [, separator [, distinct [, order]]])."""
    distinct = len(arguments) > 2 and arguments[2].value is True
    order = str(arguments[3].value).upper() if len(arguments) > 3 else None
    return GroupConcat(distinct, order)


def _build_old(arguments: Sequence[Argument]) -> GroupConcat:
    return OldGroupConcat(False, None) if len(arguments) == 1 else _build(arguments)


def _order(arguments: Sequence[Argument]) -> None:
    order = str(arguments[3].value)
    if order.upper() not in ("ASC", "DESC"):
        raise SignatureError(f"{order!r} is no order", hint="use 'ASC' or 'DESC'")


_KEY = Parameter("key", (STRING,))
_SEPARATOR = Parameter("separator", (STRING,))
_DISTINCT = Parameter("distinct", (BOOL,), constant=True)
_ORDER = Parameter("order", (STRING,), constant=True)

EXTENSIONS = (
    aggregator(
        "groupConcat",
        gives(STRING, _KEY),
        gives(STRING, _KEY, _SEPARATOR),
        gives(STRING, _KEY, _SEPARATOR, _DISTINCT),
        Overload((_KEY, _SEPARATOR, _DISTINCT, _ORDER), STRING, check=_order),
        namespace="str",
        doc="the texts that are present, joined",
        make=_build,
        make_of_5_1=_build_old,
    ),
)
