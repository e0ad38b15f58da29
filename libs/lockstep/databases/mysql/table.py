"""A look at a MySQL or MariaDB table, before it is followed: whether its log tells all, and how."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.databases.contract import DatabaseError, TableShape
from lockstep.databases.datasources import Datasource
from lockstep.databases.mysql.binlog import check_log, kept_logs
from lockstep.databases.mysql.columns import Field, field_of
from lockstep.databases.mysql.connections import connected, quoted

_CASCADE: Final = re.compile(
    r"^\s*CONSTRAINT .* FOREIGN KEY .* ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)",
    re.MULTILINE,
)
_ENGINE: Final = re.compile(r"^\) ENGINE=(\w+)(.*)", re.MULTILINE)
_UNREADABLE: Final = "COMPRESSED"
_INSTEAD: Final = "or use mode='lookup'"


@dataclass(frozen=True, slots=True)
class Look:
    """What was found. `table`: schema and name as the log writes them; `end`: where the log ended
    then; `server`: a number of this server alone."""

    table: tuple[str, str]
    fields: Sequence[Field]
    logs: Mapping[int, tuple[str, int]]
    end: int
    server: int


async def look_at(datasource: Datasource, shape: TableShape) -> Look:
    """DatabaseError for a table that cannot be followed, with the reason; UnavailableError."""
    where = f"{datasource.name}.{shape.table}"
    async with connected(datasource) as connection:
        cursor = await connection.cursor()
        variables = await check_log(cursor, where)
        named = quoted(shape.table)
        await cursor.execute(f"SHOW CREATE TABLE {named}")
        _check_definition(str((await cursor.fetchone())[1]), shape.table, where)
        await cursor.execute(f"SHOW FULL COLUMNS FROM {named}")
        fields = _fields(shape, await cursor.fetchall(), where)
        logs = await kept_logs(cursor)
    schema, _, name = shape.table.rpartition(".")
    table = schema or datasource.database, name
    if variables.get("lower_case_table_names") != "0":
        table = table[0].lower(), table[1].lower()
    told = f"{variables.get('server_id')}/{variables.get('server_uuid', '')}"
    server = int.from_bytes(hashlib.sha256(told.encode()).digest()[:7], "big") + 1
    newest = max(logs)
    return Look(table, fields, logs, newest | logs[newest][1], server)


def _check_definition(definition: str, table: str, where: str) -> None:
    """What the server changes without a word to the log, and what it cannot show as of a moment."""
    engine = _ENGINE.search(definition)
    if not definition.startswith("CREATE TABLE") or engine is None:
        raise DatabaseError(
            f"{table!r} is no table of its own", where=where,
            hint=f"name the table, {_INSTEAD}",
        )  # fmt: skip
    if engine[1].lower() != "innodb":
        raise DatabaseError(
            f"table {table!r} is kept by {engine[1]}, which shows no moment of it", where=where,
            hint=f"ALTER TABLE {table} ENGINE=InnoDB, {_INSTEAD}",
        )  # fmt: skip
    if "SYSTEM VERSIONING" in engine[2]:
        raise DatabaseError(
            f"table {table!r} keeps versions of its rows", where=where, hint="use mode='lookup'"
        )
    if _CASCADE.search(definition):
        raise DatabaseError(
            f"table {table!r} is changed by its foreign keys, which the binary log does not tell",
            where=where,
            hint=f"ON DELETE RESTRICT ON UPDATE RESTRICT, {_INSTEAD}",
        )


def _fields(shape: TableShape, columns: Sequence[Sequence[Any]], where: str) -> Sequence[Field]:
    found = {str(name).lower(): (str(name), str(type_), rest[0]) for name, type_, *rest in columns}
    for name, type_, _ in found.values():
        if _UNREADABLE in type_.upper():
            raise DatabaseError(
                f"column {name!r} of {shape.table!r} is {type_}, which cannot be read in the log",
                where=where,
                hint=f"ALTER TABLE {shape.table} MODIFY it without COMPRESSED, {_INSTEAD}",
            )
    fields = []
    for column, wanted in zip(shape.columns, shape.types, strict=True):
        if column.lower() not in found:
            raise DatabaseError(
                f"table {shape.table!r} has no column {column!r}",
                where=where,
                hint="columns='attribute=column, …' says what they are called",
            )
        name, type_, collation = found[column.lower()]
        charset = None if collation is None else str(collation).partition("_")[0]
        fields.append(field_of(shape.table, name, type_, charset, wanted))
    return fields
