"""The SQL of MySQL's tables: identifiers quoted, values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.databases.mysql import connections as mysql
from lockstep.events import AttributeType, StreamSchema
from lockstep_services.publisher.mysql.existing import EXACT_COLLATIONS

TYPES: Final = {
    AttributeType.STRING: "longtext",
    AttributeType.INT: "int",
    AttributeType.LONG: "bigint",
    AttributeType.FLOAT: "float",
    AttributeType.DOUBLE: "double",
    AttributeType.BOOL: "boolean",
    AttributeType.OBJECT: "longtext",
}
COLLATION: Final = "utf8mb4_bin"
"""Of servers that have no exact one, and of texts that are Lockstep's own: none ends in blanks."""
KEY_TEXT_CHARACTERS: Final = 255
KEY_MAX_BYTES: Final = 3_072
"""Of all columns of a key together."""
_CHARACTER_BYTES: Final = 4
_BYTES: Final = {
    AttributeType.INT: 4, AttributeType.LONG: 8, AttributeType.FLOAT: 4, AttributeType.DOUBLE: 8,
    AttributeType.BOOL: 1,
}  # fmt: skip
KEY_TEXT: Final = f"varchar({KEY_TEXT_CHARACTERS}) CHARACTER SET utf8mb4 COLLATE {COLLATION}"
"""A text of a key: what is longer cannot be indexed as a whole."""
EXACT: Final = f"SHOW COLLATION WHERE Collation IN {EXACT_COLLATIONS}"
"""Which of them the server has."""

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
    """Statements for one table. `key` are the primary key's columns, maybe none.

    `vague`: columns whose collation may take two texts for one. So where a row is looked for, they
    are compared byte by byte, too, as apps compare. Of these `cut` lose blanks at the end.
    """

    table: str
    schema: StreamSchema
    key: tuple[str, ...]
    vague: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()

    def create(self, collation: str) -> str:
        """The table when it is missing."""
        columns = []
        text = f"CHARACTER SET utf8mb4 COLLATE {collation}"
        key_text = f"varchar({self.key_characters}) {text}"
        for attribute in self.schema.attributes:
            kind = TYPES[attribute.type]
            if attribute.type is AttributeType.STRING and attribute.name in self.key:
                kind = key_text
            columns.append(f"{quoted(attribute.name)} {kind}")
        if self.key:
            columns.append(f"PRIMARY KEY ({_list(self.key)})")
        rest = f"ENGINE=InnoDB {text}"
        return f"CREATE TABLE IF NOT EXISTS {quoted(self.table)} ({', '.join(columns)}) {rest}"

    @property
    def key_characters(self) -> int:
        """So long may each text of the key be: many of them share what a key may hold."""
        kinds = [one.type for one in self.schema.attributes if one.name in self.key]
        texts = kinds.count(AttributeType.STRING)
        left = KEY_MAX_BYTES - sum(_BYTES.get(kind, 0) for kind in kinds)
        return min(KEY_TEXT_CHARACTERS, left // (_CHARACTER_BYTES * max(1, texts)))

    @property
    def columns(self) -> str:
        """What its columns are."""
        return f"SHOW FULL COLUMNS FROM {quoted(self.table)}"

    @property
    def created(self) -> str:
        """How it would be made, a line for each column."""
        return f"SHOW CREATE TABLE {quoted(self.table)}"

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
        names = self.changed
        changes = ", ".join(f"{quoted(name)} = VALUES({quoted(name)})" for name in names)
        first = quoted(self.key[0])
        return f"{self.insert} ON DUPLICATE KEY UPDATE {changes or f'{first} = {first}'}"

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns beside the key."""
        return tuple(name for name in self.schema.names if name not in self.key)

    @property
    def update(self) -> str:
        """A row that is there by its key: what is changed, then the key."""
        changes = ", ".join(f"{quoted(name)} = %s" for name in self.changed)
        first = quoted(self.key[0])
        same = " AND ".join(f"{quoted(name)} = %s" for name in self.key)
        return (
            f"UPDATE {quoted(self.table)} SET {changes or f'{first} = {first}'}"  # noqa: S608
            f" WHERE {same}"
        )

    @property
    def there(self) -> str:
        """Whether `update` would find a row: the key. It is kept as it is meanwhile."""
        same = " AND ".join(f"{quoted(name)} = %s" for name in self.key)
        return f"SELECT 1 FROM {quoted(self.table)} WHERE {same} LIMIT 1 FOR UPDATE"  # noqa: S608

    @property
    def delete(self) -> str:
        """A row by its key; see `exact`."""
        same = [f"{quoted(name)} = %s" for name in self.key]
        same += [f"{_bytes(name)} = %s" for name in self.key if name in self.vague]
        return f"DELETE FROM {quoted(self.table)} WHERE {' AND '.join(same)}"  # noqa: S608

    @property
    def delete_one(self) -> str:
        """One row equal to the parameters, of a table without key; see `exact`."""
        names = self.schema.names
        same = [f"{quoted(name)} <=> {self._given(name)}" for name in names]
        same += [f"{_bytes(name)} <=> {self._given(name)}" for name in names if name in self.vague]
        return f"DELETE FROM {quoted(self.table)} WHERE {' AND '.join(same)} LIMIT 1"  # noqa: S608

    def alike(self, count: int) -> str:
        """The key of a row that the table takes for the one with one of so many other keys; see
        `exact`."""
        same = " AND ".join(f"{quoted(name)} = {self._given(name)}" for name in self.key)
        exact = " AND ".join(f"{_bytes(name)} = %s" for name in self.key if name in self.vague)
        each = " OR ".join([f"({same} AND NOT ({exact}))"] * count)
        return f"SELECT {_list(self.key)} FROM {quoted(self.table)} WHERE {each} LIMIT 1"  # noqa: S608

    def exact(self, names: Sequence[str], values: Sequence[Any]) -> tuple[Any, ...]:
        """Values of these columns, then once more those that are compared byte by byte."""
        again = (value for name, value in zip(names, values, strict=True) if name in self.vague)
        return (*values, *again)

    def _given(self, name: str) -> str:
        """A parameter as the column would keep it."""
        return "RTRIM(%s)" if name in self.cut else "%s"


def _bytes(name: str) -> str:
    """A column's text in UTF-8, whatever its character set is."""
    return f"CAST(CONVERT({quoted(name)} USING utf8mb4) AS BINARY)"


def _list(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)
