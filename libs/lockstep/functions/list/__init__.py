"""`list:`: what each function takes and gives (extensions 6)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    INT,
    OBJECT,
    STRING,
    function,
    gives,
)

_LIST = Parameter("list", (OBJECT,))
_OTHER = Parameter("given.list", (OBJECT,))
_VALUE = Parameter("value")
_INDEX = Parameter("index", (INT,))
_DISTINCT = Parameter("is.distinct", (BOOL,), optional=True)
ORDERS = ("ASC", "DESC", "REV")


def _order(arguments: Sequence[Argument]) -> None:
    order = str(arguments[1].value)
    if order.upper() not in ORDERS:
        raise SignatureError(f"{order!r} is no order", hint=f"use one of {', '.join(ORDERS)}")


_FUNCTIONS: tuple[tuple[str, tuple[Overload, ...]], ...] = (
    ("create", (gives(OBJECT, Parameter("value", repeat=True)),)),
    ("add", (gives(OBJECT, _LIST, _VALUE, Parameter("index", (INT,), optional=True)),)),
    ("addAll", (gives(OBJECT, _LIST, _OTHER, _DISTINCT),)),
    ("clear", (gives(OBJECT, _LIST),)),
    ("clone", (gives(OBJECT, _LIST),)),
    ("contains", (gives(BOOL, _LIST, _VALUE),)),
    ("containsAll", (gives(BOOL, _LIST, _OTHER),)),
    ("containsAny", (gives(BOOL, _LIST, _OTHER),)),
    ("get", (gives(OBJECT, _LIST, _INDEX),)),
    ("indexOf", (gives(INT, _LIST, _VALUE),)),
    ("lastIndexOf", (gives(INT, _LIST, _VALUE),)),
    ("isEmpty", (gives(BOOL, _LIST),)),
    ("isList", (gives(BOOL, _VALUE),)),
    ("remove", (gives(OBJECT, _LIST, _VALUE),)),
    ("removeByIndex", (gives(OBJECT, _LIST, _INDEX),)),
    ("removeAll", (gives(OBJECT, _LIST, _OTHER),)),
    ("retainAll", (gives(OBJECT, _LIST, _OTHER),)),
    ("setValue", (gives(OBJECT, _LIST, _INDEX, _VALUE),)),
    ("size", (gives(INT, _LIST),)),
    (
        "sort",
        (
            gives(OBJECT, _LIST),
            Overload((_LIST, Parameter("order", (STRING,), constant=True)), OBJECT, check=_order),
        ),
    ),
)

EXTENSIONS: tuple[Extension, ...] = (
    *(function(name, *overloads, namespace="list") for name, overloads in _FUNCTIONS),
)
