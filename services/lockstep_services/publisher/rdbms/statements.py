"""Statements of apps in PostgreSQL: a change and the record of it in one transaction.

A change is made once: its record says that it was, and what it was answered. A publisher that was
replaced makes none any more: each transaction wants the epoch with which this one took over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Final

import asyncpg

from lockstep.databases.postgres.connections import Connections
from lockstep.databases.postgres.values import CASTS
from lockstep.events import AttributeType, FencedError, UnavailableError
from lockstep_services.publisher.rdbms.postgres import PostgresTable
from lockstep_services.publisher.rdbms.sql import CREATE_CURSORS, TAKE_OVER
from lockstep_services.publisher.rdbms.table_sink import Errors

KEPT: Final = 200_000
"""Records of a sink: no batch has more rows, and only a batch's rows come again."""

CREATE_CALLS: Final = """
CREATE TABLE IF NOT EXISTS lockstep_sink_calls (
    sink text NOT NULL, call text NOT NULL, number bigint NOT NULL, records integer NOT NULL,
    PRIMARY KEY (sink, call)
)"""
CREATE_ORDER: Final = """
CREATE INDEX IF NOT EXISTS lockstep_sink_calls_number ON lockstep_sink_calls (sink, number)"""
FORGET: Final = "DELETE FROM lockstep_sink_calls WHERE sink = $1"
NEXT: Final = """
UPDATE lockstep_sink_cursors SET sequence = sequence + 1 WHERE sink = $1 AND epoch = $2
RETURNING sequence"""
KNOWN: Final = "SELECT records FROM lockstep_sink_calls WHERE sink = $1 AND call = $2"
NOTE: Final = """
INSERT INTO lockstep_sink_calls (sink, call, number, records) VALUES ($1, $2, $3, $4)"""
DROP: Final = "DELETE FROM lockstep_sink_calls WHERE sink = $1 AND number <= $2"


class PostgresStatements:
    """See `Statements`. `sink`: under which its records are kept."""

    away: Errors = PostgresTable.away
    unfit: Errors = PostgresTable.unfit

    def __init__(self, sink: str, connections: Connections) -> None:
        self._sink = sink
        self._connections = connections
        self._epoch = 0

    async def take_over(self, *, forget: bool) -> None:
        """See `Statements`."""
        pool = await self._connections.pool()
        try:
            async with pool.acquire() as connection, connection.transaction():
                # Two publishers that start together would trip over each other's CREATE TABLE.
                await connection.execute("SELECT pg_advisory_xact_lock(7235471)")
                for statement in (CREATE_CURSORS, CREATE_CALLS, CREATE_ORDER):
                    await connection.execute(statement)
                taken = await connection.fetchrow(TAKE_OVER, self._sink)
                if forget:
                    await connection.execute(FORGET, self._sink)
        except asyncpg.InsufficientPrivilegeError as error:
            raise UnavailableError(
                f"the database lets this sink note nothing: {error}",
                where=self._sink,
                hint="the sink's user needs CREATE on its schema, and all rights on"
                " lockstep_sink_cursors and lockstep_sink_calls",
            ) from error
        self._epoch = taken["epoch"]

    async def change(
        self, call: str, parts: Sequence[str], types: Sequence[AttributeType], values: Sequence[Any]
    ) -> int:
        """See `Statements`."""
        pool = await self._connections.pool()
        async with (
            self._with_rights(parts, types, values),
            pool.acquire() as connection,
            connection.transaction(),
        ):
            number = await connection.fetchval(NEXT, self._sink, self._epoch)
            if number is None:
                raise FencedError("another publisher has taken this sink over", where=self._sink)
            known = await connection.fetchval(KNOWN, self._sink, call)
            if known is not None:
                return int(known)
            done = await connection.execute(marked(parts, types), *values)
            records = int(done.rpartition(" ")[2])  # the command's tag: INSERT 0 1
            await connection.execute(NOTE, self._sink, call, number, records)
            await connection.execute(DROP, self._sink, number - KEPT)
        return records

    async def rows(
        self,
        parts: Sequence[str],
        types: Sequence[AttributeType],
        values: Sequence[Any],
        max_rows: int,
    ) -> list[tuple[Any, ...]]:
        """See `Statements`."""
        pool = await self._connections.pool()
        try:
            async with (
                self._with_rights(parts, types, values),
                pool.acquire() as connection,
                connection.transaction(readonly=True),
            ):
                cursor = await connection.cursor(marked(parts, types), *values)
                return [tuple(row) for row in await cursor.fetch(max_rows + 1)]
        except asyncpg.ReadOnlySQLTransactionError as error:
            raise ValueError(str(error)) from error  # ours, not that of a server that may not write

    @asynccontextmanager
    async def _with_rights(
        self, parts: Sequence[str], types: Sequence[AttributeType], values: Sequence[Any]
    ) -> AsyncIterator[None]:
        """UnavailableError where a right is missing for the statement, which its operator can mend.
        A trigger or a policy that refuses what the values are says the same, but only when the
        statement is made: a plan of it wants the rights alone."""
        try:
            yield
        except asyncpg.InsufficientPrivilegeError as error:
            if await self._is_denied(f"EXPLAIN {marked(parts, types)}", values):
                raise UnavailableError(
                    f"the database does not let this sink make its statement: {error}",
                    where=self._sink,
                    hint="grant the sink's user what the statement needs",
                ) from error
            raise

    async def _is_denied(self, statement: str, values: Sequence[Any]) -> bool:
        pool = await self._connections.pool()
        try:
            async with pool.acquire() as connection, connection.transaction(readonly=True):
                await connection.fetch(statement, *values)
        except asyncpg.InsufficientPrivilegeError:
            return True
        except asyncpg.SyntaxOrAccessError:  # there are no plans of it
            return False
        return False


def marked(parts: Sequence[str], types: Sequence[AttributeType]) -> str:
    """The statement with the server's own marks, each of its attribute's type, as drivers of Java
    send them."""
    numbers = count(1)
    marks = [f"${next(numbers)}::{CASTS[kind]}" for kind in types]
    return "".join(part + mark for part, mark in zip(parts, [*marks, ""], strict=True))
