"""Entries that were made in this process, in the bytes in which the log would have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputRecord,
    LogEntry,
    StreamSchema,
)
from lockstep.events.codec import EncodedEntry, Index, encode_record


def encoded(
    entries: Sequence[LogEntry],
    schemas: Mapping[str, StreamSchema],
    index: Index | None = None,
) -> list[EncodedEntry]:
    """The entries with their streams' types, and untyped where a value is not of its type.

    The log itself is typed: what comes to a service is refused at its doors. Whoever stands inside
    the process is trusted, as the language's own senders are, and then the query that cannot use a
    value drops the event (semantics 18). Such a column travels as `object` and comes out with the
    values that went in; only the reference folds it. Raises InvalidEventError for values that
    cannot travel at all, and for rows of another width.
    """
    return [
        EncodedEntry(
            entry.position,
            encode_record(entry.record, _typed(entry.record, schemas), index=index),
        )
        for entry in entries
    ]


def _typed(record: InputRecord, schemas: Mapping[str, StreamSchema]) -> Mapping[str, StreamSchema]:
    if not isinstance(record, EventsRecord) or record.stream not in schemas:
        return schemas
    schema = schemas[record.stream]
    rows = [event.data for chunk in record.chunks for event in chunk]
    if any(len(row) != len(schema.attributes) for row in rows):
        return schemas
    attributes = tuple(
        attribute
        if all(_fits(row[i], attribute.type) for row in rows)
        else Attribute(attribute.name, AttributeType.OBJECT)
        for i, attribute in enumerate(schema.attributes)
    )
    return {record.stream: StreamSchema(schema.name, attributes)}


def _fits(value: Any, type_: AttributeType) -> bool:
    return value is None or _IS_OF[type_](value)


def _is_whole(bits: int) -> Callable[[Any], bool]:
    limit = 1 << (bits - 1)
    return lambda value: type(value) is int and -limit <= value < limit


def _is_number(exact_bits: int) -> Callable[[Any], bool]:
    """Floats, and the whole numbers that a float of so many bits holds: they become one, as at the
    doors."""
    limit = 1 << exact_bits
    return lambda value: (
        isinstance(value, float) or (type(value) is int and -limit <= value <= limit)
    )


_IS_OF: Final[Mapping[AttributeType, Callable[[Any], bool]]] = {
    AttributeType.STRING: lambda value: isinstance(value, str),
    AttributeType.INT: _is_whole(32),
    AttributeType.LONG: _is_whole(64),
    AttributeType.FLOAT: _is_number(24),
    AttributeType.DOUBLE: _is_number(53),
    AttributeType.BOOL: lambda value: isinstance(value, bool),
    AttributeType.OBJECT: lambda value: True,
}
