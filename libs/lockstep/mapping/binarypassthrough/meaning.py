"""`@map(type='binaryPassThrough')`: the bytes of a message as the value of an attribute of type
object, and such a value as a message (extensions 13.12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import Column, columns, invalid, nested
from lockstep.mapping.reading import PayloadReader, read_rows, row_of
from lockstep.siddhiql import ast

_HINT = "define stream S (buffer object)"


class BytesSource(PayloadReader):
    """A message is an event. With `@attributes` one attribute is the bytes, at the path '0', and
    the others are properties of the transport."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._columns = columns(schema, annotation) or [
            Column(attribute, "0") for attribute in schema.attributes
        ]
        taken = [column for column in self._columns if not column.is_transport]
        if len(taken) != 1 or taken[0].attribute.type is not AttributeType.OBJECT:
            raise invalid(
                annotation,
                "the bytes of a message are one attribute of type object; others are trp:…",
                f"{_HINT}, or @attributes(buffer='0', name='trp:file.name')",
            )
        if taken[0].path != "0":
            raise invalid(annotation, f"{taken[0].path!r} is no place in bytes", "write '0'")

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""

        def row(body: Any) -> tuple[Any, ...]:
            if not isinstance(body, (bytes, bytearray, memoryview)):
                raise MappingError(f"the message is no bytes but a {type(body).__name__}")
            value = bytes(body)
            return row_of(self._columns, lambda _: value, properties, fails_on_missing=True)

        return read_rows([payload], row, now_ms, as_one_chunk=True)


class BytesSink:
    """An event is a message: its one attribute of type object, or the one that `@payload` names."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        payload = nested(annotation, "payload")
        objects = [a.name for a in schema.attributes if a.type is AttributeType.OBJECT]
        if payload is not None:
            name = (
                "".join(element.value for element in payload.elements).strip().strip("{}").strip()
            )
        elif len(objects) == 1:
            name = objects[0]
        else:
            raise invalid(
                annotation,
                f"{len(objects)} attributes of type object could be the message",
                f"{_HINT}, or @payload('buffer')",
            )
        at = schema.index_of(name)
        if at is None or schema.types[at] not in (AttributeType.OBJECT, AttributeType.STRING):
            raise invalid(
                payload or annotation,
                f"{name!r} is no attribute of type object or string",
                f"there are {', '.join(schema.names)}",
            )
        self._name, self._at = name, at

    def write(self, events: Sequence[Event]) -> list[Any]:
        """See the contract."""
        return [self._bytes(event.data[self._at]) for event in events]

    def _bytes(self, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode()
        raise MappingError(
            f"a {type(value).__name__} is no bytes" if value is not None else "null is no bytes",
            where=self._name,
            hint="use another mapper for values that are not bytes: msgpack, json, avro",
        )
