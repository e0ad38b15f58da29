"""Statements of apps in an SQLite file: a change and the record of it in one transaction, as in
PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.databases.sqlite.files import Connection, SqliteFile, transaction
from lockstep.events import AttributeType, FencedError
from lockstep_services.publisher.rdbms.statements import CREATE_ORDER, KEPT
from lockstep_services.publisher.rdbms.table_sink import Errors
from lockstep_services.publisher.sqlite.sql import CREATE_CURSORS
from lockstep_services.publisher.sqlite.table import SqliteTable, as_values, taken_over

CREATE_CALLS: Final = """
CREATE TABLE IF NOT EXISTS lockstep_sink_calls (
    sink text NOT NULL, call_id text NOT NULL, number integer NOT NULL, records integer NOT NULL,
    PRIMARY KEY (sink, call_id)
)"""
FORGET: Final = "DELETE FROM lockstep_sink_calls WHERE sink = ?"
NEXT: Final = """
UPDATE lockstep_sink_cursors SET sequence = sequence + 1 WHERE sink = ? AND epoch = ?"""
NUMBER: Final = "SELECT sequence FROM lockstep_sink_cursors WHERE sink = ?"
KNOWN: Final = "SELECT records FROM lockstep_sink_calls WHERE sink = ? AND call_id = ?"
NOTE: Final = """
INSERT INTO lockstep_sink_calls (sink, call_id, number, records) VALUES (?, ?, ?, ?)"""
DROP: Final = "DELETE FROM lockstep_sink_calls WHERE sink = ? AND number <= ?"


class SqliteStatements:
    """See `Statements`. `sink`: under which its records are kept."""

    away: Errors = SqliteTable.away
    unfit: Errors = SqliteTable.unfit

    def __init__(self, sink: str, file: SqliteFile) -> None:
        self._sink = sink
        self._file = file
        self._epoch = 0

    async def take_over(self, *, forget: bool) -> None:
        """See `Statements`."""

        def work(connection: Connection) -> int:
            with transaction(connection):
                for statement in (CREATE_CURSORS, CREATE_CALLS, CREATE_ORDER):
                    connection.execute(statement)
                epoch, _ = taken_over(connection, self._sink)
                if forget:
                    connection.execute(FORGET, (self._sink,))
            return epoch

        self._epoch = await self._file.change(work)

    async def change(
        self, call: str, parts: Sequence[str], types: Sequence[AttributeType], values: Sequence[Any]
    ) -> int:
        """See `Statements`. `types` do not matter: the columns convert."""
        sink, given = self._sink, as_values(values)

        def work(connection: Connection) -> int | None:
            with transaction(connection):
                if connection.execute(NEXT, (sink, self._epoch)).rowcount != 1:
                    return None
                known = connection.execute(KNOWN, (sink, call)).fetchone()
                if known is not None:
                    return int(known[0])
                [number] = connection.execute(NUMBER, (sink,)).fetchone()
                records = max(0, connection.execute("?".join(parts), given).rowcount)
                connection.execute(NOTE, (sink, call, number, records))
                connection.execute(DROP, (sink, number - KEPT))
            return records

        records = await self._file.change(work)
        if records is None:
            raise FencedError("another publisher has taken this sink over", where=sink)
        return records

    async def rows(
        self,
        parts: Sequence[str],
        types: Sequence[AttributeType],
        values: Sequence[Any],
        max_rows: int,
    ) -> list[tuple[Any, ...]]:
        """See `Statements`."""
        given = as_values(values)

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.execute("?".join(parts), given).fetchmany(max_rows + 1)

        return await self._file.ask(work)
