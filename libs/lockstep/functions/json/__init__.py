"""`json:`: what each function takes and gives (extensions 5)."""

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
    function,
    gives,
)

_JSON = Parameter("json", (STRING, OBJECT))
_PATH = Parameter("path", (STRING,))
_READERS = (
    ("getString", STRING),
    ("getInt", INT),
    ("getLong", LONG),
    ("getFloat", FLOAT),
    ("getDouble", DOUBLE),
    ("getBool", BOOL),
    ("getObject", OBJECT),
    ("isExists", BOOL),
)


EXTENSIONS: tuple[Extension, ...] = (
    *(function(name, gives(type_, _JSON, _PATH), namespace="json") for name, type_ in _READERS),
    function(
        "setElement",
        gives(OBJECT, _JSON, _PATH, Parameter("value"), Parameter("key", (STRING,), optional=True)),
        namespace="json",
    ),
    function("toObject", gives(OBJECT, Parameter("json", (STRING,))), namespace="json"),
    function(
        "toString",
        gives(STRING, _JSON, Parameter("allow.escape", (BOOL,), optional=True)),
        namespace="json",
    ),
)
