"""What PostgreSQL lets a sink's user do to its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from lockstep.events import Operation, OutputRow, UnavailableError
from lockstep_services.publisher.rdbms.sql import TableSql, quoted

HELD: Final = """
SELECT bool_and(has_column_privilege(attrelid, attnum, 'INSERT')) AS "INSERT",
    bool_and(has_column_privilege(attrelid, attnum, 'UPDATE') OR attname = ANY(key)) AS "UPDATE",
    bool_and(has_column_privilege(attrelid, attnum, 'SELECT')) AS "SELECT",
    bool_and(has_table_privilege(attrelid, 'DELETE')) AS "DELETE",
    bool_and(has_column_privilege(attrelid, attnum, 'SELECT') OR attname <> ALL(key)) AS finds
FROM pg_attribute, (SELECT $3::text[]::name[] AS key) AS given
WHERE attrelid = $1::text::regclass AND attname = ANY($2::text[]::name[])"""
"""Rights on a table and some columns of it, by others of which a row is found. An upsert reads what
it writes: `EXCLUDED.v` wants SELECT on `v`."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The rights that are not there, to write a row and to delete one."""

    to_write: Sequence[str] = ()
    to_delete: Sequence[str] = ()

    def reason(self, row: OutputRow, error: asyncpg.InsufficientPrivilegeError) -> str:
        """Why the row does not go in. The server does not say which right it wants."""
        is_gone = row.operation is Operation.DELETE
        lacks = self.to_delete if is_gone else self.to_write
        return f"{error}: the sink's user lacks {', '.join(lacks)}" if lacks else str(error)


async def missing_rights(
    connection: asyncpg.Connection,
    sql: TableSql,
    error: asyncpg.InsufficientPrivilegeError,
    where: str,
) -> Missing:
    """What stands behind an error. A trigger or a policy that refuses a row says the same: then
    none is missing. UnavailableError where the sink can do nothing at all, as nobody means that."""
    names = list(sql.schema.names)
    try:
        held = await connection.fetchrow(HELD, quoted(sql.table), names, list(sql.key) or names)
    except asyncpg.InsufficientPrivilegeError as denied:
        raise _nothing(denied, where, "USAGE on the table's schema") from denied
    to_write = ("INSERT", "UPDATE", "SELECT") if sql.key else ("INSERT",)
    to_find = [] if held["finds"] else ["SELECT"]
    missing = Missing(
        [right for right in to_write if not held[right]],
        [*([] if held["DELETE"] else ["DELETE"]), *to_find],
    )
    if missing.to_write and missing.to_delete:
        rights = ", ".join(dict.fromkeys((*missing.to_write, *missing.to_delete)))
        raise _nothing(error, where, f"{rights} on the table")
    return missing


def _nothing(
    error: asyncpg.InsufficientPrivilegeError, where: str, rights: str
) -> UnavailableError:
    return UnavailableError(
        f"the database lets this sink write nothing: {error}",
        where=where,
        hint=f"grant {rights} to the sink's user",
    )
