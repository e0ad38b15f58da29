"""Tables that follow one in PostgreSQL which somebody else changes all the time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import asyncpg
import pytest

from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan.plans import plan_of
from tests.integration.services.cluster import CLOCK, RANDOM, Cluster, until
from tests.integration.services.conftest import Start

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
ALL = "from Customers select id, name, credit, gold"


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


async def rows_of(cluster: Cluster, app: str) -> list[tuple[Any, ...]]:
    """The table as the app has it."""
    status, answer = await cluster.call(
        "POST", "presenter", f"/v1/apps/{app}/query", json={"query": ALL}
    )
    assert status == 200, answer
    return sorted(tuple(row) for row in answer["records"])


async def agrees(cluster: Cluster, app: str, connection: asyncpg.Connection) -> None:
    """Waits until the app's table is the database's."""
    found: Any = None

    async def same() -> bool:
        nonlocal found
        query = "SELECT id, full_name, credit::float8, gold FROM customers ORDER BY id"
        wanted = [tuple(row) for row in await connection.fetch(query)]
        found = (await rows_of(cluster, app), wanted)
        return bool(found[0] == found[1])

    await until(same, "the copy is what the database has", seen=lambda: found)


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
        stop = asyncio.Event()
        dsn = cluster.settings.store.postgres_dsn.get_secret_value()
        changing = asyncio.create_task(keep_changing(dsn, stop))
        try:
            for number in range(60):
                if number == 20:
                    await cluster.crash(victim)
                if number == 40:
                    await cluster.start(victim)
                await until(partial(sent, cluster, app, number), f"order {number}")
        finally:
            stop.set()
        assert await changing > 0
        await agrees(cluster, app, db)
        entries = await cluster.taken_in(app)
        again = ReferenceExecutor(plan_of(APP.format(name="Busy"))).run_slice(entries)
        await until(lambda: shown(cluster, app, len(again.rows)), "all rows")
        assert list(await cluster.published(app)) == list(again.rows)


async def sent(cluster: Cluster, app: str, number: int) -> bool:
    """One order; False when whoever answered could not take it."""
    path = f"/v1/apps/{app}/streams/Orders/events"
    headers = {"Idempotency-Key": f"order-{number}"}
    event = [number, number * 5]
    try:
        status, _ = await cluster.call("POST", "receiver", path, json=event, headers=headers)
    except OSError:
        return False
    await CLOCK.sleep_ms(int(RANDOM.fraction() * 30))
    return status == 200


async def shown(cluster: Cluster, app: str, count: int) -> bool:
    """Whether so many rows are published."""
    return len(await cluster.published(app)) >= count
