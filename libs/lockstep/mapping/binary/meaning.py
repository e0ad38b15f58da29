"""`@map(type='binary')`: events one behind the other, big-endian.

The number of events (int); of each its time (long) and its values in the stream's order: int, long,
float, double as they are, bool a byte, string its length in bytes (int) and UTF-8. An empty string
is null. The form has no other nulls, and no objects.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import invalid, nested
from lockstep.mapping.reading import PayloadReader
from lockstep.siddhiql import ast

_COUNT: Final = struct.Struct(">i")
_TIME: Final = struct.Struct(">q")
LETTERS: Final = {
    AttributeType.INT: "i",
    AttributeType.LONG: "q",
    AttributeType.FLOAT: "f",
    AttributeType.DOUBLE: "d",
    AttributeType.BOOL: "?",
}
"""Of the types of one size, as `struct` writes them."""

_FORMS: Final = {kind: struct.Struct(f">{letter}") for kind, letter in LETTERS.items()}


def _plain(schema: StreamSchema, annotation: ast.Annotation, custom: str) -> tuple[Any, ...]:
    if nested(annotation, custom) is not None:
        raise invalid(annotation, f"binary takes no @{custom}", "leave it out")
    for attribute in schema.attributes:
        if attribute.type is AttributeType.OBJECT:
            raise invalid(annotation, f"binary cannot hold the object {attribute.name!r}")
    return tuple(_FORMS.get(attribute.type) for attribute in schema.attributes)


class BinarySource(PayloadReader):
    """All events of a message are one chunk; it is taken whole or not at all."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._forms = _plain(schema, annotation, "attributes")
        self.types = schema.types

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        try:
            events = self._events(bytes(payload))
        except (struct.error, UnicodeDecodeError, TypeError) as error:
            raise MappingError(f"the message is not in binary form: {error}") from error
        return Reading(chunks=[events] if events else [])

    def _events(self, data: bytes) -> list[Event]:
        (count,) = _COUNT.unpack_from(data)
        at, events = _COUNT.size, []
        for _ in range(count):
            (time_ms,) = _TIME.unpack_from(data, at)
            at += _TIME.size
            values: list[Any] = []
            for form in self._forms:
                if form is not None:
                    values += form.unpack_from(data, at)
                    at += form.size
                    continue
                (length,) = _COUNT.unpack_from(data, at)
                at += _COUNT.size
                if not 0 <= length <= len(data) - at:
                    raise MappingError(f"a string of {length} bytes reaches beyond the message")
                values.append(data[at : at + length].decode() if length else None)
                at += length
            events.append(Event(time_ms, tuple(values)))
        if at != len(data):
            raise MappingError(f"{len(data) - at} bytes stand behind the last event")
        return events


class BinarySink:
    """A message per group of events."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._forms = _plain(schema, annotation, "payload")
        self._names = schema.names

    def write(self, events: Sequence[Event]) -> list[Any]:
        parts = [_COUNT.pack(len(events))]
        for event in events:
            parts.append(_TIME.pack(event.timestamp_ms))
            for form, name, value in zip(self._forms, self._names, event.data, strict=True):
                if form is None:
                    text = b"" if value is None else str(value).encode()
                    parts += (_COUNT.pack(len(text)), text)
                elif value is None:
                    raise MappingError("binary has no null for this type", where=name)
                else:
                    parts.append(form.pack(value))
        return [b"".join(parts)]
