"""The tables that events are joined with, the program that changes them without a pause, and what
each of their rows has been and when."""

from __future__ import annotations

import asyncio
import bisect
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

import aiomysql
import asyncpg

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from lockstep.embedded import PostgresServer
from tests.mariadb.server import LOGGED, MariadbServer, program

CLOCK = SystemClock()
TABLE: Final = "customers"
MARKER: Final = 0
"""A row that says how far a copy is; nobody asks for it."""
HOT: Final = 2_000
"""Rows that are changed, and asked for, much more often than others."""
ABSENT: Final = 1_000
"""Keys behind the table's, which come and go."""
PER_TRANSACTION: Final = 40
PAUSE_MS: Final = 20
FOREVER_MS: Final = 2**62

Version = int | None
Rows = Mapping[int, int]


@dataclass(slots=True)
class History:
    """Which versions each row has had; None where it was not there. In the beginning a row's
    version is its id."""

    size: int
    changed: dict[int, list[tuple[Version, int, int]]] = field(default_factory=dict)
    """(version, when its transaction began, when that was committed), by the clock of this
    process."""
    changes: int = 0

    def note(self, rows: Mapping[int, Version], began_ms: int, committed_ms: int) -> None:
        """A transaction."""
        for id_, version in rows.items():
            self.changed.setdefault(id_, []).append((version, began_ms, committed_ms))
        self.changes += len(rows)

    def lives(self, id_: int) -> list[tuple[Version, int, int]]:
        """Each version with the earliest and the latest time at which somebody could see it."""
        first = id_ if 0 < id_ <= self.size else None
        all_ = [(first, 0, 0), *self.changed.get(id_, ())]
        ends = [committed for _, _, committed in all_[1:]] + [FOREVER_MS]
        return [(one[0], one[1], end) for one, end in zip(all_, ends, strict=True)]

    def had_within(self, id_: int, version: Version, from_ms: int, to_ms: int) -> bool:
        """Whether somebody who looked within that time could see this."""
        return any(
            one == version and began <= to_ms and from_ms <= end
            for one, began, end in self.lives(id_)
        )

    def next_had(self, id_: int, version: Version, at_least: int, to_ms: int) -> int | None:
        """Which of its lives that was, of those from `at_least` on that had begun by then."""
        lives = self.lives(id_)
        begun = bisect.bisect_right([began for _, began, _ in lives], to_ms)
        found = (at for at in range(at_least, begun) if lives[at][0] == version)
        return next(found, None)

    @property
    def rows(self) -> Rows:
        """As they are now."""
        found: dict[int, Version] = {id_: id_ for id_ in range(1, self.size + 1)}
        found |= {id_: versions[-1][0] for id_, versions in self.changed.items()}
        return {id_: version for id_, version in found.items() if version is not None}


class Table(Protocol):
    """One in a database."""

    async def change(self, written: Sequence[tuple[int, int]], gone: Sequence[int]) -> None:
        """In one transaction."""

    async def rows(self) -> Rows:
        """All of them."""


class PostgresTable:
    """See `Table`."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    @classmethod
    async def made(cls, connection: asyncpg.Connection, size: int) -> PostgresTable:
        """With so many rows."""
        await connection.execute(
            f"CREATE TABLE {TABLE} (id int PRIMARY KEY, version bigint NOT NULL, note text)"
        )
        await connection.execute(
            f"INSERT INTO {TABLE} SELECT g, g, 'customer ' || g FROM generate_series(1, $1) g",
            size,
        )
        return cls(connection)

    async def change(self, written: Sequence[tuple[int, int]], gone: Sequence[int]) -> None:
        """See `Table`."""
        async with self._connection.transaction():
            await self._connection.execute(
                f"INSERT INTO {TABLE} SELECT * FROM unnest($1::int[], $2::bigint[])"
                " ON CONFLICT (id) DO UPDATE SET version = excluded.version",
                [id_ for id_, _ in written],
                [version for _, version in written],
            )
            await self._connection.execute(f"DELETE FROM {TABLE} WHERE id = ANY($1)", gone)

    async def rows(self) -> Rows:
        """See `Table`."""
        return dict(map(tuple, await self._connection.fetch(f"SELECT id, version FROM {TABLE}")))


class MariadbTable:
    """See `Table`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    async def made(cls, connection: Any, size: int) -> MariadbTable:
        """With so many rows."""
        cursor = await connection.cursor()
        await cursor.execute(
            f"CREATE TABLE {TABLE} (id int PRIMARY KEY, version bigint NOT NULL, note text)"
        )
        await cursor.execute(
            f"INSERT INTO {TABLE} SELECT seq, seq, concat('customer ', seq) FROM seq_1_to_{size}"
        )
        await connection.commit()
        return cls(connection)

    async def change(self, written: Sequence[tuple[int, int]], gone: Sequence[int]) -> None:
        """See `Table`."""
        cursor = await self._connection.cursor()
        await cursor.executemany(
            f"INSERT INTO {TABLE} (id, version) VALUES (%s, %s)"
            " ON DUPLICATE KEY UPDATE version = VALUES(version)",
            written,
        )
        await cursor.executemany(f"DELETE FROM {TABLE} WHERE id = %s", [(one,) for one in gone])
        await self._connection.commit()

    async def rows(self) -> Rows:
        """See `Table`."""
        cursor = await self._connection.cursor()
        await cursor.execute(f"SELECT id, version FROM {TABLE}")
        found = dict(await cursor.fetchall())
        await self._connection.commit()
        return found


class Changing:
    """The program: updates, insertions and deletions in one transaction after another."""

    def __init__(self, table: Table, size: int, seed: int) -> None:
        self.table = table
        self.history = History(size)
        self.enough = asyncio.Event()
        self._chance = Random(seed)
        self._next = size + ABSENT + 1
        self._turn = asyncio.Lock()

    async def run(self) -> None:
        """Until `enough`."""
        while not self.enough.is_set():
            picked = {self._picked() for _ in range(PER_TRANSACTION)}
            await self._change(sorted(picked), deleted=0.2)
            await CLOCK.sleep_ms(PAUSE_MS)

    async def mark(self) -> int:
        """Writes the marker anew; its version now."""
        await self._change([MARKER], deleted=0)
        version = self.history.changed[MARKER][-1][0]
        assert version is not None
        return version

    async def _change(self, ids: Sequence[int], deleted: float) -> None:
        async with self._turn:
            rows: dict[int, Version] = {}
            for id_ in ids:
                self._next += 1
                rows[id_] = None if self._chance.random() < deleted else self._next
            written = [(id_, version) for id_, version in rows.items() if version is not None]
            began_ms = CLOCK.monotonic_ms()
            await self.table.change(written, [id_ for id_ in rows if rows[id_] is None])
            self.history.note(rows, began_ms, CLOCK.monotonic_ms())

    def _picked(self) -> int:
        size = self.history.size
        if self._chance.random() < 0.5:
            return self._chance.randint(1, min(HOT, size))
        if self._chance.random() < 0.5:
            return self._chance.randint(1, size)
        return self._chance.randint(size + 1, size + ABSENT)


@dataclass(frozen=True, slots=True)
class Tables:
    """With the file that names their databases; no MariaDB where there is none."""

    datasources: Path
    postgres: Changing
    mariadb: Changing | None


@contextlib.asynccontextmanager
async def tables(folder: Path, size: int) -> AsyncIterator[Tables]:
    """On servers of their own, within the block."""
    file = folder / "datasources.toml"
    async with contextlib.AsyncExitStack() as stack:
        server = PostgresServer(
            folder / "postgres", clock=CLOCK, randomness=SystemRandomness(), durable=False
        )
        await server.start()
        stack.push_async_callback(server.stop)
        connection = await asyncpg.connect(server.url)
        stack.push_async_callback(connection.close)
        postgres = Changing(await PostgresTable.made(connection, size), size, seed=1)
        told, mariadb = f'[shop]\nurl = "{server.url}"\n', None
        if program() is not None:
            maria = MariadbServer(folder / "mariadb", LOGGED)
            await maria.start()
            stack.push_async_callback(maria.kill)
            place = parameters_of(datasource_of_url("maria", maria.url))
            session = await aiomysql.connect(**place)
            stack.callback(session.close)
            mariadb = Changing(await MariadbTable.made(session, size), size, seed=2)
            told += f'[maria]\nurl = "{maria.url}"\n'
        file.write_text(told)
        yield Tables(file, postgres, mariadb)
