"""`math:`: what each function takes and gives (extensions 3)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.contract import Extension, Parameter
from lockstep.siddhiql.catalogue.signatures import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NUMBER,
    STRING,
    function,
    gives,
)

_MATH = "math"
_X = Parameter("x", NUMBER)
_Y = Parameter("y", NUMBER)
_FLOATING = Parameter("x", (FLOAT, DOUBLE))
_WHOLE = Parameter("x", (INT, LONG))
_TEXT = Parameter("text", (STRING,))

_ONE_NUMBER = (
    *("abs", "cbrt", "sqrt", "cos", "cosh", "exp", "floor", "ln", "log2", "log10", "sin", "sinh"),
    *("tan", "tanh", "toDegrees", "toRadians"),
)
_TWO_NUMBERS = ("copySign", "log", "max", "min", "power")


_REST = (
    ("acos", gives(DOUBLE, _FLOATING)),
    ("asin", gives(DOUBLE, _FLOATING)),
    ("atan", gives(DOUBLE, _X), gives(DOUBLE, _X, _Y)),
    ("bin", gives(STRING, _WHOLE)),
    ("oct", gives(STRING, _WHOLE)),
    ("hex", gives(STRING, _X)),
    ("ceil", gives(DOUBLE, _FLOATING)),
    (
        "conv",
        gives(STRING, _TEXT, Parameter("from.base", (INT,)), Parameter("to.base", (INT,))),
    ),
    ("e", gives(DOUBLE)),
    ("pi", gives(DOUBLE)),
    ("getExponent", gives(INT, _X)),
    ("isInfinite", gives(BOOL, _FLOATING)),
    ("isNan", gives(BOOL, _FLOATING)),
    ("parseDouble", gives(DOUBLE, _TEXT)),
    ("parseFloat", gives(FLOAT, _TEXT)),
    ("parseInt", gives(INT, _TEXT)),
    ("parseLong", gives(LONG, _TEXT)),
    (
        "round",
        gives(INT, Parameter("x", (FLOAT,))),
        gives(LONG, Parameter("x", (DOUBLE,))),
    ),
    ("signum", gives(INT, _X)),
)

EXTENSIONS: tuple[Extension, ...] = (
    *(function(name, gives(DOUBLE, _X), namespace=_MATH) for name in _ONE_NUMBER),
    *(function(name, gives(DOUBLE, _X, _Y), namespace=_MATH) for name in _TWO_NUMBERS),
    *(function(name, *overloads, namespace=_MATH) for name, *overloads in _REST),
    function(
        "rand",
        gives(DOUBLE),
        gives(DOUBLE, Parameter("seed", (INT, LONG), constant=True)),
        namespace=_MATH,
        remembers=True,
    ),
)
