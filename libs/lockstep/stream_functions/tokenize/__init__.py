"""#str:tokenize, #json:tokenize, #list:tokenize, #map:tokenize: an event per element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql.catalogue import Argument, Extension, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.signatures import BOOL, INT, OBJECT, STRING, stream_function

_TEXT = Parameter("text", (STRING,))
_REGEX = Parameter("regex", (STRING,))
_JSON = Parameter("json", (STRING, OBJECT))
_PATH = Parameter("path", (STRING,))


def _adds(
    **attributes: AttributeType,
) -> Callable[[Sequence[Argument]], tuple[Attribute, ...]]:
    added = tuple(Attribute(name, type_) for name, type_ in attributes.items())
    return lambda arguments: added


def _regex_is_constant(arguments: Sequence[Argument]) -> None:
    if not arguments[1].is_constant:
        raise SignatureError("the regular expression must be a literal")


def _of_text(*more: Parameter) -> Overload:
    return Overload((_TEXT, _REGEX, *more), adds=_adds(token=STRING), check=_regex_is_constant)


def _of_json(name: str, type_: AttributeType) -> Extension:
    fail = Parameter("fail.on.missing.attribute", (BOOL,), constant=True, optional=True)
    overload = Overload((_JSON, _PATH, fail), adds=_adds(jsonElement=type_))
    return stream_function(name, overload, namespace="json")


def _of_collections(kind: str, **attributes: AttributeType) -> Extension:
    taken = (Parameter(kind, (OBJECT,), repeat=True, min_repeat=1),)
    return stream_function("tokenize", Overload(taken, adds=_adds(**attributes)), namespace=kind)


EXTENSIONS = (
    stream_function(
        "tokenize",
        _of_text(),
        _of_text(Parameter("distinct", (BOOL,), constant=True)),
        namespace="str",
    ),
    _of_json("tokenize", STRING),
    _of_json("tokenizeAsObject", OBJECT),
    _of_collections("list", index=INT, value=OBJECT),
    _of_collections("map", key=OBJECT, value=OBJECT),
)
