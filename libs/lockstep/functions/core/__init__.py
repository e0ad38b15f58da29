"""Core functions: what each function takes and gives (extensions 1)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import AttributeType
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
    NUMBER,
    OBJECT,
    STRING,
    first_type,
    function,
    gives,
    named_type,
)

_ANY = Parameter("value")
_NAMED = (INT, LONG, FLOAT, DOUBLE, STRING, BOOL)
_TYPE = Parameter("type", (STRING,), constant=True)
_NUMBER = Parameter("value", NUMBER)
_MORE = Parameter("more", repeat=True, same_as_first=True)
_MORE_NUMBERS = Parameter("more", NUMBER, repeat=True, same_as_first=True)


def _objects_only_to_text(arguments: Sequence[Argument]) -> None:
    if arguments[0].type is OBJECT and str(arguments[1].value).lower() != STRING.value:
        raise SignatureError(
            "an object converts to 'string' alone", hint="cast gives an object a type"
        )


_CONVERT = Overload((_ANY, _TYPE), named_type(1, _NAMED), check=_objects_only_to_text)

_FUNCTIONS = (
    function("cast", gives(named_type(1, _NAMED), _ANY, _TYPE), doc="gives an object a type"),
    function("coalesce", gives(first_type, _ANY, _MORE), doc="the first value that is not null"),
    function("convert", _CONVERT, doc="the value as another type, null where it has no such form"),
    function(
        "createSet",
        gives(OBJECT, Parameter("value", (*NUMBER, STRING, BOOL))),
        doc="a set of one value",
    ),
    function("currentTimeMillis", gives(LONG), doc="the app clock in epoch milliseconds"),
    function(
        "default",
        gives(first_type, _ANY, Parameter("default", same_as_first=True)),
        doc="the value, or the default when it is null",
    ),
    function(
        "eventTimestamp",
        gives(LONG),
        gives(LONG, Parameter("event", (OBJECT,))),
        doc="the timestamp of this event or of the one that is named",
    ),
    function(
        "ifThenElse",
        Overload(
            (Parameter("condition", (BOOL,)), Parameter("then"), Parameter("else")),
            lambda arguments: _branch_type(arguments),
        ),
        doc="the second argument when the first is true, else the third",
    ),
    *(
        function(f"instanceOf{name}", gives(BOOL, _ANY), doc=f"whether the value is a {name}")
        for name in ("Boolean", "Double", "Float", "Integer", "Long", "String")
    ),
    function(
        "maximum", gives(first_type, _NUMBER, _MORE_NUMBERS), doc="the largest, nulls skipped"
    ),
    function(
        "minimum", gives(first_type, _NUMBER, _MORE_NUMBERS), doc="the smallest, nulls skipped"
    ),
    function("sizeOfSet", gives(INT, Parameter("set", (OBJECT,))), doc="how many members"),
    function("UUID", gives(STRING), doc="a unique text, the same on every replica", remembers=True),
)


def _branch_type(arguments: Sequence[Argument]) -> AttributeType:
    then, otherwise = arguments[1].type, arguments[2].type
    if then is not otherwise:
        raise SignatureError(
            f"the branches of ifThenElse have different types: {then.value} and {otherwise.value}",
            hint="convert one of them",
        )
    return then


EXTENSIONS: tuple[Extension, ...] = _FUNCTIONS
