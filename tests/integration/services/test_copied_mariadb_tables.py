"""Tables that follow one in MariaDB which somebody else changes all the time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiomysql
import pytest

from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start
from tests.integration.services.tables_of_others import (
    agrees_with,
    dying,
    folds_alike,
    ordered,
)
from tests.integration.services.test_copied_tables import NODES
from tests.mariadb.server import LOGGED, MariadbServer, start_mariadb

APP = """
@app:name('{name}')
define stream Orders (id long, customer int);
@store(type='rdbms', mode='copy', jdbc.url='{url}', username='{user}', password='{password}',
    table.name='customers', columns='name=full_name')
@PrimaryKey('id')
define table Customers (id int, name string, credit double, gold bool);
from Orders join Customers on Orders.customer == Customers.id
select Orders.id as id, Customers.name as name, Customers.credit as credit insert into Found;
"""
MORE = "from Orders select id insert into Seen;\n"
TABLE = """CREATE TABLE customers (id int PRIMARY KEY, full_name mediumtext, credit decimal(12, 2),
    gold boolean, unwanted timestamp DEFAULT now()) CHARACTER SET utf8mb4"""
COLUMNS = "customers (id, full_name, credit, gold)"
KILLED = "mariadb"


class Database:
    """The server, and what other programs do there."""

    def __init__(self, server: MariadbServer) -> None:
        self.server = server
        self._parameters = parameters_of(datasource_of_url("test", server.url))

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[Any]:
        """A cursor of a connection of its own."""
        connection = await aiomysql.connect(**self._parameters)
        try:
            yield await connection.cursor()
        finally:
            connection.close()

    async def run(self, *statements: str) -> list[Any]:
        """In one transaction; what the last one gives."""
        async with self.session() as cursor:
            for statement in statements:
                await cursor.execute(statement)
            found = list(await cursor.fetchall())
            await cursor.connection.commit()
        return found

    def app(self, name: str) -> str:
        """The text for this server."""
        found = datasource_of_url("test", self.server.url)
        url = f"jdbc:mariadb://{found.host}:{found.port}/{found.database}"
        return APP.format(name=name, url=url, user=found.username, password=found.password)

    async def keep_changing(self, stop: asyncio.Event) -> int:
        """Transactions of several changes each, until told; how many. A server that is away is
        waited for: what was not committed is done again."""
        done = 0
        while not stop.is_set():
            with contextlib.suppress(aiomysql.MySQLError, OSError):
                async with self.session() as cursor:
                    while not stop.is_set():
                        await _change(cursor, done)
                        done += 1
            await asyncio.sleep(0)
        return done


async def _change(cursor: Any, done: int) -> None:
    await cursor.execute("UPDATE customers SET credit = %s WHERE id %% 7 = 3", (done,))
    await cursor.execute("DELETE FROM customers WHERE id = %s", (done % 500,))
    await cursor.execute(
        f"INSERT INTO {COLUMNS} VALUES (%s, %s, %s, true)"
        " ON DUPLICATE KEY UPDATE full_name = VALUES(full_name)",
        ((done * 31) % 500, f"name {done}", done),
    )
    await cursor.connection.commit()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """The test's own."""
    made = Database(await start_mariadb(tmp_path / "mariadb", *LOGGED))
    try:
        await made.run(TABLE)
        yield made
    finally:
        await made.server.kill()


async def agrees(cluster: Cluster, app: str, database: Database) -> None:
    """Waits until the app's table is the database's."""

    async def held() -> list[tuple[Any, ...]]:
        rows = await database.run(
            "SELECT id, full_name, credit + 0E0, gold FROM customers ORDER BY id"
        )
        return [(*row, None if gold is None else bool(gold)) for *row, gold in rows]

    await agrees_with(cluster, app, held)


async def test_a_table_is_loaded_and_followed(cluster_of: Start, database: Database) -> None:
    """Rows that were there, and every way to change them, reach the app's table; a new text of the
    app has it loaded anew."""
    await database.run(f"INSERT INTO {COLUMNS} VALUES (1, 'ann', 10.50, true), (2, NULL, 0, NULL)")
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(database.app("Shop"))
        await agrees(cluster, app, database)
        long = "x" * 100_000
        changes = (
            [f"INSERT INTO {COLUMNS} VALUES (3, 'cid', 3, false)"],
            ["UPDATE customers SET credit = credit + 1"],
            ["UPDATE customers SET id = 20 WHERE id = 2"],
            ["DELETE FROM customers WHERE id = 1", f"REPLACE INTO {COLUMNS} VALUES (1, 'a', 0, 1)"],
            [f"UPDATE customers SET full_name = '{long}' WHERE id = 3"],
            ["ALTER TABLE customers ADD COLUMN later int", "UPDATE customers SET later = 1"],
            ["TRUNCATE customers"],
            [f"INSERT INTO {COLUMNS} SELECT seq, concat('c', seq), seq, 0 FROM seq_1_to_30000"],
        )
        for change in changes:
            await database.run(*change)
            await agrees(cluster, app, database)
        await cluster.send(app, "Orders", [7, 29_999])
        [row] = await cluster.published_count(app, 1)
        assert row.data == (7, "c29999", 29_999.0)
        await cluster.deploy(database.app("Shop") + MORE)
        await database.run("DELETE FROM customers WHERE id > 100")
        await agrees(cluster, app, database)


@pytest.mark.parametrize("victim", ["receiver-1", "receiver-2", "processor-1", KILLED])
async def test_whoever_dies_the_log_has_each_change_once(
    cluster_of: Start, database: Database, victim: str
) -> None:
    """While the table changes all the time a service dies and comes back, or the database. Copy and
    database agree, and folding the log again gives what was published."""
    await database.run(f"INSERT INTO {COLUMNS} SELECT seq, 'c', seq, 0 FROM seq_1_to_400")
    text = database.app("Busy")
    async with cluster_of(*NODES, "processor-2", "receiver-2") as cluster:
        app = await cluster.deploy(text, replicas=2)
        await ordered(
            cluster, app, database.keep_changing, dying(cluster, victim, KILLED, database.server)
        )
        await agrees(cluster, app, database)
        await folds_alike(cluster, app, text)
