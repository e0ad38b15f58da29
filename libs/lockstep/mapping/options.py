"""Reads the options of `@map`, `@attributes` and `@payload`; mistakes are the app's errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lockstep.events import Attribute, StreamSchema
from lockstep.mapping.contract import MappingError, Properties
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A name that stands for itself in every format."""

TRANSPORT: Final = "trp:"
"""In front of the name of a transport property."""


def invalid(annotation: ast.Annotation, message: str, hint: str | None = None) -> SiddhiQLError:
    """An error at the place of an annotation."""
    return SiddhiQLError(message, line=annotation.at.line, column=annotation.at.column, hint=hint)


def flag(annotation: ast.Annotation, key: str, default: bool) -> bool:
    """An option that is 'true' or 'false'."""
    text = annotation.get(key)
    if text is None:
        return default
    if text.strip().lower() not in ("true", "false"):
        raise invalid(annotation, f"{key} is {text!r}", "use 'true' or 'false'")
    return text.strip().lower() == "true"


def nested(annotation: ast.Annotation, name: str) -> ast.Annotation | None:
    """The nested annotation of that name, or None."""
    found = annotation.nested(name)
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Column:
    """Where an attribute's value comes from: a path of the format, or a transport property."""

    attribute: Attribute
    path: str
    is_transport: bool = False

    def property_of(self, properties: Properties | None) -> Any:
        """The transport property; MappingError when the transport did not send it."""
        if properties is None or self.path not in properties:
            raise MappingError(
                f"the transport brought no property {self.path!r}", where=self.attribute.name
            )
        return properties[self.path]


def columns(schema: StreamSchema, annotation: ast.Annotation) -> list[Column] | None:
    """The custom mapping of `@attributes` in the order of the schema; None without one."""
    attributes = nested(annotation, "attributes")
    if attributes is None:
        return None
    paths = _paths(schema, attributes)
    found = []
    for attribute in schema.attributes:
        path = paths[attribute.name].strip()
        if path.startswith(TRANSPORT):
            name = path.removeprefix(TRANSPORT)
            found.append(Column(attribute, name, is_transport=True))
        else:
            found.append(Column(attribute, path))
    return found


def _paths(schema: StreamSchema, annotation: ast.Annotation) -> Mapping[str, str]:
    named = {e.key: e.value for e in annotation.elements if e.key is not None}
    positional = annotation.positional
    if named and positional:
        raise invalid(annotation, "@attributes mixes entries with and without names")
    if positional:
        if len(positional) != len(schema.names):
            raise invalid(annotation, f"@attributes wants {len(schema.names)} paths")
        return dict(zip(schema.names, positional, strict=True))
    if set(named) != set(schema.names):
        odd = ", ".join(sorted(set(named) ^ set(schema.names)))
        raise invalid(annotation, f"@attributes must name every attribute once: {odd}")
    return named


def text_of(payload: Any) -> str:
    """A payload of bytes or text as text; MappingError for others."""
    if isinstance(payload, str):
        return payload
    if isinstance(payload, (bytes, bytearray, memoryview)):
        try:
            return bytes(payload).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise MappingError(f"the payload is no UTF-8: {error}") from error
    raise MappingError(f"the payload is no text but a {type(payload).__name__}")
