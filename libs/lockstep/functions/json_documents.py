"""JSON texts as plain objects and back; numbers are printed as Java prints them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from lockstep.events.characters import whole
from lockstep.functions.json_lenient import DEPTH_MAX, LenientReader
from lockstep.operators.errors import EventError
from lockstep.plan import java


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def parse(text: str | bytes) -> Any:
    """The value of a JSON text; raises EventError for what is none."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise EventError(f"not JSON: {error}") from error


def document(text: str) -> Any:
    """The same for functions: an escape that is half a character becomes U+FFFD, as nobody stands
    behind an event's text who could be told. No log could hold it."""
    found = parse(text)
    try:
        return whole(found) if "\\u" in text else found
    except RecursionError as error:
        raise EventError(f"not JSON: {error}") from error


def parse_lenient(text: str) -> Any:
    """`document` for objects and arrays that only a person would call JSON."""
    try:
        return document(text)
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
    if depth > DEPTH_MAX:
        raise EventError(f"more than {DEPTH_MAX} levels of JSON")
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
