"""@store(type='rdbms') and @sink(type='rdbms'): rows and cursor in one PostgreSQL transaction.

Exactly once: the cursor lies beside the rows; each transaction moves it from where this publisher
believes it to be, under the epoch this publisher took it over with, or changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import asyncpg

from lockstep.events import FencedError, Operation, OutputRow, UnavailableError
from lockstep.store.postgres import why_away
from lockstep_services.publisher.contract import (
    Batch,
    RefusedRow,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)
from lockstep_services.publisher.rdbms.changes import columns, keyed_changes, values
from lockstep_services.publisher.rdbms.connections import Connections
from lockstep_services.publisher.rdbms.sql import CREATE_CURSORS, MOVE, TAKE_OVER, TableSql

AWAY: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.QueryCanceledError,
    asyncpg.OutOfMemoryError,
    asyncpg.DiskFullError,
    ConnectionError,
    TimeoutError,
    OSError,
)
UNFIT: Final = (asyncpg.PostgresError, asyncpg.DataError, OverflowError, ValueError, TypeError)


class RdbmsSink:
    """One table. `key` is empty for streams: every row is inserted."""

    waits_for_ever = True
    takes_again = True
    at_once = None

    def __init__(
        self, binding: SinkBinding, table: str, key: tuple[str, ...], connections: Connections
    ) -> None:
        self.binding = binding
        self._sql = TableSql(table, binding.schema, key)
        self._key = key
        self._connections = connections
        self._epoch = 0
        self._sequence = 0

    async def open(self) -> int:
        """Creates what is missing and takes the cursor over: older publishers are shut out."""
        pool = await self._connections.pool()
        try:
            async with pool.acquire() as connection, connection.transaction():
                # Two publishers that start together would trip over each other's CREATE TABLE.
                await connection.execute("SELECT pg_advisory_xact_lock(7235471)")
                await connection.execute(CREATE_CURSORS)
                await connection.execute(self._sql.create)
                taken = await connection.fetchrow(TAKE_OVER, self.binding.key)
        except AWAY as error:
            raise UnavailableError(
                f"the database is away: {why_away(error)}", where=self.binding.key
            ) from error
        except asyncpg.PostgresError as error:
            raise SinkSetupError(
                f"the table cannot be used: {error}", where=self.binding.key
            ) from error
        self._epoch, self._sequence = taken["epoch"], taken["sequence"]
        return self._sequence

    async def deliver(self, batch: Batch) -> None:
        """All rows and the cursor, or nothing."""
        try:
            await self._transact(batch)
        except AWAY as error:
            raise UnavailableError(
                f"the database is away: {why_away(error)}", where=self.binding.key
            ) from error
        except UNFIT as error:
            refused = await self._find_refused(batch.rows)
            if not refused:
                refused = [RefusedRow(row, str(error)) for row in batch.rows]
            raise RowsRefusedError(refused, where=self.binding.key) from error
        self._sequence = batch.up_to

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        """All: a transaction is done or has changed nothing."""
        return batch.rows

    async def begin_again(self) -> None:
        """Rows are written whatever their identity."""

    async def close(self) -> None:
        """The connections are shared and stay."""

    async def _transact(self, batch: Batch) -> None:
        pool = await self._connections.pool()
        async with pool.acquire() as connection, connection.transaction():
            moved = await connection.execute(
                MOVE, self.binding.key, self._epoch, self._sequence, batch.up_to
            )
            if moved != "UPDATE 1":
                raise FencedError(
                    "another publisher has taken this sink over", where=self.binding.key
                )
            await self._write(connection, batch.rows)

    async def _find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """Tries each row alone, in a transaction that is rolled back."""
        refused = []
        pool = await self._connections.pool()
        try:
            async with pool.acquire() as connection:
                probe = connection.transaction()
                await probe.start()
                for row in rows:
                    try:
                        async with connection.transaction():
                            await self._write(connection, [row])
                    except UNFIT as error:
                        refused.append(RefusedRow(row, str(error)))
                await probe.rollback()
        except AWAY as error:
            raise UnavailableError(
                f"the database is away: {why_away(error)}", where=self.binding.key
            ) from error
        return refused

    async def _write(self, connection: asyncpg.Connection, rows: Sequence[OutputRow]) -> None:
        if not rows:
            return
        schema = self.binding.schema
        if self._key:
            changes = keyed_changes(rows, schema, self._key)
            if changes.deletes:
                await connection.execute(self._sql.delete, *changes.deletes)
            if changes.upserts:
                await connection.execute(self._sql.upsert, *changes.upserts)
            return
        if all(row.operation is not Operation.DELETE for row in rows):
            await connection.execute(self._sql.insert, *columns(rows, schema))
            return
        for row in rows:
            if row.operation is Operation.DELETE:
                await connection.execute(self._sql.delete_one, *values(row, schema))
            else:
                await connection.execute(self._sql.insert, *columns([row], schema))
