"""Statements of apps in MySQL or MariaDB: a change and the record of it in one transaction, as in
PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pymysql

from lockstep.databases.mysql.connections import READS_ONLY, passes
from lockstep.events import AttributeType, FencedError
from lockstep_services.publisher.mysql.sql import CREATE_CURSORS, KEY_TEXT, TAKE_OVER, TAKEN
from lockstep_services.publisher.mysql.table import MysqlConnections, MysqlTable
from lockstep_services.publisher.rdbms.statements import KEPT
from lockstep_services.publisher.rdbms.table_sink import Errors

CREATE_CALLS: Final = f"""
CREATE TABLE IF NOT EXISTS lockstep_sink_calls (
    sink {KEY_TEXT} NOT NULL, number bigint NOT NULL, call_id {KEY_TEXT} NOT NULL,
    records int NOT NULL, PRIMARY KEY (sink, number), UNIQUE KEY (sink, call_id)
) ENGINE=InnoDB"""
FORGET: Final = "DELETE FROM lockstep_sink_calls WHERE sink = %s"
NEXT: Final = """
UPDATE lockstep_sink_cursors SET sequence = sequence + 1 WHERE sink = %s AND epoch = %s"""
KNOWN: Final = "SELECT records FROM lockstep_sink_calls WHERE sink = %s AND call_id = %s"
NOTE: Final = """
INSERT INTO lockstep_sink_calls (sink, call_id, number, records) VALUES (%s, %s, %s, %s)"""
DROP: Final = "DELETE FROM lockstep_sink_calls WHERE sink = %s AND number <= %s"


class MysqlStatements:
    """See `Statements`. `sink`: under which its records are kept."""

    away: Errors = MysqlTable.away
    unfit: Errors = MysqlTable.unfit

    def __init__(self, sink: str, connections: MysqlConnections) -> None:
        self._sink = sink
        self._connections = connections
        self._epoch = 0

    async def take_over(self, *, forget: bool) -> None:
        """See `Statements`. Making tables ends a transaction, so it has one of its own."""
        async with self._connections.transaction() as cursor:
            await cursor.execute(CREATE_CURSORS)
            await cursor.execute(CREATE_CALLS)
        async with self._connections.transaction() as cursor:
            await cursor.execute(TAKE_OVER, (self._sink,))
            await cursor.execute(TAKEN, (self._sink,))
            (self._epoch, _) = await cursor.fetchone()
            if forget:
                await cursor.execute(FORGET, (self._sink,))

    async def change(
        self, call: str, parts: Sequence[str], types: Sequence[AttributeType], values: Sequence[Any]
    ) -> int:
        """See `Statements`. `types` do not matter: the server converts."""
        async with self._connections.transaction() as cursor:
            if await cursor.execute(NEXT, (self._sink, self._epoch)) != 1:
                raise FencedError("another publisher has taken this sink over", where=self._sink)
            await cursor.execute(TAKEN, (self._sink,))
            (_, number) = await cursor.fetchone()
            if await cursor.execute(KNOWN, (self._sink, call)):
                (known,) = await cursor.fetchone()
                return int(known)
            records = int(await cursor.execute(marked(parts), tuple(values)))
            await cursor.execute(NOTE, (self._sink, call, number, records))
            await cursor.execute(DROP, (self._sink, number - KEPT))
        return records

    async def rows(
        self,
        parts: Sequence[str],
        types: Sequence[AttributeType],
        values: Sequence[Any],
        max_rows: int,
    ) -> list[tuple[Any, ...]]:
        """See `Statements`."""
        async with self._connections.transaction() as cursor:
            await cursor.execute("COMMIT")
            await cursor.execute(f"SET SESSION sql_select_limit = {max_rows + 1}")
            await cursor.execute("START TRANSACTION READ ONLY")
            try:
                await cursor.execute(marked(parts), tuple(values))
                found = await cursor.fetchall()
            except pymysql.MySQLError as error:
                if error.args[:1] == (READS_ONLY,):  # by our wish, not the server's
                    raise ValueError(str(error)) from error
                if not passes(error):
                    await _as_before(cursor)
                raise
            await _as_before(cursor)
        return [tuple(row) for row in found]


async def _as_before(cursor: Any) -> None:
    """The connection goes back to the pool as it was."""
    await cursor.execute("ROLLBACK")
    await cursor.execute("SET SESSION sql_select_limit = DEFAULT")


def marked(parts: Sequence[str]) -> str:
    """The statement with the driver's marks. The driver fills the values in, as texts of SQL."""
    return "%s".join(part.replace("%", "%%") for part in parts)
