"""The SQL of MySQL's tables: identifiers quoted, values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.databases.mysql import connections as mysql
from lockstep.events import AttributeType, StreamSchema

TYPES: Final = {
    AttributeType.STRING: "longtext",
    AttributeType.INT: "int",
    AttributeType.LONG: "bigint",
    AttributeType.FLOAT: "float",
    AttributeType.DOUBLE: "double",
    AttributeType.BOOL: "boolean",
    AttributeType.OBJECT: "longtext",
}
_TEXT: Final = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
KEY_TEXT_CHARACTERS: Final = 255
KEY_MAX_BYTES: Final = 3_072
"""Of all columns of a key together."""
_CHARACTER_BYTES: Final = 4
_BYTES: Final = {
    AttributeType.INT: 4, AttributeType.LONG: 8, AttributeType.FLOAT: 4, AttributeType.DOUBLE: 8,
    AttributeType.BOOL: 1,
}  # fmt: skip
KEY_TEXT: Final = f"varchar({KEY_TEXT_CHARACTERS}) {_TEXT}"
"""A text of a key: what is longer cannot be indexed as a whole. Compared byte by byte, as apps
compare."""

CREATE_CURSORS: Final = f"""
CREATE TABLE IF NOT EXISTS lockstep_sink_cursors (
    sink {KEY_TEXT} PRIMARY KEY, epoch bigint NOT NULL, sequence bigint NOT NULL
) ENGINE=InnoDB"""
TAKE_OVER: Final = """
INSERT INTO lockstep_sink_cursors (sink, epoch, sequence) VALUES (%s, 1, 0)
ON DUPLICATE KEY UPDATE epoch = epoch + 1"""
TAKEN: Final = "SELECT epoch, sequence FROM lockstep_sink_cursors WHERE sink = %s FOR UPDATE"
MOVE: Final = """
UPDATE lockstep_sink_cursors SET sequence = %s WHERE sink = %s AND epoch = %s AND sequence = %s"""


def quoted(name: str) -> str:
    """A name as an identifier, for a statement with parameters: there the driver reads `%%` as
    `%`."""
    return mysql.quoted(name).replace("%", "%%")


@dataclass(frozen=True)
class TableSql:
    """Statements for one table. `key` are the primary key's columns, maybe none."""

    table: str
    schema: StreamSchema
    key: tuple[str, ...]

    @property
    def create(self) -> str:
        """The table when it is missing."""
        columns = []
        key_text = f"varchar({self.key_characters}) {_TEXT}"
        for attribute in self.schema.attributes:
            kind = TYPES[attribute.type]
            if attribute.type is AttributeType.STRING and attribute.name in self.key:
                kind = key_text
            columns.append(f"{quoted(attribute.name)} {kind}")
        if self.key:
            columns.append(f"PRIMARY KEY ({_list(self.key)})")
        rest = f"ENGINE=InnoDB {_TEXT}"
        return f"CREATE TABLE IF NOT EXISTS {quoted(self.table)} ({', '.join(columns)}) {rest}"

    @property
    def key_characters(self) -> int:
        """So long may each text of the key be: many of them share what a key may hold."""
        kinds = [one.type for one in self.schema.attributes if one.name in self.key]
        texts = kinds.count(AttributeType.STRING)
        left = KEY_MAX_BYTES - sum(_BYTES.get(kind, 0) for kind in kinds)
        return min(KEY_TEXT_CHARACTERS, left // (_CHARACTER_BYTES * max(1, texts)))

    @property
    def unique(self) -> str:
        """What tells its rows apart: a row for each column of each such index."""
        return f"SHOW INDEX FROM {quoted(self.table)} WHERE Non_unique = 0"

    @property
    def insert(self) -> str:
        """A row as it is."""
        places = ", ".join(["%s"] * len(self.schema.names))
        return (
            f"INSERT INTO {quoted(self.table)} ({_list(self.schema.names)})"  # noqa: S608
            f" VALUES ({places})"
        )

    @property
    def upsert(self) -> str:
        """A row by its key."""
        names = [name for name in self.schema.names if name not in self.key] or list(self.key)
        changes = ", ".join(f"{quoted(name)} = VALUES({quoted(name)})" for name in names)
        return f"{self.insert} ON DUPLICATE KEY UPDATE {changes}"

    @property
    def delete(self) -> str:
        """A row by its key."""
        same = " AND ".join(f"{quoted(name)} = %s" for name in self.key)
        return f"DELETE FROM {quoted(self.table)} WHERE {same}"  # noqa: S608

    @property
    def delete_one(self) -> str:
        """One row equal to the parameters, of a table without key."""
        same = " AND ".join(f"{quoted(name)} <=> %s" for name in self.schema.names)
        return f"DELETE FROM {quoted(self.table)} WHERE {same} LIMIT 1"  # noqa: S608


def _list(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)
