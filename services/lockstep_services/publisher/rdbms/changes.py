"""Rows of a batch as table changes: of each key the last change alone counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from lockstep.events import AttributeType, Operation, OutputRow, StreamSchema

Columns = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows to write and keys to delete, as columns."""

    upserts: Columns
    deletes: Columns


def keyed_changes(rows: Sequence[OutputRow], schema: StreamSchema, key: Sequence[str]) -> Changes:
    """The net effect of rows on a table with a primary key."""
    at = [schema.names.index(name) for name in key]
    width = len(schema.attributes)
    last: dict[tuple[Any, ...], OutputRow] = {}
    for row in rows:
        # A deletion may bear the key's values alone.
        whole = len(row.data) == width
        last[tuple(row.data[i] for i in at) if whole else row.data] = row
    kept = [row for row in last.values() if row.operation is not Operation.DELETE]
    gone = [k for k, row in last.items() if row.operation is Operation.DELETE]
    return Changes(columns(kept, schema), [list(column) for column in zip(*gone, strict=True)])


def columns(rows: Sequence[OutputRow], schema: StreamSchema) -> Columns:
    """One list of values a column; none when there are no rows."""
    if not rows:
        return []
    made = [list(column) for column in zip(*(row.data for row in rows), strict=True)]
    for i, kind in enumerate(schema.types):
        if kind is AttributeType.OBJECT:
            made[i] = [as_json(value) for value in made[i]]
    return made


def values(row: OutputRow, schema: StreamSchema) -> list[Any]:
    """One row's values as parameters."""
    return [
        as_json(value) if kind is AttributeType.OBJECT else value
        for value, kind in zip(row.data, schema.types, strict=True)
    ]


def as_json(value: Any) -> str | None:
    """Plain objects are kept as JSON."""
    return None if value is None else msgspec.json.encode(value, enc_hook=str).decode()
