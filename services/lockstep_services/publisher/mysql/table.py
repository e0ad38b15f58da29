"""A table in MySQL or MariaDB: rows and cursor in one transaction, as in PostgreSQL.

Exactly once: each transaction moves the cursor from where this publisher believes it to be, under
the epoch with which it took it over, or changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
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
    quoted,
)
from lockstep.events import FencedError, Operation, OutputRow
from lockstep.telemetry import get_logger
from lockstep_services.publisher.contract import RefusedRow, SinkBinding
from lockstep_services.publisher.mysql.existing import (
    Column,
    columns_of,
    indexes_of,
    may_clash,
    vague_columns,
)
from lockstep_services.publisher.mysql.sql import (
    COLLATION,
    CREATE_CURSORS,
    EXACT,
    MOVE,
    TAKE_OVER,
    TAKEN,
    TableSql,
)
from lockstep_services.publisher.rdbms.changes import one_by_one, statements
from lockstep_services.publisher.rdbms.table_sink import Errors

IDLE_S: Final = 60
"""A silent client is gone, and its transaction with it."""
KEYS_AT_ONCE: Final = 500
"""Of which one question asks whether the table tells them apart."""
SETTINGS: Final = "sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', sql_notes=0"
"""What does not fit is an error, and is not cut off; that a table is there already is no news."""


class DatabaseAwayError(Exception):
    """The server cannot be had just now."""


class MysqlConnections:
    """A lazily opened pool of one database. Its sessions are in the server's zone: what the server
    itself fills in, such as CURRENT_TIMESTAMP, is the time that it gives other programs."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._pool: Any = None

    async def pool(self) -> Any:
        """The open pool."""
        if self._pool is None:
            one = self._datasource
            seconds = max(1, one.statement_timeout_ms // 1000)
            self._pool = await aiomysql.create_pool(
                **parameters_of(
                    one,
                    f"{SETTINGS}, wait_timeout={IDLE_S}, innodb_lock_wait_timeout={seconds}",
                ),
                minsize=0,
                maxsize=one.max_connections,
                pool_recycle=IDLE_S // 2,
                client_flag=CLIENT.FOUND_ROWS,
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
        self._may_clash = False
        self._vague_key = ""
        self._log = get_logger()

    async def take_over(self) -> int:
        """Two publishers that start together both find the tables: making them is one step."""
        async with self._connections.transaction() as cursor:
            await cursor.execute(CREATE_CURSORS)
            await cursor.execute(EXACT)
            exact = sorted(one[0] for one in await cursor.fetchall())
            collation = exact[-1] if exact else COLLATION
            await cursor.execute(self._sql.create(collation), ())
            await self._look_at(cursor, collation)
        async with self._connections.transaction() as cursor:
            await cursor.execute(TAKE_OVER, (self._binding.key,))
            await cursor.execute(TAKEN, (self._binding.key,))
            self._epoch, sequence = await cursor.fetchone()
        return int(sequence)

    async def _look_at(self, cursor: Any, collation: str) -> None:
        """A table that somebody else made has to tell rows apart as this sink does: without an
        index that says so MySQL would insert a key's row again and again."""
        await cursor.execute(self._sql.columns, ())
        columns = columns_of(await cursor.fetchall())
        vague = vague_columns(self._binding.schema, columns)
        cut = frozenset(name for name, one in vague.items() if one.cuts_blanks)
        self._sql = replace(self._sql, vague=frozenset(vague), cut=cut)
        if not self._key:
            return
        await cursor.execute(self._sql.unique, ())
        indexes = indexes_of(await cursor.fetchall())
        key = {name.lower() for name in self._key}
        if not any(key == one.columns for one in indexes):
            raise ValueError(
                f"it is there already, and has no primary key or unique index of"
                f" {', '.join(self._key)}"
            )
        self._may_clash = may_clash(self._binding.schema, key, indexes, columns)
        self._vague_key = ""
        if vague_key := [vague[name] for name in self._key if name in vague]:
            await cursor.execute(self._sql.created, ())
            _, created, *_ = await cursor.fetchone()
            self._note_vague(vague_key, collation, created)

    def _note_vague(self, columns: Sequence[Column], collation: str, created: str) -> None:
        """Says which columns of the key cannot tell all keys apart, and what helps. No statement
        where that would take something from a column that is not known here."""
        table = self._sql.table
        called = ", ".join(f"{one.name} ({one.collation})" for one in columns)
        wanted = ", ".join(one.wanted(collation) for one in columns)
        changes = [change for one in columns if (change := one.mending(collation, created))]
        is_known = len(changes) == len(columns)
        statement = f"ALTER TABLE {quoted(table)} {', '.join(changes)}" if is_known else None
        helps = statement or f"it has to be {wanted}"
        self._vague_key = f"the collation of {called} takes the two for one: {helps}"
        self._log.warning(
            "a table cannot tell all keys apart: rows whose key it takes for another one's are"
            " refused",
            app=self._binding.app, sink=self._binding.name, table=table, columns=called,
            wanted=wanted, statement=statement,
        )  # fmt: skip

    async def transact(self, rows: Sequence[OutputRow], expected: int, up_to: int) -> None:
        async with self._connections.transaction() as cursor:
            place = self._binding.key, self._epoch, expected
            if await cursor.execute(MOVE, (up_to, *place)) != 1:
                raise FencedError(
                    "another publisher has taken this sink over", where=self._binding.key
                )
            await self._write(cursor, rows)

    async def find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """In a transaction that is rolled back. Rows that go in stay until its end: what comes
        behind them may be refused for them."""
        refused, new = [], []
        async with self._connections.transaction() as cursor:
            for candidates in one_by_one(rows, self._binding.schema, self._key):
                if self._may_clash and await self._is_new(cursor, candidates[0]):
                    new.append(candidates)
                else:
                    refused += await self._refused(cursor, candidates)
            for candidates in new:
                refused += await self._refused(cursor, candidates)
            await cursor.execute("ROLLBACK")
        return refused

    async def _is_new(self, cursor: Any, row: OutputRow) -> bool:
        """Whether it is one that `_upsert` inserts, behind all rows that it updates."""
        if row.operation is Operation.DELETE:
            return False
        names = self._binding.schema.names
        values = [row.data[names.index(name)] for name in self._key]
        try:
            return not await cursor.execute(self._sql.there, values)
        except self.unfit as error:
            _raise_if_passing(error)
            return False  # a key that does not fit: writing it says so, too

    async def _refused(self, cursor: Any, candidates: Sequence[OutputRow]) -> list[RefusedRow]:
        """Those in front of the first one that goes in."""
        refused = []
        for row in candidates:
            await cursor.execute("SAVEPOINT one")
            try:
                await self._write(cursor, [row])
                break
            except self.unfit as error:
                _raise_if_passing(error)
                refused.append(RefusedRow(row, str(error)))
                await cursor.execute("ROLLBACK TO SAVEPOINT one")
        return refused

    async def _write(self, cursor: Any, rows: Sequence[OutputRow]) -> None:
        sql = self._sql
        for statement, found in statements(rows, self._binding.schema, self._key, sql):
            given = list(zip(*found, strict=True))
            if self._key and statement == sql.upsert:
                await self._upsert(cursor, given)
                continue
            if statement != sql.insert:
                names = self._key or self._binding.schema.names
                given = [sql.exact(names, one) for one in given]
            await cursor.executemany(statement, given)

    async def _upsert(self, cursor: Any, rows: Sequence[tuple[Any, ...]]) -> None:
        """MySQL's own statement would change another key's row, where the new one clashes with that
        by another unique index, or where the key's columns take the two keys for one."""
        sql, names = self._sql, self._binding.schema.names
        keys = [tuple(row[names.index(name)] for name in self._key) for row in rows]
        if self._may_clash:
            places = [names.index(name) for name in sql.changed]
            update, new = sql.update, []
            for row, key in zip(rows, keys, strict=True):
                if not await cursor.execute(update, (*(row[at] for at in places), *key)):
                    new.append(row)
            await cursor.executemany(sql.insert, new)
        else:
            await cursor.executemany(sql.upsert, rows)
        if not self._vague_key:
            return
        for start in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[start : start + KEYS_AT_ONCE]
            given = [value for key in some for value in sql.exact(self._key, key)]
            if await cursor.execute(sql.alike(len(some)), given):
                found = ", ".join(map(str, await cursor.fetchone()))
                raise ValueError(f"there is a row with the key {found!r}, and {self._vague_key}")


def _raise_if_passing(error: Exception) -> None:
    """No row is at fault for it."""
    if isinstance(error, pymysql.MySQLError) and passes(error):
        raise error
