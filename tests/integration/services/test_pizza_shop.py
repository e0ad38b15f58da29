"""The pizza shop of CEP 4 with its results in MariaDB: rows told apart by two columns, and no table
defined in the app."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import aiomysql
import pymysql
from pymysql.constants import ER

from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from lockstep.migration import Fate, Imported, SourceFile, convert
from lockstep.siddhiql import check
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.mariadb.server import MariadbServer, start_mariadb

ORDERS: Final = """{
  "name": "pizza.orders", "version": "1.0.0",
  "payloadData": [
    {"name": "orderNo", "type": "LONG"}, {"name": "customerName", "type": "STRING"},
    {"name": "pizza", "type": "STRING"}, {"name": "minutes", "type": "INT"}
  ]
}"""
OVERDUE: Final = """{
  "name": "pizza.overdue", "version": "1.0.0",
  "payloadData": [
    {"name": "customerName", "type": "STRING"}, {"name": "pizza", "type": "STRING"},
    {"name": "overdue", "type": "LONG"}, {"name": "lastOrderNo", "type": "LONG"}
  ]
}"""
PLAN: Final = """@Plan:name('OverduePizzas')
@Import('pizza.orders:1.0.0')
define stream orders (orderNo long, customerName string, pizza string, minutes int);
@Export('pizza.overdue:1.0.0')
define stream overdue (customerName string, pizza string, overdue long, lastOrderNo long);
from orders[minutes > 30]
select customerName, pizza, count() as overdue, max(orderNo) as lastOrderNo
group by customerName, pizza
insert into overdue;
"""
PUBLISHER: Final = """<eventPublisher name="overdueTable" statistics="disable" trace="disable"
    xmlns="http://wso2.org/carbon/eventpublisher">
  <from streamName="pizza.overdue" version="1.0.0"/>
  <mapping customMapping="disable" type="map"/>
  <to eventAdapterType="rdbms">
    <property name="datasource.name">SHOP DB</property>
    <property name="table.name">overdue_pizzas</property>
    <property name="execution.mode">update-or-insert</property>
    <property name="update.keys">customerName,pizza</property>
  </to>
</eventPublisher>
"""
FILES: Final = {
    "eventstreams/orders_1.0.0.json": ORDERS,
    "eventstreams/overdue_1.0.0.json": OVERDUE,
    "executionplans/OverduePizzas.siddhiql": PLAN,
    "eventpublishers/overdueTable.xml": PUBLISHER,
}
SINK: Final = (
    "@sink(type='rdbms', datasource='SHOP_DB', table.name='overdue_pizzas',"
    " execution.mode='update-or-insert', update.keys='customerName,pizza')"
)
ROUND: Final = 60
ROUNDS: Final = 4
NODES: Final = ("coordinator", "processor-1", "receiver")

Order = tuple[int, str, str, int]
Overdue = dict[tuple[str, str], tuple[int, int]]


def imported(publisher: str = PUBLISHER) -> Imported:
    """The deployment as an app."""
    files = {**FILES, "eventpublishers/overdueTable.xml": publisher}
    return convert([SourceFile(name, text.encode()) for name, text in files.items()])


def orders_of(number: int) -> list[Order]:
    """A round of orders: three customers, two pizzas, every third delivered in time."""
    first = number * ROUND
    return [
        (n, ("Alba", "alba", "Bruno")[n % 3], ("Margherita", "Funghi")[n // 3 % 2], n * 7 % 45)
        for n in range(first, first + ROUND)
    ]


def wanted(orders: list[Order]) -> Overdue:
    """How many came late, and the last one, by customer and pizza."""
    late = [order for order in orders if order[3] > 30]
    counts = Counter(order[1:3] for order in late)
    last = {order[1:3]: order[0] for order in late}
    return {key: (counts[key], last[key]) for key in counts}


async def kept(server: MariadbServer) -> list[tuple[Any, ...]]:
    """What a program of its own reads; nothing while there is no table."""
    connection = await aiomysql.connect(**parameters_of(datasource_of_url("test", server.url)))
    try:
        cursor = await connection.cursor()
        await cursor.execute("SELECT customerName, pizza, overdue, lastOrderNo FROM overdue_pizzas")
        return [tuple(row) for row in await cursor.fetchall()]
    except pymysql.ProgrammingError as error:
        if error.args[0] != ER.NO_SUCH_TABLE:
            raise
        return []
    finally:
        connection.close()


async def key_of(server: MariadbServer) -> list[str]:
    """The columns of the table's primary key."""
    connection = await aiomysql.connect(**parameters_of(datasource_of_url("test", server.url)))
    try:
        cursor = await connection.cursor()
        await cursor.execute("SHOW INDEX FROM overdue_pizzas WHERE Key_name = 'PRIMARY'")
        return [row[4] for row in await cursor.fetchall()]
    finally:
        connection.close()


async def shows(server: MariadbServer, orders: list[Order]) -> None:
    """Waits until the table has what the orders make: a row for each key, and no other."""
    rows: list[tuple[Any, ...]] = []

    async def right() -> bool:
        nonlocal rows
        rows = await kept(server)
        return sorted(rows) == sorted((*key, *value) for key, value in wanted(orders).items())

    await until(right, f"the rows of {len(orders)} orders", seen=lambda: rows)


@contextlib.asynccontextmanager
async def publishers(cluster: Cluster) -> AsyncIterator[dict[str, asyncio.subprocess.Process]]:
    """Two, each in a process of its own, so that a kill is one; those that are there at the end
    are killed."""
    running: dict[str, asyncio.subprocess.Process] = {}
    try:
        for name in ("publisher-1", "publisher-2"):
            running[name] = await published_by(cluster, name)
        yield running
    finally:
        for process in running.values():
            await killed(process)


async def published_by(cluster: Cluster, name: str) -> asyncio.subprocess.Process:
    """A publisher of the cluster."""
    own = {**os.environ, **cluster.environment, "LOCKSTEP_SERVER__NODE": name}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "lockstep_services.publisher", env=own
    )


async def killed(process: asyncio.subprocess.Process) -> None:
    """Without a word; it was alive until then."""
    process.kill()
    assert await process.wait() == -signal.SIGKILL


def test_the_import_keeps_the_columns_of_the_update() -> None:
    """It is one valid app, whose sink says what the publisher said."""
    made = imported()
    assert [(app.name, app.valid) for app in made.apps] == [("OverduePizzas", True)]
    assert SINK in made.apps[0].text
    assert "define table" not in made.apps[0].text
    undecided = [one.what for one in made.findings if one.fate is Fate.TO_DECIDE]
    assert undecided == ["datasource.name='SHOP DB'"]


def test_a_publisher_that_inserts_still_does() -> None:
    """It may have columns for updates all the same."""
    text = imported(PUBLISHER.replace("update-or-insert", "insert")).apps[0].text
    assert SINK.replace("update-or-insert", "insert") in text
    check(text)


async def test_rows_are_updated_by_both_columns_whatever_dies(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Publishers are killed while orders come, and the database with them: the rows are right."""
    server = await start_mariadb(tmp_path / "mariadb")
    file = tmp_path / "datasources.toml"
    file.write_text(f'[SHOP_DB]\nurl = "{server.url}"\n')
    try:
        async with (
            cluster_of(*NODES, LOCKSTEP_DATASOURCES__FILE=str(file)) as cluster,
            publishers(cluster) as running,
        ):
            app = await cluster.deploy(imported().apps[0].text)
            sent = orders_of(0)
            await send(cluster, app, sent)
            await shows(server, sent)
            assert await key_of(server) == ["customerName", "pizza"]
            for number, victim in enumerate(tuple(running), start=1):
                more = orders_of(number)
                sent += more
                await asyncio.gather(send(cluster, app, more), killed(running[victim]))
                running[victim] = await published_by(cluster, victim)
                await shows(server, sent)
            more = orders_of(3)
            sent += more
            await server.kill()
            await send(cluster, app, more)
            await server.start()
            await shows(server, sent)
    finally:
        await server.kill()
    assert len(sent) == ROUNDS * ROUND


async def send(cluster: Cluster, app: str, orders: list[Order]) -> None:
    """One by one."""
    for order in orders:
        await cluster.send(app, "orders", list(order))
