"""A PostgreSQL table, loaded and followed by logical decoding through plain SQL.

A replication slot keeps what has not been taken. It is looked at, and moved on when everything up
to there is durable. Between the two a crash costs nothing: the same comes again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import asyncpg

from lockstep.clock import Clock
from lockstep.databases.contract import (
    ChangeBatch,
    DatabaseError,
    Memory,
    RowChange,
    TableShape,
    batch_of,
)
from lockstep.databases.datasources import Datasource
from lockstep.databases.postgres.errors import told
from lockstep.databases.postgres.pgoutput import UNCHANGED
from lockstep.databases.postgres.slots import (
    LOOK_BYTES,
    LOOK_TIMEOUT_MS,
    advance,
    create_slot,
    drop_for_good,
    drop_slots,
    flushed,
    has_slot,
    lsn_number,
    lsn_text,
    peek,
    publish,
    taken_to,
    unpublish,
)
from lockstep.databases.postgres.transactions import Change, Decoder, Snapshot, Transaction
from lockstep.databases.postgres.values import check_fit, quoted, selected
from lockstep.store.postgres import Connecting, session_settings

ROWS_AT_ONCE: Final = 8_192
MOVE_EVERY_MS: Final = 1_000
CONNECT_TIMEOUT_S: Final = 5.0

GENERATION: Final = "load"
LIFE: Final = "life"
PATIENT: Final = "SET LOCAL idle_in_transaction_session_timeout = '10min'"
"""So long a load waits while the app's processors lag."""
COLUMNS: Final = """
SELECT a.attname, a.atttypid::int8, format_type(a.atttypid, a.atttypmod)
FROM pg_attribute a WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped"""


async def connected(datasource: Datasource, least_ms: int = 0) -> asyncpg.Connection:
    """A connection that gives up in time; a statement has `least_ms` at least."""
    connection: asyncpg.Connection = await Connecting()(
        datasource.dsn,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=max(datasource.statement_timeout_ms, least_ms) / 1000,
        server_settings=session_settings(datasource.statement_timeout_ms),
    )
    return connection


async def server_of(datasource: Datasource) -> str:
    """What answers, in few words. Errors: UnavailableError, DatabaseError."""
    async with told(datasource.name):
        connection = await connected(datasource)
        try:
            version = await connection.fetchval("SHOW server_version")
            level = await connection.fetchval("SHOW wal_level")
        finally:
            connection.terminate()
    return f"PostgreSQL {version}, wal_level={level}"


class PostgresFollowing:
    """See `Following`. `name`: of this app and table, for the slots and the publication. `life`:
    of the app; in each the table is loaded anew, as its state may be another."""

    def __init__(
        self,
        datasource: Datasource,
        shape: TableShape,
        name: str,
        memory: Memory,
        clock: Clock,
        *,
        poll_ms: int,
        life: int,
        publication: str | None = None,
    ) -> None:
        self._life = life
        self._datasource = datasource
        self._shape = shape
        self._name = name
        self._memory = memory
        self._clock = clock
        self._poll_ms = poll_ms
        self._given = publication
        self._where = f"{datasource.name}.{shape.table}"
        self._connection: Any = None
        self._selected = ", ".join(map(selected, shape.columns, shape.types))

    @property
    def _publication(self) -> str:
        return self._given or self._name

    def _slot(self, generation: int) -> str:
        return f"{self._name}_{generation}"

    async def changes(self) -> AsyncIterator[ChangeBatch | None]:
        """See `Following`."""
        async with told(self._where):
            connection = await connected(self._datasource, LOOK_TIMEOUT_MS)
            self._connection = connection
            decoder = await self._looked_at(connection)
            generation = await self._memory.get(GENERATION)
            if not await self._is_loaded(connection, generation):
                generation += 1
                await self._memory.put(GENERATION, generation)
                async for batch in self._load(connection, decoder, generation):
                    yield batch
            async for one in self._follow(connection, decoder, generation):
                yield one

    def told(self, *, was_there: bool) -> None:
        """See `Following`. Whoever looks at the slot gets the same under the same id."""

    async def forget(self) -> None:
        """See `Following`."""
        async with told(self._where):
            connection = await connected(self._datasource)
            try:
                await drop_for_good(connection, self._name, self._clock)
                if self._given is None:
                    await unpublish(connection, self._name)
            finally:
                connection.terminate()

    async def close(self) -> None:
        """See `Following`."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    def _slots(self, up_to: int) -> list[str]:
        return [self._slot(number) for number in range(max(1, up_to - 9), up_to + 1)]

    async def _is_loaded(self, connection: asyncpg.Connection, generation: int) -> bool:
        if not generation or await self._memory.get(LIFE) != self._life:
            return False
        if not await self._memory.get(_at(generation)):
            return False
        return await has_slot(connection, self._slot(generation))

    async def _looked_at(self, connection: asyncpg.Connection) -> Decoder:
        """The table has the columns, as types that fit."""
        table = quoted(self._shape.table)
        number = await connection.fetchval("SELECT to_regclass($1)::oid::int8", table)
        if number is None:
            raise DatabaseError(
                f"there is no table {self._shape.table!r}", where=self._where, hint="table.name='…'"
            )
        found = {name: rest for name, *rest in await connection.fetch(COLUMNS, table)}
        for column, wanted in zip(self._shape.columns, self._shape.types, strict=True):
            if column not in found:
                raise DatabaseError(
                    f"table {self._shape.table!r} has no column {column!r}",
                    where=self._where,
                    hint="columns='attribute=column, …' says what they are called",
                )
            type_, called = found[column]
            check_fit(self._shape.table, column, wanted, type_, called)
        return Decoder(self._shape, number)

    # --- the load --------------------------------------------------------------------------------

    async def _load(
        self, connection: asyncpg.Connection, decoder: Decoder, generation: int
    ) -> AsyncIterator[ChangeBatch]:
        """All rows as of one moment, then what was committed while they were read."""
        slot = self._slot(generation)
        await drop_slots(connection, self._slots(generation))
        await publish(connection, self._shape.table, self._name, self._given, self._where)
        begun = await create_slot(connection, slot)
        number = 0
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.execute(PATIENT)
            seen = Snapshot.read(await connection.fetchval("SELECT pg_current_snapshot()::text"))
            target = lsn_number(await connection.fetchval("SELECT pg_current_wal_lsn()::text"))
            async for rows in self._rows(connection):
                none = tuple(None for _ in self._shape.columns)
                first = [] if number else [[(RowChange.ALL_GONE, none)]]
                chunk = [(RowChange.ROW, tuple(row)) for row in rows]
                id_ = f"{slot}/{begun}/{number}"
                yield batch_of(id_, [*first, chunk], len(none), None)
                number += 1
        at = lsn_number(begun)
        while True:
            found, _ = await self._peek(connection, decoder, slot, target)
            found = [one for one in found if at < one.end <= target]
            if not found:
                break
            at = found[-1].end
            unseen = [one for one in found if not seen.has_seen(one.number)]
            batch = await self._batch(connection, slot, unseen, None)
            if batch is not None:
                yield batch
            await advance(connection, slot, at)
        await advance(connection, slot, target)
        await self._memory.put(_at(generation), target)
        await self._memory.put(LIFE, self._life)

    async def _rows(self, connection: asyncpg.Connection) -> AsyncIterator[Sequence[Any]]:
        """All of the table, many at once; nothing once where there is none."""
        query = f"SELECT {self._selected} FROM {quoted(self._shape.table)}"  # noqa: S608
        # Prepared first: then it has no name where a pooler is in between.
        cursor = await (await connection.prepare(query)).cursor()
        rows = await cursor.fetch(ROWS_AT_ONCE)
        yield rows
        while len(rows) == ROWS_AT_ONCE:
            rows = await cursor.fetch(ROWS_AT_ONCE)
            yield rows

    # --- what follows ----------------------------------------------------------------------------

    async def _follow(
        self, connection: asyncpg.Connection, decoder: Decoder, generation: int
    ) -> AsyncIterator[ChangeBatch | None]:
        """What comes together is noted before it goes out. So after a crash in between the same
        comes together again, under the same id. It may lie as far apart as the first look went, so
        that one is not cut into steps."""
        slot = self._slot(generation)
        at = await self._memory.get(_at(generation))
        noted = await self._memory.get(_noted(generation))
        # The one before may have noted the place and not moved the slot: what it gives begins here.
        await advance(connection, slot, at)
        reached = max(at, await taken_to(connection, slot))
        moved_ms = self._clock.monotonic_ms()
        while True:
            now = await flushed(connection)
            again = noted > at
            up_to = noted if again else min(now, reached + LOOK_BYTES)
            found, seen_to = await self._peek(connection, decoder, slot, up_to)
            found = [one for one in found if one.end > at and not (again and one.end > noted)]
            if not found:
                at, reached = max(at, noted), max(reached, min(seen_to, up_to))
                is_behind = reached < now
                if is_behind or self._clock.monotonic_ms() - moved_ms >= MOVE_EVERY_MS:
                    moved_ms = self._clock.monotonic_ms()
                    await advance(connection, slot, reached)
                yield None
                if not is_behind:
                    await self._clock.sleep_ms(self._poll_ms)
                continue
            end = found[-1].end
            if not again:
                await self._memory.put(_noted(generation), end)
                noted = end
            batch = await self._batch(connection, slot, found, end)
            if batch is not None:
                yield batch
            await self._memory.put(_at(generation), end)
            at = end
            reached = max(reached, end)
            await advance(connection, slot, end)

    async def _peek(
        self, connection: asyncpg.Connection, decoder: Decoder, slot: str, up_to: int
    ) -> tuple[list[Transaction], int]:
        """What is found, and up to where all has been seen."""
        seen = await peek(connection, slot, up_to, self._publication)
        if not seen.messages:
            return [], seen.end
        # On a thread: a large transaction takes seconds.
        return await asyncio.to_thread(list, decoder.transactions(seen.messages)), seen.end

    async def _batch(
        self,
        connection: asyncpg.Connection,
        slot: str,
        found: Sequence[Transaction],
        position: int | None,
    ) -> ChangeBatch | None:
        chunks: list[list[Change]] = []
        for one in found:
            for chunk in filter(None, one.chunks):
                chunks += [await self._whole(connection, chunk) if one.lacking else chunk]
        if not chunks:
            return None
        id_ = f"{slot}/{lsn_text(found[0].end)}/{lsn_text(found[-1].end)}"
        return batch_of(id_, chunks, len(self._shape.columns), position)

    async def _whole(self, connection: asyncpg.Connection, chunk: Sequence[Change]) -> list[Change]:
        """Rows of which a large value was not told, as they are now; what has gone since is left
        out, as its deletion follows."""
        made: list[Change] = []
        same = " AND ".join(
            f"{selected(self._shape.columns[place], self._shape.types[place])} = ${i}"
            for i, place in enumerate(self._shape.key_places, start=1)
        )
        query = f"SELECT {self._selected} FROM {quoted(self._shape.table)} WHERE {same}"  # noqa: S608
        for kind, row in chunk:
            if UNCHANGED not in row:
                made.append((kind, row))
                continue
            key = [row[place] for place in self._shape.key_places]
            now = await connection.fetchrow(query, *key)
            if now is not None:
                made.append((kind, tuple(now)))
        return made


def _at(generation: int) -> str:
    return f"at.{generation}"


def _noted(generation: int) -> str:
    return f"noted.{generation}"
