"""Values of payloads as values of attributes: strict, lenient, or out of text (semantics 22)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions import json_documents
from lockstep.functions.convert import (
    CLASSES,
    object_text,
    parse_double,
    parse_float,
    parse_int,
    parse_long,
    text_to_bool,
)
from lockstep.mapping.contract import MappingError
from lockstep.plan import java

_RANGES = {
    AttributeType.INT: (java.INT_MIN, java.INT_MAX),
    AttributeType.LONG: (java.LONG_MIN, java.LONG_MAX),
}
_FLOATING = (AttributeType.FLOAT, AttributeType.DOUBLE)
_PARSERS: dict[AttributeType, Callable[[str], Any]] = {
    AttributeType.INT: parse_int,
    AttributeType.LONG: parse_long,
    AttributeType.FLOAT: parse_float,
    AttributeType.DOUBLE: parse_double,
    AttributeType.BOOL: text_to_bool,
    AttributeType.STRING: str,
    AttributeType.OBJECT: str,
}


def unfit(value: Any, wanted: AttributeType) -> MappingError:
    """The error of a value that does not fit."""
    return MappingError(f"{_shown(value)} is no {wanted.value}")


def _shown(value: Any) -> str:
    """Lists and maps are named only: they may be nested deeper than can be written out."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple, set, frozenset)):
        return "an array"
    shown = object_text(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def strict_json(value: Any, wanted: AttributeType) -> Any:
    """The default mapping of JSON: numbers in the form of their type. A double needs a point, a
    float does not; an object or array is its text where a string is wanted."""
    if value is None or wanted is AttributeType.OBJECT:
        return value
    if wanted is AttributeType.STRING:
        is_document = isinstance(value, (dict, list))
        return json_documents.text(value) if is_document else object_text(value)
    if wanted is AttributeType.FLOAT and type(value) is int:
        return from_text(str(value), wanted)
    return exact(value, wanted)


def exact(value: Any, wanted: AttributeType) -> Any:
    """A value that has the type already; MappingError for others."""
    if value is None or wanted is AttributeType.OBJECT:
        return value
    if wanted is AttributeType.STRING and isinstance(value, str):
        return value
    if wanted is AttributeType.BOOL and isinstance(value, bool):
        return value
    if wanted in _FLOATING and isinstance(value, float):
        return java.f32(value) if wanted is AttributeType.FLOAT else value
    if wanted in _RANGES and isinstance(value, int) and not isinstance(value, bool):
        low, high = _RANGES[wanted]
        if low <= value <= high:
            return value
    raise unfit(value, wanted)


def lenient(value: Any, wanted: AttributeType) -> Any:
    """The custom mapping: numbers in quotes and whole numbers for doubles are fine."""
    if value is None or wanted is AttributeType.OBJECT:
        return value
    kind = type(value)
    if kind is str:
        return from_text(value, wanted)
    if kind is CLASSES.get(wanted):
        return exact(value, wanted)  # its text would read as the same value
    if isinstance(value, (dict, list)):
        if wanted is AttributeType.STRING:
            return json_documents.text(value)
        raise unfit(value, wanted)
    return from_text(object_text(value), wanted)


def from_text(text: str, wanted: AttributeType) -> Any:
    """A text as a value of the type; MappingError when it is none."""
    value = _PARSERS[wanted](text)
    if value is None:
        raise unfit(text, wanted)
    return value
