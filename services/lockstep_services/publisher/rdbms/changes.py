"""Rows of a batch as table changes: of each key the last change alone counts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
    last = dict(_by_key(rows, schema, key))
    kept = [row for row in last.values() if row.operation is not Operation.DELETE]
    gone = [k for k, row in last.items() if row.operation is Operation.DELETE]
    return Changes(columns(kept, schema), [list(column) for column in zip(*gone, strict=True)])


def one_by_one(
    rows: Sequence[OutputRow], schema: StreamSchema, key: Sequence[str]
) -> list[list[OutputRow]]:
    """What `statements` writes, in its order, a list for each change: the row that counts, then
    those it takes the place of, the latest first. Of these the next one counts if it is refused."""
    if not key:
        return [[row] for row in rows]
    found: dict[tuple[Any, ...], list[OutputRow]] = {}
    for values, row in _by_key(rows, schema, key):
        found.setdefault(values, []).append(row)
    latest_first = [rows[::-1] for rows in found.values()]
    return sorted(latest_first, key=lambda one: one[0].operation is not Operation.DELETE)


def _by_key(
    rows: Sequence[OutputRow], schema: StreamSchema, key: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], OutputRow]]:
    at = [schema.names.index(name) for name in key]
    width = len(schema.attributes)
    for row in rows:
        # A deletion may bear the key's values alone.
        whole = len(row.data) == width
        yield tuple(row.data[i] for i in at) if whole else row.data, row


class Statements(Protocol):
    """What a database is told about one table. `delete` is by key, `delete_one` by all values."""

    @property
    def insert(self) -> str: ...
    @property
    def upsert(self) -> str: ...
    @property
    def delete(self) -> str: ...
    @property
    def delete_one(self) -> str: ...


def statements(
    rows: Sequence[OutputRow], schema: StreamSchema, key: Sequence[str], sql: Statements
) -> Iterator[tuple[str, Columns]]:
    """What brings a table from before the rows to behind them: statements in order, each with the
    values of its rows. One with `delete_one` has one row."""
    if key:
        changes = keyed_changes(rows, schema, key)
        if changes.deletes:
            yield sql.delete, changes.deletes
        if changes.upserts:
            yield sql.upsert, changes.upserts
    elif all(row.operation is not Operation.DELETE for row in rows):
        if rows:
            yield sql.insert, columns(rows, schema)
    else:
        for row in rows:
            is_gone = row.operation is Operation.DELETE
            yield sql.delete_one if is_gone else sql.insert, columns([row], schema)


def columns(rows: Sequence[OutputRow], schema: StreamSchema) -> Columns:
    """One list of values a column; none when there are no rows."""
    if not rows:
        return []
    made = [list(column) for column in zip(*(row.data for row in rows), strict=True)]
    for i, kind in enumerate(schema.types):
        if kind is AttributeType.OBJECT:
            made[i] = [as_json(value) for value in made[i]]
    return made


def as_json(value: Any) -> str | None:
    """Plain objects are kept as JSON."""
    return None if value is None else msgspec.json.encode(value, enc_hook=str).decode()
