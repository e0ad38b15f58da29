"""Tables that are looked up: the answer to an event is in the log with it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import aiomysql
import asyncpg
import pytest

from lockstep.bus import BusLimits
from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan.plans import plan_of
from tests.integration.services.cluster import CLOCK, Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.tables_of_others import asked_over_an_absence, post
from tests.mariadb.server import start_mariadb

APP = """
@app:name('{name}')
define stream Orders (id long, customer int);
define stream Gold (customer int);
@store(type='rdbms', mode='lookup', {store} table.name='customers', columns='name=full_name')
@PrimaryKey('id')
define table Customers (id int, name string, region string);
from Orders as o left outer join Customers as c on o.customer == c.id and c.region == 'eu'
select o.id as id, c.name as name insert into Found;
from Gold[(Customers.id == customer) in Customers] select customer insert into Known;
"""
TABLE = "CREATE TABLE customers (id int PRIMARY KEY, full_name text, region varchar(2))"
ROWS = "INSERT INTO customers VALUES (1, 'ann', 'eu'), (2, 'bob', 'us'), (3, NULL, 'eu')"
NODES = ("coordinator", "processor-1", "receiver")


async def database(cluster: Cluster) -> asyncpg.Connection:
    """A connection to where the table is."""
    connection = await asyncpg.connect(cluster.settings.store.postgres_dsn.get_secret_value())
    await connection.execute(TABLE)
    await connection.execute(ROWS)
    return connection


async def test_each_event_gets_what_the_database_had_when_it_came(cluster_of: Start) -> None:
    """A change is seen by the next event. A repeated send keeps its first answer. Folding the log
    again, when the database holds something else, gives the same rows."""
    async with cluster_of(*NODES, "processor-2") as cluster:
        db = await database(cluster)
        app = await cluster.deploy(APP.format(name="Asked", store=""), replicas=2)
        await cluster.send(app, "Orders", [[10, 1], [11, 2], [12, 9], [13, 3], [14, 1]])
        assert (await post(cluster, app, "Orders", [15, 1], key="once"))[0] == 200
        await db.execute("UPDATE customers SET full_name = 'ann 2' WHERE id = 1")
        status, answer = await post(cluster, app, "Orders", [15, 1], key="once")
        assert (status, answer["duplicate"]) == (200, True)
        await cluster.send(app, "Orders", [16, 1])
        await cluster.send(app, "Gold", [[1], [2], [9]])
        rows = await cluster.published_count(app, 9)
        assert [row.data for row in rows if row.stream == "Found"] == [
            (10, "ann"), (11, None), (12, None), (13, None), (14, "ann"), (15, "ann"),
            (16, "ann 2"),
        ]  # fmt: skip
        assert [row.data for row in rows if row.stream == "Known"] == [(1,), (2,)]
        await db.execute("DROP TABLE customers")
        plan = plan_of(APP.format(name="Asked", store=""))
        again = ReferenceExecutor(plan).run_slice(await cluster.taken_in(app))
        assert list(again.rows) == rows
        await cluster.crash(await cluster.active(app))
        await cluster.settled(app, 1)
        status, answer = await post(cluster, app, "Orders", [17, 1])
        assert status == 400
        assert "customers" in str(answer)
        await db.execute(TABLE)
        await cluster.send(app, "Orders", [17, 1])
        assert (await cluster.published_count(app, 10))[-1].data == (17, None)
        await db.close()


async def test_a_database_that_does_not_answer_makes_senders_wait(
    cluster_of: Start, tmp_path: Path
) -> None:
    """503 while the table is locked, and the event counts once when it comes again. What was
    answered before stays in the cache."""
    file = tmp_path / "datasources.toml"
    setting = {"LOCKSTEP_DATASOURCES__FILE": str(file)}
    file.write_text("")
    async with cluster_of("coordinator", "processor-1") as cluster:
        dsn = cluster.settings.store.postgres_dsn.get_secret_value()
        file.write_text(f'[shop]\nurl = "{dsn}"\nstatement_timeout_ms = 300\n')
        await cluster.start("receiver", **setting)
        db = await database(cluster)
        store = "datasource='shop', @cache(size='10', retention.period='1 hour'),"
        app = await cluster.deploy(APP.format(name="Slow", store=store))
        await cluster.send(app, "Orders", [1, 1])
        async with db.transaction():
            await db.execute("LOCK TABLE customers IN ACCESS EXCLUSIVE MODE")
            await cluster.send(app, "Orders", [2, 1])
            status, answer = await post(cluster, app, "Orders", [3, 3], key="third")
            assert status == 503, answer
        status, _ = await post(cluster, app, "Orders", [3, 3], key="third")
        assert status == 200
        rows = await cluster.published_count(app, 3)
        assert [row.data for row in rows] == [(1, "ann"), (2, "ann"), (3, None)]
        await db.close()


async def test_a_mariadb_is_asked_likewise(cluster_of: Start, tmp_path: Path) -> None:
    """It compares without regard to case, and an app does not. While it is away senders wait; its
    rows are in the log, so folding that again gives the same."""
    server = await start_mariadb(tmp_path / "mariadb")
    file = tmp_path / "datasources.toml"
    file.write_text(f'[shop]\nurl = "{server.url}"\n')
    setting = {"LOCKSTEP_DATASOURCES__FILE": str(file)}
    place = parameters_of(datasource_of_url("shop", server.url))
    async with cluster_of(*NODES, "processor-2", **setting) as cluster:
        connection = await aiomysql.connect(**place, autocommit=True)
        cursor = await connection.cursor()
        await cursor.execute(TABLE)
        await cursor.execute(ROWS + ", (4, 'eve', 'EU')")
        text = APP.format(name="Maria", store="datasource='shop',")

        async def leave() -> None:
            connection.close()
            await server.kill()

        rename = partial(cursor.execute, "UPDATE customers SET full_name = 'ann 2' WHERE id = 1")
        await asked_over_an_absence(
            cluster, text, rename=rename, leave=(leave,), come_back=server.start
        )
    await server.kill()


async def test_a_login_that_is_refused_makes_senders_wait(
    cluster_of: Start,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While a password is changed, first at the database: 503, and a message of the bus is in the
    app later. Senders are not told as whom the database is asked; the log is, once."""
    (tmp_path / "shop").write_text("one")
    made = BusLimits.of
    monkeypatch.setattr(
        BusLimits, "of", lambda settings: replace(made(settings), ingress_redelivery_ms=1_000)
    )
    async with cluster_of(*NODES, LOCKSTEP_SECRETS__FOLDER=str(tmp_path)) as cluster:
        db = await database(cluster)
        await db.execute("DROP ROLE IF EXISTS rotated")
        await db.execute("CREATE ROLE rotated LOGIN PASSWORD 'one'")
        schema = await db.fetchval("SELECT current_schema()")
        await db.execute(f"ALTER ROLE rotated SET search_path = {schema}")
        await db.execute(f"GRANT USAGE ON SCHEMA {schema} TO rotated")
        await db.execute("GRANT SELECT ON customers TO rotated")
        at = urlsplit(cluster.settings.store.postgres_dsn.get_secret_value())
        url = f"jdbc:postgresql://{at.hostname}:{at.port}{at.path}"
        store = f"jdbc.url='{url}', username='rotated', password='${{secret:shop}}',"
        app = await cluster.deploy(APP.format(name="Rotated", store=store))
        await db.execute("ALTER ROLE rotated PASSWORD 'two'")
        for key in ("first", "second"):
            status, answer = await post(cluster, app, "Orders", [1, 1], key=key)
            assert (status, answer["detail"]) == (503, "the database refuses the login")
            assert "secret" in answer["hint"]
            assert "rotated" not in str(answer)
        said = [line for line in caplog.messages if 'for user "rotated"' in line]
        assert len(said) == 1
        await cluster.watcher.bus.ingress.publish(app, "Orders", b"[2, 2]")
        await CLOCK.sleep_ms(500)
        (tmp_path / "shop").write_text("two")
        await cluster.send(app, "Orders", [3, 3])
        rows = await cluster.published_count(app, 2)
        assert sorted(row.data for row in rows) == [(2, None), (3, None)]
        assert not await cluster.watcher.bus.dead_letters.read(app)
        await db.execute("DROP OWNED BY rotated")
        await db.execute("DROP ROLE rotated")
        await db.close()


@pytest.mark.parametrize("batches", [40])
async def test_the_order_of_the_bus_stays(cluster_of: Start, batches: int) -> None:
    """Messages of the bus wait for the look-ups of those before them."""
    async with cluster_of(*NODES) as cluster:
        db = await database(cluster)
        app = await cluster.deploy(APP.format(name="Ordered", store=""))
        for number in range(batches):
            body = f"[{number}, {number % 4}]".encode()
            await cluster.watcher.bus.ingress.publish(app, "Orders", body)

        async def there() -> bool:
            return len(await cluster.published(app)) == batches

        await until(there, "all rows")
        numbers = [row.data[0] for row in await cluster.published(app)]
        assert numbers == list(range(batches))
        await db.close()
