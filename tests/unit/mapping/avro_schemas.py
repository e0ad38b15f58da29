"""Schemas of Avro, and values as fastavro writes them by these."""

from __future__ import annotations

import io
import json
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
