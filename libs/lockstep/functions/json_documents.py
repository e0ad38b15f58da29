"""JSON texts as plain objects and back; numbers are printed as Java prints them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from lockstep.events.characters import whole
from lockstep.events.objects import LEVELS_MAX
from lockstep.functions.json_lenient import LenientReader
from lockstep.functions.levels import LevelsError, check_levels
from lockstep.operators.errors import EventError
from lockstep.plan import java

TEXT_LEVELS_MAX: Final = 200
"""Of a value that is written. Logs of earlier releases hold deeper ones than are made now."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def parse(text: str | bytes) -> Any:
    """The value of a JSON text; raises EventError for what is none."""
    try:
        return _parsed(text)
    except RecursionError as error:
        raise EventError(f"not JSON: {error}") from error


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise EventError(f"not JSON: {error}") from error


def document(text: str) -> Any:
    """The same for functions: an escape that is half a character becomes U+FFFD, as nobody stands
    behind an event's text who could be told. No log could hold it. LevelsError for what is nested
    too deep."""
    try:
        found = _parsed(text)
    except RecursionError as error:
        raise LevelsError("JSON") from error
    if text.count("[") + text.count("{") > LEVELS_MAX:  # most texts cannot be too deep
        check_levels(found, "JSON")
    return whole(found) if "\\u" in text else found


def parse_lenient(text: str) -> Any:
    """`document` for objects and arrays that only a person would call JSON."""
    try:
        return document(text)
    except LevelsError:
        raise
    except EventError as error:
        try:
            return whole(LenientReader(text).read())
        except ValueError:
            raise error from None


def text(value: Any) -> str:
    """The JSON text of a plain object, without blanks. What JSON does not know becomes a string."""
    parts: list[str] = []
    _write(value, parts, 0)
    return "".join(parts)


def quoted(value: str) -> str:
    """A text as a JSON string."""
    return json.dumps(value, ensure_ascii=False)


def _write(value: Any, parts: list[str], depth: int) -> None:
    if depth > TEXT_LEVELS_MAX:
        raise EventError(f"more than {TEXT_LEVELS_MAX} levels of JSON")
    match value:
        case None:
            parts.append("null")
        case str():
            parts.append(quoted(value))
        case bool() | int() | float():
            parts.append(java.text(value))
        case Mapping():
            _write_object(value, parts, depth)
        case list() | tuple():
            _write_array(list(value), parts, depth)
        case set() | frozenset():
            _write_array(sorted(value, key=repr), parts, depth)
        case _:
            parts.append(quoted(str(value)))


def _write_object(value: Mapping[Any, Any], parts: list[str], depth: int) -> None:
    parts.append("{")
    for index, (key, member) in enumerate(value.items()):
        if index:
            parts.append(",")
        parts.append(quoted(java.text(key)))
        parts.append(":")
        _write(member, parts, depth + 1)
    parts.append("}")


def _write_array(value: list[Any], parts: list[str], depth: int) -> None:
    parts.append("[")
    for index, item in enumerate(value):
        if index:
            parts.append(",")
        _write(item, parts, depth + 1)
    parts.append("]")
