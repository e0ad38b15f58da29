"""The SQL of SQLite's tables: identifiers quoted, values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.databases.sqlite.values import quoted
from lockstep.events import AttributeType, StreamSchema

TYPES: Final = {
    AttributeType.STRING: "text",
    AttributeType.INT: "integer",
    AttributeType.LONG: "integer",
    AttributeType.FLOAT: "real",
    AttributeType.DOUBLE: "real",
    AttributeType.BOOL: "boolean",
    AttributeType.OBJECT: "text",
}

CREATE_CURSORS: Final = """
CREATE TABLE IF NOT EXISTS lockstep_sink_cursors (
    sink text PRIMARY KEY, epoch integer NOT NULL, sequence integer NOT NULL
)"""
TAKE_OVER: Final = """
INSERT INTO lockstep_sink_cursors (sink, epoch, sequence) VALUES (?, 1, 0)
ON CONFLICT (sink) DO UPDATE SET epoch = epoch + 1"""
TAKEN: Final = "SELECT epoch, sequence FROM lockstep_sink_cursors WHERE sink = ?"
MOVE: Final = """
UPDATE lockstep_sink_cursors SET sequence = ? WHERE sink = ? AND epoch = ? AND sequence = ?"""


@dataclass(frozen=True)
class TableSql:
    """Statements for one table. `key` are the primary key's columns, maybe none."""

    table: str
    schema: StreamSchema
    key: tuple[str, ...]

    @property
    def create(self) -> str:
        """The table when it is missing. SQLite would let a key be null."""
        columns = [
            f"{quoted(one.name)} {TYPES[one.type]}{' NOT NULL' if one.name in self.key else ''}"
            for one in self.schema.attributes
        ]
        if self.key:
            columns.append(f"PRIMARY KEY ({_list(self.key)})")
        return f"CREATE TABLE IF NOT EXISTS {quoted(self.table)} ({', '.join(columns)})"

    @property
    def probe(self) -> str:
        """Goes wrong where the table has other columns, or tells rows apart in another way; changes
        nothing."""
        return f"EXPLAIN {self.upsert if self.key else self.insert}"

    @property
    def insert(self) -> str:
        """A row as it is."""
        places = ", ".join("?" * len(self.schema.names))
        return (
            f"INSERT INTO {quoted(self.table)} ({_list(self.schema.names)})"  # noqa: S608
            f" VALUES ({places})"
        )

    @property
    def upsert(self) -> str:
        """A row by its key."""
        rest = [name for name in self.schema.names if name not in self.key]
        changes = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in rest)
        action = f"DO UPDATE SET {changes}" if rest else "DO NOTHING"
        return f"{self.insert} ON CONFLICT ({_list(self.key)}) {action}"

    @property
    def delete(self) -> str:
        """A row by its key."""
        same = " AND ".join(f"{quoted(name)} = ?" for name in self.key)
        return f"DELETE FROM {quoted(self.table)} WHERE {same}"  # noqa: S608

    @property
    def delete_one(self) -> str:
        """One row equal to the parameters, of a table without key."""
        table = quoted(self.table)
        same = " AND ".join(f"{quoted(name)} IS ?" for name in self.schema.names)
        one = f"SELECT rowid FROM {table} WHERE {same} LIMIT 1"  # noqa: S608
        return f"DELETE FROM {table} WHERE rowid = ({one})"  # noqa: S608


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
