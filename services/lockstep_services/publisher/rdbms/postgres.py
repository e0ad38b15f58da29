"""A table in PostgreSQL: rows and cursor in one transaction.

Exactly once: the cursor lies beside the rows; each transaction moves it from where this publisher
believes it to be, under the epoch this publisher took it over with, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from lockstep.databases.postgres.connections import Connections
from lockstep.databases.postgres.errors import PASSING
from lockstep.events import FencedError, OutputRow
from lockstep_services.publisher.contract import RefusedRow, SinkBinding
from lockstep_services.publisher.rdbms.changes import one_by_one, statements
from lockstep_services.publisher.rdbms.rights import Missing, missing_rights
from lockstep_services.publisher.rdbms.sql import (
    CREATE_CURSORS,
    MOVE,
    TAKE_OVER,
    TableSql,
)
from lockstep_services.publisher.rdbms.table_sink import Errors


class PostgresTable:
    """See `TableDatabase`. Without a `key` every row is inserted."""

    away: Errors = (
        *PASSING,
        asyncpg.PostgresSystemError,  # an I/O error below the server
        asyncpg.DataCorruptedError,
        asyncpg.IndexCorruptedError,
    )
    unfit: Errors = (asyncpg.PostgresError, asyncpg.DataError, OverflowError, ValueError, TypeError)

    def __init__(
        self, binding: SinkBinding, table: str, key: tuple[str, ...], connections: Connections
    ) -> None:
        self._binding = binding
        self._sql = TableSql(table, binding.schema, key)
        self._key = key
        self._connections = connections
        self._epoch = 0

    async def take_over(self) -> int:
        pool = await self._connections.pool()
        async with pool.acquire() as connection, connection.transaction():
            # Two publishers that start together would trip over each other's CREATE TABLE.
            await connection.execute("SELECT pg_advisory_xact_lock(7235471)")
            await connection.execute(CREATE_CURSORS)
            await connection.execute(self._sql.create)
            taken = await connection.fetchrow(TAKE_OVER, self._binding.key)
        self._epoch = taken["epoch"]
        return int(taken["sequence"])

    async def transact(self, rows: Sequence[OutputRow], expected: int, up_to: int) -> None:
        pool = await self._connections.pool()
        async with pool.acquire() as connection, connection.transaction():
            moved = await connection.execute(MOVE, self._binding.key, self._epoch, expected, up_to)
            if moved != "UPDATE 1":
                raise FencedError(
                    "another publisher has taken this sink over", where=self._binding.key
                )
            await self._write(connection, rows)

    async def find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """In a transaction that is rolled back. UnavailableError where the server lets this sink
        write no row whatsoever: its operator can mend that, and rows wait."""
        refused: list[tuple[OutputRow, Exception]] = []
        pool = await self._connections.pool()
        async with pool.acquire() as connection:
            probe = connection.transaction()
            await probe.start()
            for candidates in one_by_one(rows, self._binding.schema, self._key):
                for row in candidates:
                    error = await self._tried(connection, row)
                    if error is None:
                        break
                    refused.append((row, error))
            await probe.rollback()
            return await self._told(connection, refused)

    async def _tried(self, connection: asyncpg.Connection, row: OutputRow) -> Exception | None:
        """What the server says against it."""
        try:
            async with connection.transaction():
                await self._write(connection, [row])
        except self.away:  # some of them are server's errors, too
            raise
        except self.unfit as error:
            return error
        return None

    async def _told(
        self, connection: asyncpg.Connection, refused: Sequence[tuple[OutputRow, Exception]]
    ) -> list[RefusedRow]:
        told = []
        missing: Missing | None = None
        for row, error in refused:
            reason = str(error)
            if isinstance(error, asyncpg.InsufficientPrivilegeError):
                if missing is None:
                    missing = await missing_rights(connection, self._sql, error, self._binding.key)
                reason = missing.reason(row, error)
            told.append(RefusedRow(row, reason))
        return told

    async def _write(self, connection: asyncpg.Connection, rows: Sequence[OutputRow]) -> None:
        single = self._sql.delete_one
        for sql, found in statements(rows, self._binding.schema, self._key, self._sql):
            given = [column[0] for column in found] if sql == single else found
            await connection.execute(sql, *given)
