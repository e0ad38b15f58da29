"""Schemas of Avro, and values as fastavro writes them by these."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro

from lockstep.events import Attribute, AttributeType, StreamSchema

NARROW_DEF = json.dumps(
    {
        "type": "record",
        "name": "N",
        "fields": [
            {"name": "a", "type": "string"},
            {"name": "v", "type": "int"},
            {"name": "d", "type": "double"},
        ],
    }
)


def record(**types: Any) -> str:
    """The text of a schema."""
    fields = [{"name": name, "type": type_} for name, type_ in types.items()]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def _address(namespace: str, field: dict[str, Any]) -> dict[str, Any]:
    fields = [{"name": "street", "type": "string"}, field]
    return {"type": "record", "name": "Address", "namespace": namespace, "fields": fields}


UNIONS: Sequence[tuple[str, str, Any, Any]] = (
    (record(x=["null", "double", "long"]), "long", ("long", 2**53 + 1), 2**53 + 1),
    (record(x=["null", "bytes", "string"]), "object", "abc", "abc"),
    (
        record(
            x=[
                _address("a", {"name": "city", "type": "string", "default": "?"}),
                _address("b", {"name": "zip", "type": "int", "default": 0}),
            ]
        ),
        "object",
        ("b.Address", {"street": "s", "zip": 7}),
        {"street": "s", "zip": 7},
    ),
)
"""Schemas, types of the attribute `x`, values as they are written, and as they are read. In each an
earlier branch of the union would take the value, too, where one schema is resolved by another."""


def binary(schema: str, value: Any) -> bytes:
    """A value as fastavro writes it."""
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(json.loads(schema)), value)
    return target.getvalue()


def stream(**types: str) -> StreamSchema:
    """A stream of these attributes."""
    return StreamSchema(
        "T", tuple(Attribute(name, AttributeType(type_)) for name, type_ in types.items())
    )


def reason(reading: Any) -> str:
    """Why the whole message was refused."""
    assert not reading.chunks
    [error] = reading.refused
    return f"{error.message} ({error.hint})"
