"""A table in an SQLite file: rows and cursor in one transaction, as in PostgreSQL.

Exactly once: each transaction moves the cursor from where this publisher believes it to be, under
the epoch with which it took it over, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.databases.sqlite.files import (
    Connection,
    SqliteAwayError,
    SqliteFile,
    SqliteRefusedError,
    transaction,
    translated,
)
from lockstep.events import FencedError, OutputRow
from lockstep_services.publisher.contract import RefusedRow, SinkBinding
from lockstep_services.publisher.rdbms.changes import Columns, one_by_one, statements
from lockstep_services.publisher.rdbms.table_sink import Errors
from lockstep_services.publisher.sqlite.sql import (
    CREATE_CURSORS,
    MOVE,
    TAKE_OVER,
    TAKEN,
    TableSql,
)


class SqliteTable:
    """See `TableDatabase`. Without a `key` every row is inserted. The file is made where there is
    none when the sink begins; one that goes later is missed, and is not made again."""

    away: Errors = (SqliteAwayError,)
    unfit: Errors = (SqliteRefusedError, OverflowError, ValueError, TypeError)

    def __init__(
        self, binding: SinkBinding, table: str, key: tuple[str, ...], file: SqliteFile
    ) -> None:
        self._binding = binding
        self._sql = TableSql(table, binding.schema, key)
        self._key = key
        self._file = file
        self._epoch = 0

    async def take_over(self) -> int:
        """See `TableDatabase`."""

        def work(connection: Connection) -> tuple[int, int]:
            with transaction(connection):
                connection.execute(CREATE_CURSORS)
                connection.execute(self._sql.create)
                connection.execute(self._sql.probe, [None] * len(self._binding.schema.names))
                return taken_over(connection, self._binding.key)

        self._epoch, sequence = await self._file.change(work, may_make=True)
        return sequence

    async def transact(self, rows: Sequence[OutputRow], expected: int, up_to: int) -> None:
        """See `TableDatabase`."""
        place = up_to, self._binding.key, self._epoch, expected

        def work(connection: Connection) -> bool:
            with transaction(connection):
                if connection.execute(MOVE, place).rowcount != 1:
                    return False
                self._write(connection, rows)
            return True

        if not await self._file.change(work):
            raise FencedError("another publisher has taken this sink over", where=self._binding.key)

    async def find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """In a transaction that is rolled back. Rows that go in stay until its end: what comes
        behind them may be refused for them."""
        schema = self._binding.schema

        def work(connection: Connection) -> list[RefusedRow]:
            refused = []
            connection.execute("BEGIN IMMEDIATE")
            for candidates in one_by_one(rows, schema, self._key):
                for row in candidates:
                    reason = self._tried(connection, row)
                    if reason is None:
                        break
                    refused.append(RefusedRow(row, reason))
            connection.execute("ROLLBACK")
            return refused

        return await self._file.change(work)

    def _tried(self, connection: Connection, row: OutputRow) -> str | None:
        """Why it does not go in."""
        reason = None
        connection.execute("SAVEPOINT one")
        try:
            with translated():
                self._write(connection, [row])
        except self.unfit as error:
            reason = str(error)
            connection.execute("ROLLBACK TO SAVEPOINT one")
        connection.execute("RELEASE SAVEPOINT one")
        return reason

    def _write(self, connection: Connection, rows: Sequence[OutputRow]) -> None:
        for sql, found in statements(rows, self._binding.schema, self._key, self._sql):
            _check_numbers(found)
            connection.executemany(sql, list(zip(*found, strict=True)))


def taken_over(connection: Connection, sink: str) -> tuple[int, int]:
    """The epoch under which a sink's cursor is ours from now on, and where it is."""
    connection.execute(TAKE_OVER, (sink,))
    epoch, sequence = connection.execute(TAKEN, (sink,)).fetchone()
    return int(epoch), int(sequence)


def _check_numbers(columns: Columns) -> None:
    """SQLite would keep NaN as null. ValueError."""
    if any(isinstance(value, float) and value != value for column in columns for value in column):
        raise ValueError("SQLite has no NaN")


def as_values(values: Sequence[Any]) -> list[Any]:
    """Parameters of a statement. ValueError."""
    _check_numbers([list(values)])
    return list(values)
