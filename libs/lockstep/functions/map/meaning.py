"""`map:`. A function that changes a map gives a changed copy (see `list_pack`); keys keep the order
in which they came."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from lockstep.events.objects import LEVELS_MAX
from lockstep.functions import json_documents
from lockstep.functions.collected import taking
from lockstep.functions.convert import object_text
from lockstep.functions.java_equality import contains
from lockstep.functions.levels import LevelsError, check_levels
from lockstep.functions.nulls import Factory
from lockstep.operators.errors import EventError
from lockstep.plan import java

Entries = Mapping[Any, Any]

_WHOLE = re.compile(r"-?\d+", re.ASCII)
_LONGEST = 100
"""Python reads no more than some thousand digits."""
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
XML_MAX_CHARACTERS = 16_000_000


def entries_of(value: Any, name: str = "map") -> Entries:
    """The value as a map, or EventError when it is none."""
    if not isinstance(value, Mapping):
        raise EventError(f"{name}: a map is wanted, not {type(value).__name__}")
    return value


def _create(*values: Any) -> dict[Any, Any]:
    for value in values[1::2]:
        check_levels(value, "map:create", around=1)
    return dict(zip(values[::2], values[1::2], strict=True))


def _from_json(text: Any) -> dict[Any, Any]:
    if not isinstance(text, str):
        raise EventError("map:createFromJSON wants a text")
    value = json_documents.parse_lenient(text)
    if not isinstance(value, dict):
        raise EventError("map:createFromJSON wants a JSON object")
    return value


def parse_xml(text: str) -> ElementTree.Element:
    """The root of an XML document without a document type; raises EventError for none."""
    if "<!DOCTYPE" in text or len(text) > XML_MAX_CHARACTERS:
        raise EventError("XML with a document type or beyond 16 million characters is refused")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise EventError(f"not XML: {error}") from error


def _from_xml(text: Any) -> dict[Any, Any]:
    if not isinstance(text, str):
        raise EventError("map:createFromXML wants a text")
    return _children(parse_xml(text), LEVELS_MAX)


def _children(element: ElementTree.Element, levels: int) -> dict[Any, Any]:
    if not levels:
        raise LevelsError("map:createFromXML")
    return {
        child.tag: _children(child, levels - 1) if len(child) else _leaf(child) for child in element
    }


def _leaf(element: ElementTree.Element) -> Any:
    text = element.text or ""
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text) is None:
        return text
    number = float(text)
    if not number.is_integer() or abs(number) > 2**63:
        return number
    # A double has 53 bits: a long goes no way through it.
    whole = int(text) if _WHOLE.fullmatch(text) and len(text) <= _LONGEST else int(number)
    return whole if java.LONG_MIN <= whole <= java.LONG_MAX else number


def _get(entries: Any, key: Any, *default: Any) -> Any:
    return entries_of(entries).get(key, default[0] if default else None)


def _put(entries: Any, key: Any, value: Any) -> dict[Any, Any]:
    check_levels(value, "map:put", around=1)
    return {**entries_of(entries), key: value}


def _put_if_absent(entries: Any, key: Any, value: Any) -> dict[Any, Any]:
    check_levels(value, "map:putIfAbsent", around=1)
    copy = dict(entries_of(entries))
    if copy.get(key) is None:
        copy[key] = value
    return copy


def _replace(entries: Any, key: Any, value: Any) -> dict[Any, Any]:
    check_levels(value, "map:replace", around=1)
    copy = dict(entries_of(entries))
    if key in copy:
        copy[key] = value
    return copy


def _replace_all(entries: Any, others: Any) -> dict[Any, Any]:
    given = entries_of(others)
    return {key: given.get(key, value) for key, value in entries_of(entries).items()}


def _remove(entries: Any, *keys: Any) -> dict[Any, Any]:
    return {key: value for key, value in entries_of(entries).items() if key not in keys}


def _combine(*maps: Any) -> dict[Any, Any]:
    all_entries = [entries_of(entries, "map:combineByKey") for entries in maps]
    for entries in all_entries:
        check_levels(entries, "map:combineByKey", around=1)
    keys = dict.fromkeys(key for entries in all_entries for key in entries)
    return {key: [entries.get(key) for entries in all_entries] for key in keys}


def _to_xml(entries: Any, root: Any = None) -> str:
    inside = _elements(entries_of(entries))
    return inside if root is None else f"<{root}>{inside}</{root}>"


def _elements(entries: Entries) -> str:
    parts = []
    for key, value in entries.items():
        name = object_text(key)
        inside = _elements(value) if isinstance(value, Mapping) else escape(object_text(value))
        parts.append(f"<{name}>{inside}</{name}>")
    return "".join(parts)


def _cleared(entries: Any) -> dict[Any, Any]:
    entries_of(entries)
    return {}


_PLAIN: dict[str, Callable[..., Any]] = {
    "create": _create,
    "createFromJSON": _from_json,
    "createFromXML": _from_xml,
    "get": _get,
    "put": _put,
    "putAll": lambda to, given: {**entries_of(to), **entries_of(given)},
    "putIfAbsent": _put_if_absent,
    "replace": _replace,
    "replaceAll": _replace_all,
    "remove": _remove,
    "clear": _cleared,
    "clone": lambda entries: dict(entries_of(entries)),
    "combineByKey": _combine,
    "containsKey": lambda entries, key: key in entries_of(entries),
    "containsValue": lambda entries, value: contains(list(entries_of(entries).values()), value),
    "isEmpty": lambda entries: not entries_of(entries),
    "isMap": lambda value: isinstance(value, Mapping),
    "keys": lambda entries: list(entries_of(entries)),
    "values": lambda entries: list(entries_of(entries).values()),
    "size": lambda entries: len(entries_of(entries)),
    "toJSON": lambda entries: json_documents.text(entries_of(entries)),
    "toXML": _to_xml,
}

FUNCTIONS: dict[tuple[str, str], Factory] = {
    ("map", name): taking(function) for name, function in _PLAIN.items()
}
