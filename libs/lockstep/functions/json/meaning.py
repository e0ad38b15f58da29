"""`json:`: readers and writers of JSON documents, given as text or as object.

A path that leads nowhere, or to a value that does not fit, gives null. A null document is refused,
and so is a text that is no JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.functions import json_documents
from lockstep.functions.collected import taking
from lockstep.functions.convert import object_text, parse_double, parse_float, parse_int, parse_long
from lockstep.functions.json_path import MissingError, compile_path
from lockstep.functions.levels import LevelsError, check_levels
from lockstep.functions.nulls import Factory, plain, with_literal
from lockstep.operators.errors import EventError


def document_of(value: Any) -> Any:
    """The document of a `json` argument."""
    if value is None:
        raise EventError("json: there is no document, the argument is null")
    return json_documents.parse_lenient(value) if isinstance(value, str) else value


def _path(path: Any) -> str:
    if not isinstance(path, str):
        raise EventError("json: the path is null")
    return path


def find(json: Any, path: Any) -> Any:
    """What the path leads to; MissingError when nowhere."""
    return compile_path(_path(path)).read(document_of(json))


def _single(json: Any, path: Any) -> Any:
    """The one value that the path leads to, else None."""
    try:
        found = find(json, path)
    except MissingError:
        return None
    if isinstance(found, list):
        return found[0] if len(found) == 1 else None
    return found


def _number(parse: Callable[[str], float | None]) -> Factory:
    def read(json: Any, path: Any) -> float | None:
        found = _single(json, path)
        return None if found is None else parse(object_text(found))

    return _reading(read)


def _reading(function: Callable[..., Any]) -> Factory:
    """A function whose second argument is a path."""
    return with_literal(1, compile_path, plain(function))


def _bool(json: Any, path: Any) -> bool:
    found = _single(json, path)
    return found is not None and object_text(found).lower() == "true"


def _object(json: Any, path: Any) -> Any:
    try:
        return find(json, path)
    except MissingError:
        return None


def _string(json: Any, path: Any) -> str | None:
    if path == "$" and isinstance(json, str) and json.lstrip()[:1] not in ("{", "["):
        return json  # a scalar, which may be no document by itself
    found = _object(json, path)
    return found if found is None or isinstance(found, str) else json_documents.text(found)


def _exists(json: Any, path: Any) -> bool:
    try:
        find(json, path)
    except MissingError:
        return False
    return True


def _element(value: Any) -> Any:
    """The value to put in: a text that holds an object or array is that object or array."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json_documents.parse_lenient(value)
        except LevelsError:
            raise
        except EventError:
            return value
    return value


def _set_element(json: Any, path: Any, value: Any, *key: Any) -> Any:
    changed = _with_element(json, path, value, *key)
    check_levels(changed, "json:setElement")
    return changed


def _with_element(json: Any, path: Any, value: Any, *key: Any) -> Any:
    document = document_of(json)
    compiled = compile_path(_path(path))
    try:
        found = compiled.read(document)
        if isinstance(found, list) and compiled.is_definite:
            return compiled.changed(document, lambda array: array.append(_element(value)))
        if not key:
            return compiled.replaced(document, value)
        return compiled.changed(document, lambda member: _put(member, key[0], _element(value)))
    except MissingError:
        return document


def _put(member: Any, key: Any, value: Any) -> None:
    if isinstance(member, dict):
        member[object_text(key)] = value


def _to_object(text: Any) -> Any:
    if text is None:
        raise EventError("json:toObject takes no null")
    try:
        return json_documents.parse_lenient(text)
    except LevelsError:
        raise
    except EventError:
        return None


def _to_string(json: Any, escaped: Any = False) -> str:
    text = json_documents.text(json)
    return json_documents.quoted(text) if escaped is True else text


FUNCTIONS: dict[tuple[str, str], Factory] = {
    ("json", "getString"): _reading(_string),
    ("json", "getInt"): _number(parse_int),
    ("json", "getLong"): _number(parse_long),
    ("json", "getFloat"): _number(parse_float),
    ("json", "getDouble"): _number(parse_double),
    ("json", "getBool"): _reading(_bool),
    ("json", "getObject"): _reading(_object),
    ("json", "isExists"): _reading(_exists),
    ("json", "setElement"): with_literal(1, compile_path, taking(_set_element)),
    ("json", "toObject"): plain(_to_object),
    ("json", "toString"): plain(_to_string),
}
