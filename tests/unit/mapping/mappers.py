"""Mappers as an app's text would build them."""

from __future__ import annotations

from typing import Any

from lockstep.events import Attribute, AttributeType, Event, StreamSchema
from lockstep.mapping import Reading, SinkMapper, SourceMapper, sink_mapper, source_mapper
from lockstep.siddhiql import ast

SCHEMA = StreamSchema(
    "S",
    tuple(
        Attribute(name, AttributeType(kind))
        for name, kind in (
            ("a", "string"),
            ("v", "int"),
            ("d", "double"),
            ("l", "long"),
            ("b", "bool"),
            ("f", "float"),
        )
    ),
)
NARROW = StreamSchema("N", SCHEMA.attributes[:3])


def annotation(
    type_: str, *, nested: tuple[ast.Annotation, ...] = (), **options: str
) -> ast.Annotation:
    """`@map(type='…', option='…', @nested(…))`; an underscore in an option stands for a dot."""
    elements = [ast.Element("type", type_)]
    elements += [ast.Element(key.replace("_", "."), value) for key, value in options.items()]
    return ast.Annotation("map", tuple(elements), nested)


def attributes(*positional: str, **named: str) -> ast.Annotation:
    """`@attributes(…)`."""
    elements = [ast.Element(None, value) for value in positional]
    elements += [ast.Element(key, value) for key, value in named.items()]
    return ast.Annotation("attributes", tuple(elements))


def payload(*positional: str, **named: str) -> ast.Annotation:
    """`@payload(…)`."""
    made = attributes(*positional, **named)
    return ast.Annotation("payload", made.elements)


def source(
    type_: str, *nested: ast.Annotation, schema: StreamSchema = NARROW, **options: Any
) -> SourceMapper:
    """The source mapper of a `@map`."""
    return source_mapper(schema, annotation(type_, nested=nested, **options))


def sink(
    type_: str, *nested: ast.Annotation, schema: StreamSchema = NARROW, **options: Any
) -> SinkMapper:
    """The sink mapper of a `@map`."""
    return sink_mapper(schema, annotation(type_, nested=nested, **options))


def rows(reading: Reading) -> list[list[tuple[Any, ...]]]:
    """The values, chunk by chunk."""
    return [[event.data for event in chunk] for chunk in reading.chunks]


def events(*data: tuple[Any, ...]) -> list[Event]:
    """Events at 1000."""
    return [Event(1000, values) for values in data]
