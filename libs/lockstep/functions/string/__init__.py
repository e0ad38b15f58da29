"""`str:`: what each function takes and gives (extensions 2)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.contract import Extension, Parameter
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    OBJECT,
    STRING,
    first_type,
    function,
    gives,
)

_STR = "str"
_SCALARS = (STRING, INT, LONG, FLOAT, DOUBLE, BOOL)
_TEXT = Parameter("text", (STRING,))
_OTHER = Parameter("other", (STRING,))
_REGEX = Parameter("regex", (STRING,))
_REPLACEMENT = Parameter("replacement", (STRING,))
_BEGIN = Parameter("begin", (INT,))
_DISTINCT = Parameter("distinct", (BOOL,), constant=True)


_FUNCTIONS = (
    ("charAt", gives(STRING, _TEXT, Parameter("index", (INT,)))),
    ("charFrequency", gives(LONG, _TEXT, Parameter("character", (STRING,)))),
    (
        "coalesce",
        gives(
            first_type,
            Parameter("value", _SCALARS),
            Parameter("more", repeat=True, same_as_first=True),
        ),
    ),
    ("concat", gives(STRING, Parameter("value", _SCALARS, repeat=True, min_repeat=2))),
    ("contains", gives(BOOL, _TEXT, _OTHER)),
    ("equalsIgnoreCase", gives(BOOL, _TEXT, _OTHER)),
    (
        "fillTemplate",
        gives(STRING, _TEXT, Parameter("map", (OBJECT,))),
        gives(STRING, _TEXT, Parameter("value", _SCALARS, repeat=True, min_repeat=1)),
    ),
    ("hex", gives(STRING, _TEXT)),
    ("unhex", gives(STRING, _TEXT)),
    ("length", gives(INT, _TEXT)),
    ("locate", gives(INT, _OTHER, _TEXT, Parameter("start", (INT,), optional=True))),
    ("lower", gives(STRING, _TEXT)),
    ("upper", gives(STRING, _TEXT)),
    ("regexp", gives(BOOL, _TEXT, _REGEX)),
    ("repeat", gives(STRING, _TEXT, Parameter("times", (INT,)))),
    ("replaceAll", gives(STRING, _TEXT, _REGEX, _REPLACEMENT)),
    ("replaceFirst", gives(STRING, _TEXT, _REGEX, _REPLACEMENT)),
    ("reverse", gives(STRING, _TEXT)),
    ("split", gives(STRING, _TEXT, _REGEX, Parameter("index", (INT,)))),
    ("strcmp", gives(INT, _TEXT, _OTHER)),
    (
        "substr",
        gives(STRING, _TEXT, _BEGIN),
        gives(STRING, _TEXT, _BEGIN, Parameter("length", (INT,))),
        gives(STRING, _TEXT, _REGEX),
        gives(STRING, _TEXT, _REGEX, Parameter("group", (INT,))),
    ),
    ("trim", gives(STRING, _TEXT)),
)

EXTENSIONS: tuple[Extension, ...] = (
    *(function(name, *overloads, namespace=_STR) for name, *overloads in _FUNCTIONS),
)
