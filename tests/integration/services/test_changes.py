"""Apps that receive the changes of a table: of a MariaDB by its binary log, of a PostgreSQL by a
replication slot, and of both by looking again and again."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import aiomysql
import asyncpg
import pytest

from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from lockstep.embedded import PostgresServer, Server
from tests.integration.services.cluster import CLOCK, RANDOM, Cluster, until
from tests.integration.services.conftest import Start
from tests.mariadb.server import LOGGED, start_mariadb

NODES = ("coordinator", "processor-1", "receiver-1", "receiver-2")
APP = """
@app:name('Sweets')
@source(type='cdc', url='{url}', username='{user}', password='{password}', table.name='sweets',
    operation='insert, UPDATE, delete', @map(type='keyvalue', fail.on.missing.attribute='false',
    @attributes(id='id', amount='amount', before_id='before_id', before='before_amount',
                operation='trp:operation')))
define stream Changes (id int, amount double, before_id int, before double, operation string);
@source(type='cdc', mode='polling', polling.column='id', url='{url}', username='{user}',
    password='{password}', table.name='sweets',
    @map(type='keyvalue', @attributes(id='id', name='name')))
define stream Polled (id long, name string);
from Changes select * insert into Out;
from Polled select id, name insert into Seen;
"""
TABLE = "CREATE TABLE sweets (id bigint PRIMARY KEY, name varchar(40), amount numeric(10, 2))"
ROUND = 40
FIRST = 101


class Database(Protocol):
    """What the test needs of one."""

    server: Server

    async def run(self, *statements: str) -> None:
        """In one transaction."""


class Maria:
    """By its own driver."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def run(self, *statements: str) -> None:
        connection = await aiomysql.connect(
            **parameters_of(datasource_of_url("test", self.server.url))
        )
        try:
            cursor = await connection.cursor()
            for statement in statements:
                await cursor.execute(statement)
            await connection.commit()
        finally:
            connection.close()


class Postgres:
    """By its own driver."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def run(self, *statements: str) -> None:
        connection = await asyncpg.connect(self.server.url)
        try:
            async with connection.transaction():
                for statement in statements:
                    await connection.execute(statement)
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def started(kind: str, directory: Path) -> AsyncIterator[Database]:
    """A database server of the test's own, with the table and a row in it."""
    database: Database
    if kind == "mariadb":
        database = Maria(await start_mariadb(directory, *LOGGED))
    else:
        server = PostgresServer(directory, clock=CLOCK, randomness=RANDOM, durable=False)
        await server.start()
        database = Postgres(server)
    try:
        await database.run(TABLE, "INSERT INTO sweets VALUES (1, 'old', 1)")
        if kind == "postgresql":
            await database.run("ALTER TABLE sweets REPLICA IDENTITY FULL")
        yield database
    finally:
        await database.server.kill()


def app_of(database: Database) -> str:
    """The text for this server."""
    found = datasource_of_url("test", database.server.url)
    url = f"jdbc:{found.kind}://{found.host}:{found.port}/{found.database}"
    if found.kind == "mysql":
        url += "?useSSL=false"
    return APP.format(url=url, user=found.username, password=found.password)


async def one_round(database: Database, first: int) -> list[tuple[Any, ...]]:
    """Inserts, updates of two rows in one transaction, deletes; what the app has to see of them."""
    seen: list[tuple[Any, ...]] = []
    for id_ in range(first, first + ROUND):
        statements = [f"INSERT INTO sweets VALUES ({id_}, 'n{id_}', {id_}.50)"]
        seen.append((id_, id_ + 0.5, None, None, "insert"))
        if id_ % 3 == 0:
            statements.append(f"UPDATE sweets SET amount = 7 WHERE id = {id_}")
            seen.append((id_, 7.0, id_, id_ + 0.5, "update"))
        if id_ % 5 == 0:
            statements.append(f"DELETE FROM sweets WHERE id = {id_ - 1}")
            before = 7.0 if (id_ - 1) % 3 == 0 else id_ - 0.5
            seen.append((None, None, id_ - 1, before, "delete"))
        await database.run(*statements)
    return seen


async def begun(cluster: Cluster, app: str, sources: int) -> bool:
    """Whether so many of its sources know where they begin."""
    names = await cluster.watcher.store.cursors.names(app)
    return sum(".begun" in name for name in names) == sources


async def keeps_nothing(database: Database) -> bool:
    """Whether no replication slot and no publication is left."""
    connection = await asyncpg.connect(database.server.url)
    try:
        found = (
            "(SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_publication)"
        )
        return not await connection.fetchval(f"SELECT {found}")
    finally:
        await connection.close()


async def says_away(cluster: Cluster, app: str) -> bool:
    """Whether the app's flow tells that both sources wait for the database."""
    _, seen = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/flow")
    told = [one["trouble"] or "" for one in seen["edges"] if one["from_node"].startswith("source:")]
    return len(told) == 2 and all("away" in one for one in told)


async def rows_of(cluster: Cluster, app: str, stream: str) -> list[tuple[Any, ...]]:
    """What it published of a stream."""
    return [row.data for row in await cluster.published(app) if row.stream == stream]


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
async def test_each_change_comes_once_whoever_dies(
    cluster_of: Start, tmp_path: Path, kind: str
) -> None:
    """The receiver that reads is killed, then the database. Each change is there once, in the
    database's order, and what does not fit is a dead letter."""
    async with started(kind, tmp_path / kind) as database, cluster_of(*NODES) as cluster:
        app = await cluster.deploy(app_of(database))
        await until(partial(begun, cluster, app, 2), "both sources have begun")
        expected = await one_round(database, FIRST)
        victim = await cluster.watcher.leases.holder(f"source/{app}/Changes.0")
        assert victim is not None
        await cluster.crash(victim.partition("/")[0])
        expected += await one_round(database, FIRST + ROUND)

        found: list[tuple[Any, ...]] = []

        async def listened() -> bool:
            nonlocal found
            found = await rows_of(cluster, app, "Out")
            return len(found) >= len(expected)

        await until(listened, "the other receiver went on", seen=lambda: (len(found), found[-3:]))
        await database.server.kill()
        await until(partial(says_away, cluster, app), "the flow says what is in the way")
        await database.server.start()
        expected += await one_round(database, FIRST + 2 * ROUND)
        # Twice what no int can hold, around a last one that fits: the dead letter holds the first.
        await database.run("INSERT INTO sweets VALUES (3000000000, 'large', 1)")
        await database.run("INSERT INTO sweets VALUES (3000000001, 'last', 1)")
        await database.run("UPDATE sweets SET id = 2 WHERE id = 1")
        expected.append((2, 1.0, 1, 1.0, "update"))
        await until(listened, "the database came back", seen=lambda: (len(found), found[-3:]))
        assert found == expected
        letters = await cluster.watcher.bus.dead_letters.read(app)
        assert [b"3000000000" in each.letter.payload for each in letters] == [True, False]
        kept = {one for one in range(FIRST, FIRST + 3 * ROUND) if (one + 1) % 5}
        kept |= {3_000_000_000, 3_000_000_001}
        ids: list[int] = []

        async def polled() -> bool:
            ids[:] = [row[0] for row in await rows_of(cluster, app, "Seen")]
            return kept <= set(ids)

        # Some rows were gone before anybody looked, others not yet; none is seen twice.
        await until(polled, "what is new was seen")
        assert ids == sorted(set(ids))
        if isinstance(database, Postgres):
            await cluster.asked("DELETE", f"/v1/apps/{app}")
            await until(partial(keeps_nothing, database), "the database keeps nothing for the app")
