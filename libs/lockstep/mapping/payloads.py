"""`@payload` of mappers that write records: values keep their types (extensions 13.10).

A payload is one JSON text with `{{attribute}}` in it, or entries `@payload(name='x', a.b='{{y}}')`.
A place that stands for a whole value is the attribute's value; within a text it is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from lockstep.events import Event, LockstepError, StreamSchema
from lockstep.functions import json_documents
from lockstep.mapping.options import invalid, nested
from lockstep.mapping.templates import Template, value_template
from lockstep.siddhiql import ast

Make = Callable[[Event], Any]

_PLACE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\{\{\s*(?P<name>[^{}]*?)\s*\}\}')
_ALONE: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_MARK: Final = "\ufdd0"
"""No character: it marks a place that is a whole value."""


def record_maker(schema: StreamSchema, annotation: ast.Annotation) -> tuple[Make, frozenset[str]]:
    """What makes an event a record, and the names of the record's members."""
    payload = nested(annotation, "payload")
    if payload is None:
        names = schema.names
        return (lambda event: dict(zip(names, event.data, strict=True))), frozenset(names)
    if all(element.key is not None for element in payload.elements):
        tree: dict[str, Any] = {}
        for element in payload.elements:
            _put(tree, element.key or "", _entry(element.value, schema, payload), payload)
    else:
        tree = _document("".join(e.value for e in payload.elements), schema, payload)
    return _maker(tree), frozenset(tree)


def _put(tree: dict[str, Any], path: str, make: Make, at: ast.Annotation) -> None:
    *outer, last = path.split(".")
    for name in outer:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise invalid(at, f"{path!r} lies in a member that has a value already")
    if last in tree:
        raise invalid(at, f"{path!r} stands twice in @payload")
    tree[last] = make


def _entry(text: str, schema: StreamSchema, at: ast.Annotation) -> Make:
    alone = _ALONE.fullmatch(text.strip())
    if alone is not None and schema.index_of(alone[1]) is not None:
        text = alone[1]
    return value_template(text, schema, at)


def _document(text: str, schema: StreamSchema, at: ast.Annotation) -> dict[str, Any]:
    def marked(match: re.Match[str]) -> str:
        name = match["name"]
        return match[0] if name is None else json_documents.quoted(f"{_MARK}{name}")

    try:
        document = json_documents.parse(_PLACE.sub(marked, text))
    except LockstepError as error:
        raise invalid(
            at, f"@payload is no JSON: {error.message}", """write '{"name": "{{a}}", "n": {{b}}}'"""
        ) from error
    if not isinstance(document, dict):
        raise invalid(at, "@payload is no JSON object", """write '{"name": "{{a}}"}'""")
    found: dict[str, Any] = _tree(document, schema, at)
    return found


def _tree(value: Any, schema: StreamSchema, at: ast.Annotation) -> Any:
    if isinstance(value, dict):
        return {key: _tree(inner, schema, at) for key, inner in value.items()}
    if isinstance(value, list):
        return [_tree(inner, schema, at) for inner in value]
    if not isinstance(value, str):
        return lambda event: value
    if not value.startswith(_MARK):
        return Template(value, schema, at).fill
    name = value.removeprefix(_MARK)
    position = schema.index_of(name)
    if position is None:
        hint = f"there are {', '.join(schema.names)}"
        raise invalid(at, f"{{{{{name}}}}} names no attribute of {schema.name!r}", hint)
    return lambda event: event.data[position]


def _maker(tree: Any) -> Make:
    if isinstance(tree, Mapping):
        members = [(name, _maker(inner)) for name, inner in tree.items()]
        return lambda event: {name: make(event) for name, make in members}
    if isinstance(tree, list):
        items = [_maker(inner) for inner in tree]
        return lambda event: [make(event) for make in items]
    make: Make = tree
    return make
