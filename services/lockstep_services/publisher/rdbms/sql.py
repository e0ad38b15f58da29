"""The SQL of the database sink: identifiers quoted, values as parameters, whole batches as
arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.events import AttributeType, StreamSchema

TYPES: Final = {
    AttributeType.STRING: "text",
    AttributeType.INT: "integer",
    AttributeType.LONG: "bigint",
    AttributeType.FLOAT: "real",
    AttributeType.DOUBLE: "double precision",
    AttributeType.BOOL: "boolean",
    AttributeType.OBJECT: "jsonb",
}

CREATE_CURSORS: Final = """
CREATE TABLE IF NOT EXISTS lockstep_sink_cursors (
    sink text PRIMARY KEY, epoch bigint NOT NULL, sequence bigint NOT NULL
)"""
TAKE_OVER: Final = """
INSERT INTO lockstep_sink_cursors AS c (sink, epoch, sequence) VALUES ($1, 1, 0)
ON CONFLICT (sink) DO UPDATE SET epoch = c.epoch + 1 RETURNING epoch, sequence"""
MOVE: Final = """
UPDATE lockstep_sink_cursors SET sequence = $4 WHERE sink = $1 AND epoch = $2 AND sequence = $3"""


def quoted(name: str) -> str:
    """A name as an SQL identifier; a dot separates schema and table."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


@dataclass(frozen=True)
class TableSql:
    """Statements for one table. `key` are the primary key's columns, maybe none.

    Put together from quoted identifiers and type names alone; values are parameters.
    """

    table: str
    schema: StreamSchema
    key: tuple[str, ...]

    @property
    def create(self) -> str:
        """The table when it is missing."""
        columns = [f"{quoted(a.name)} {TYPES[a.type]}" for a in self.schema.attributes]
        if self.key:
            columns.append(f"PRIMARY KEY ({_list(self.key)})")
        return f"CREATE TABLE IF NOT EXISTS {quoted(self.table)} ({', '.join(columns)})"

    @property
    def insert(self) -> str:
        """Rows as they are; one array a column."""
        columns, arrays = _list(self.schema.names), self._arrays(self.schema.names)
        return f"INSERT INTO {quoted(self.table)} ({columns}) SELECT * FROM {arrays}"  # noqa: S608

    @property
    def upsert(self) -> str:
        """Rows by key; one array a column, each key at most once."""
        rest = [name for name in self.schema.names if name not in self.key]
        action = "DO NOTHING"
        if rest:
            changes = ", ".join(f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in rest)
            action = f"DO UPDATE SET {changes}"
        return f"{self.insert} ON CONFLICT ({_list(self.key)}) {action}"

    @property
    def delete(self) -> str:
        """Rows by key; one array a key column."""
        same = " AND ".join(f"t.{quoted(name)} = gone.{quoted(name)}" for name in self.key)
        gone = f"{self._arrays(self.key)} AS gone ({_list(self.key)})"
        return f"DELETE FROM {quoted(self.table)} AS t USING {gone} WHERE {same}"  # noqa: S608

    @property
    def delete_one(self) -> str:
        """One row equal to the parameters, of a table without key."""
        same = " AND ".join(
            f"{quoted(a.name)} IS NOT DISTINCT FROM ${i}::{TYPES[a.type]}"
            for i, a in enumerate(self.schema.attributes, start=1)
        )
        table = quoted(self.table)
        one = f"SELECT ctid FROM {table} WHERE {same} LIMIT 1"  # noqa: S608
        return f"DELETE FROM {table} WHERE ctid = ({one})"  # noqa: S608

    def _arrays(self, names: Sequence[str]) -> str:
        kinds = dict(zip(self.schema.names, self.schema.types, strict=True))
        arrays = (f"${i}::{TYPES[kinds[name]]}[]" for i, name in enumerate(names, start=1))
        return f"unnest({', '.join(arrays)})"


def _list(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)
