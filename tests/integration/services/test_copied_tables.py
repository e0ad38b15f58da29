"""Tables that follow one in PostgreSQL which somebody else changes all the time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import asyncpg
import pytest

from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.tables_of_others import (
    agrees_with,
    dying,
    folds_alike,
    ordered,
)

APP = """
@app:name('{name}')
define stream Orders (id long, customer int);
@store(type='rdbms', mode='copy', table.name='customers', columns='name=full_name')
@PrimaryKey('id')
define table Customers (id int, name string, credit double, gold bool);
from Orders join Customers on Orders.customer == Customers.id
select Orders.id as id, Customers.name as name, Customers.credit as credit insert into Found;
"""
TABLE = """
CREATE TABLE customers (id int PRIMARY KEY, full_name text, credit numeric(12, 2), gold boolean,
    unwanted timestamptz DEFAULT now())"""
NODES = ("coordinator", "processor-1", "receiver-1", "presenter")


@contextlib.asynccontextmanager
async def database(cluster: Cluster) -> AsyncIterator[asyncpg.Connection]:
    """A connection of the program that changes the table. At the end no slot is left."""
    dsn = cluster.settings.store.postgres_dsn.get_secret_value()
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        for app in (await cluster.call("GET", "coordinator", "/v1/apps"))[1]["apps"]:
            await cluster.asked("DELETE", f"/v1/apps/{app['app']}")
        await until(lambda: no_slots(connection), "no replication slot is left")
        await connection.close()


async def no_slots(connection: asyncpg.Connection) -> bool:
    """Whether the database keeps nothing for anybody."""
    return not await connection.fetchval(
        "SELECT count(*) FROM pg_replication_slots WHERE database = current_database()"
    )


async def agrees(cluster: Cluster, app: str, connection: asyncpg.Connection) -> None:
    """Waits until the app's table is the database's."""

    async def held() -> list[tuple[Any, ...]]:
        query = "SELECT id, full_name, credit::float8, gold FROM customers ORDER BY id"
        return [tuple(row) for row in await connection.fetch(query)]

    await agrees_with(cluster, app, held)


async def test_a_table_is_loaded_and_followed(cluster_of: Start) -> None:
    """Rows that were there, and every way to change them, reach the app's table."""
    async with cluster_of(*NODES) as cluster, database(cluster) as db:
        await db.execute(TABLE)
        await db.execute("INSERT INTO customers VALUES (1, 'ann', 10.50, true), (2, NULL, 0, NULL)")
        app = await cluster.deploy(APP.format(name="Shop"))
        await agrees(cluster, app, db)
        long = "x" * 100_000
        changes = (
            "INSERT INTO customers VALUES (3, 'cid', 3, false)",
            "UPDATE customers SET credit = credit + 1",
            "UPDATE customers SET id = 20 WHERE id = 2",
            "DELETE FROM customers WHERE id = 1; INSERT INTO customers VALUES (1, 'a', 0, true)",
            f"UPDATE customers SET full_name = '{long}' WHERE id = 3",
            "UPDATE customers SET gold = true WHERE id = 3",
            "ALTER TABLE customers ADD COLUMN later int",
            "UPDATE customers SET later = 1, credit = 7 WHERE id = 20",
            "TRUNCATE customers",
            "INSERT INTO customers SELECT g, 'c' || g, g, false FROM generate_series(1, 30000) g",
        )
        for change in changes:
            await db.execute(change)
            await agrees(cluster, app, db)
        await cluster.send(app, "Orders", [7, 29_999])
        [row] = await cluster.published_count(app, 1)
        assert row.data == (7, "c29999", 29_999.0)


async def keep_changing(dsn: str, stop: asyncio.Event) -> int:
    """Another program: transactions of several changes each, until told; how many."""
    connection = await asyncpg.connect(dsn)
    done = 0
    try:
        while not stop.is_set():
            async with connection.transaction():
                await connection.execute("UPDATE customers SET credit = $1 WHERE id % 7 = 3", done)
                await connection.execute("DELETE FROM customers WHERE id = $1", done % 500)
                await connection.execute(
                    "INSERT INTO customers VALUES ($1, $2, $3, true) ON CONFLICT (id) DO UPDATE"
                    " SET full_name = excluded.full_name",
                    (done * 31) % 500, f"name {done}", done,
                )  # fmt: skip
            done += 1
    finally:
        await connection.close()
    return done


@pytest.mark.parametrize("victim", ["receiver-1", "receiver-2", "processor-1"])
async def test_whoever_dies_the_log_has_each_change_once(cluster_of: Start, victim: str) -> None:
    """While the table changes all the time a service dies and comes back. Copy and database agree,
    and folding the log again gives what was published."""
    nodes = (*NODES, "processor-2", "receiver-2")
    async with cluster_of(*nodes) as cluster, database(cluster) as db:
        await db.execute(TABLE)
        await db.execute(
            "INSERT INTO customers SELECT g, 'c' || g, g, false FROM generate_series(1, 400) g"
        )
        app = await cluster.deploy(APP.format(name="Busy"), replicas=2)
        dsn = cluster.settings.store.postgres_dsn.get_secret_value()
        await ordered(cluster, app, partial(keep_changing, dsn), dying(cluster, victim))
        await agrees(cluster, app, db)
        await folds_alike(cluster, app, APP.format(name="Busy"))
