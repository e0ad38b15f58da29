"""`json:`: what each function takes and gives (extensions 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql.catalogue.contract import Argument, Extension, Overload, Parameter
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
    stream_function,
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


def _element(type_: AttributeType) -> Callable[[Sequence[Argument]], tuple[Attribute, ...]]:
    return lambda arguments: (Attribute("jsonElement", type_),)


def _tokenize(name: str, type_: AttributeType) -> Extension:
    fail = Parameter("fail.on.missing.attribute", (BOOL,), constant=True, optional=True)
    return stream_function(
        name, Overload((_JSON, _PATH, fail), adds=_element(type_)), namespace="json"
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
    _tokenize("tokenize", STRING),
    _tokenize("tokenizeAsObject", OBJECT),
)
