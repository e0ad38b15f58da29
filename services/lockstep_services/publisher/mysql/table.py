"""A table in MySQL or MariaDB: rows and cursor in one transaction, as in PostgreSQL.

Exactly once: each transaction moves the cursor from where this publisher believes it to be, under
the epoch with which it took it over, or changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import aiomysql
import pymysql
from pymysql.constants import CLIENT

from lockstep.databases import Datasource
from lockstep.databases.mysql.connections import (
    CONNECT_TIMEOUT_S,
    check_encrypted,
    parameters_of,
    passes,
)
from lockstep.events import FencedError, OutputRow
from lockstep_services.publisher.contract import RefusedRow, SinkBinding
from lockstep_services.publisher.mysql.sql import (
    CREATE_CURSORS,
    MOVE,
    TAKE_OVER,
    TAKEN,
    TableSql,
)
from lockstep_services.publisher.rdbms.changes import statements
from lockstep_services.publisher.rdbms.table_sink import Errors

IDLE_S: Final = 60
"""A silent client is gone, and its transaction with it."""
SETTINGS: Final = "sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_notes=0"
"""What does not fit is an error, and is not cut off; that a table is there already is no news."""


class DatabaseAwayError(Exception):
    """The server cannot be had just now."""


class MysqlConnections:
    """A lazily opened pool of one database."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._pool: Any = None

    async def pool(self) -> Any:
        """The open pool."""
        if self._pool is None:
            one = self._datasource
            seconds = max(1, one.statement_timeout_ms // 1000)
            self._pool = await aiomysql.create_pool(
                **parameters_of(one),
                minsize=0,
                maxsize=one.max_connections,
                pool_recycle=IDLE_S // 2,
                client_flag=CLIENT.FOUND_ROWS,
                init_command=f"SET SESSION {SETTINGS}, wait_timeout={IDLE_S},"
                f" innodb_lock_wait_timeout={seconds}",
            )
        return self._pool

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A cursor; committed at the end, or the connection ends with what was begun."""
        limit_s = self._datasource.statement_timeout_ms / 1000
        try:
            async with asyncio.timeout(limit_s + CONNECT_TIMEOUT_S):
                pool = await self.pool()
                connection = await pool.acquire()
                is_done = False
                try:
                    check_encrypted(connection, self._datasource)
                    await connection.begin()
                    async with connection.cursor() as cursor:
                        yield cursor
                    await connection.commit()
                    is_done = True
                finally:
                    if not is_done:
                        connection.close()
                    pool.release(connection)
        except pymysql.MySQLError as error:
            if passes(error):
                raise DatabaseAwayError(str(error)) from error
            raise

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()
            await pool.wait_closed()


class MysqlTable:
    """See `TableDatabase`. Without a `key` every row is inserted."""

    away: Errors = (DatabaseAwayError, ConnectionError, TimeoutError, OSError)
    unfit: Errors = (pymysql.MySQLError, OverflowError, ValueError, TypeError)

    def __init__(
        self, binding: SinkBinding, table: str, key: tuple[str, ...], connections: MysqlConnections
    ) -> None:
        self._binding = binding
        self._sql = TableSql(table, binding.schema, key)
        self._key = key
        self._connections = connections
        self._epoch = 0

    async def take_over(self) -> int:
        """Two publishers that start together both find the tables: making them is one step."""
        async with self._connections.transaction() as cursor:
            await cursor.execute(CREATE_CURSORS)
            await cursor.execute(self._sql.create, ())
            await self._check_key(cursor)
        async with self._connections.transaction() as cursor:
            await cursor.execute(TAKE_OVER, (self._binding.key,))
            await cursor.execute(TAKEN, (self._binding.key,))
            self._epoch, sequence = await cursor.fetchone()
        return int(sequence)

    async def _check_key(self, cursor: Any) -> None:
        """A table that somebody else made has to tell rows apart as this sink does: without an
        index that says so MySQL would insert a key's row again and again."""
        if not self._key:
            return
        await cursor.execute(self._sql.unique, ())
        unique: dict[str, set[str]] = {}
        for _, _, index, _, column, *_ in await cursor.fetchall():
            unique.setdefault(index, set()).add(str(column).lower())
        if {name.lower() for name in self._key} not in unique.values():
            raise ValueError(
                f"it is there already, and has no primary key or unique index of"
                f" {', '.join(self._key)}"
            )

    async def transact(self, rows: Sequence[OutputRow], expected: int, up_to: int) -> None:
        async with self._connections.transaction() as cursor:
            place = self._binding.key, self._epoch, expected
            if await cursor.execute(MOVE, (up_to, *place)) != 1:
                raise FencedError(
                    "another publisher has taken this sink over", where=self._binding.key
                )
            await self._write(cursor, rows)

    async def find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """In a transaction that is rolled back, row by row."""
        refused = []
        async with self._connections.transaction() as cursor:
            for row in rows:
                await cursor.execute("SAVEPOINT one")
                try:
                    await self._write(cursor, [row])
                except self.unfit as error:
                    if isinstance(error, pymysql.MySQLError) and passes(error):
                        raise
                    refused.append(RefusedRow(row, str(error)))
                await cursor.execute("ROLLBACK TO SAVEPOINT one")
        return refused

    async def _write(self, cursor: Any, rows: Sequence[OutputRow]) -> None:
        for sql, found in statements(rows, self._binding.schema, self._key, self._sql):
            await cursor.executemany(sql, list(zip(*found, strict=True)))
