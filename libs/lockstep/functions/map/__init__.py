"""`map:`: what each function takes and gives (extensions 7)."""

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
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    OBJECT,
    STRING,
    function,
    gives,
)

_MAP = Parameter("map", (OBJECT,))
_FROM = Parameter("from.map", (OBJECT,))
_KEY = Parameter("key")
_SCALAR_KEY = Parameter("key", (INT, LONG, FLOAT, DOUBLE, BOOL, STRING))
_VALUE = Parameter("value")


def _pairs(arguments: Sequence[Argument]) -> None:
    if len(arguments) % 2:
        raise SignatureError("a key has no value", hint="keys and values take turns")


_FUNCTIONS: tuple[tuple[str, Overload], ...] = (
    ("create", Overload((Parameter("key.or.value", repeat=True),), OBJECT, check=_pairs)),
    ("createFromJSON", gives(OBJECT, Parameter("json", (STRING,)))),
    ("createFromXML", gives(OBJECT, Parameter("xml", (STRING,)))),
    ("get", gives(OBJECT, _MAP, _SCALAR_KEY, Parameter("default.value", optional=True))),
    ("put", gives(OBJECT, _MAP, _KEY, _VALUE)),
    ("putAll", gives(OBJECT, _MAP, _FROM)),
    ("putIfAbsent", gives(OBJECT, _MAP, _SCALAR_KEY, _VALUE)),
    ("replace", gives(OBJECT, _MAP, _SCALAR_KEY, _VALUE)),
    ("replaceAll", gives(OBJECT, _MAP, _FROM)),
    ("remove", gives(OBJECT, _MAP, _KEY)),
    ("clear", gives(OBJECT, _MAP)),
    ("clone", gives(OBJECT, _MAP)),
    (
        "combineByKey",
        gives(OBJECT, Parameter("map", (OBJECT,), repeat=True, min_repeat=2)),
    ),
    ("containsKey", gives(BOOL, _MAP, _SCALAR_KEY)),
    ("containsValue", gives(BOOL, _MAP, _VALUE)),
    ("isEmpty", gives(BOOL, _MAP)),
    ("isMap", gives(BOOL, _VALUE)),
    ("keys", gives(OBJECT, _MAP)),
    ("values", gives(OBJECT, _MAP)),
    ("size", gives(INT, _MAP)),
    ("toJSON", gives(STRING, _MAP)),
    ("toXML", gives(STRING, _MAP, Parameter("root.element.name", (STRING,), optional=True))),
)

EXTENSIONS: tuple[Extension, ...] = (
    *(function(name, overload, namespace="map") for name, overload in _FUNCTIONS),
)
