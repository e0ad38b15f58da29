"""Tables over a real SQLite file: followed, looked up and written, whatever dies meanwhile."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.integration.services.cluster import CLOCK, Cluster, send_once, until
from tests.integration.services.conftest import Start
from tests.integration.services.tables_of_others import (
    agrees_with,
    asked_over_an_absence,
    dying,
    folds_alike,
    ordered,
    post,
)
from tests.integration.services.test_looked_up_tables import APP as LOOKUPS

COPIES = """
@app:name('{name}')
define stream Orders (id long, customer int);
@store(type='rdbms', mode='copy', {store} table.name='customers', columns='name=full_name')
@PrimaryKey('id')
define table Customers (id int, name string, credit double, gold bool);
from Orders join Customers on Orders.customer == Customers.id
select Orders.id as id, Customers.name as name, Customers.credit as credit insert into Found;
"""
OWN = """
@app:name('{name}')
define stream Sale (article string, amount double);
define stream Gone (article string);
@store(type='rdbms', {store} table.name='sold')
@PrimaryKey('article')
define table Sold (article string, amount double);
@sink(type='rdbms', {store} table.name='sales')
define stream Kept (article string, amount double);
from Sale select article, amount update or insert into Sold on Sold.article == article;
from Gone delete Sold on Sold.article == article;
from Sale select article, amount insert into Kept;
"""
ASKING = """
@app:name('{name}')
define stream Deposit (account int, amount double);
define stream Ask (owner string);
@source(type='cdc', mode='polling', datasource.name='bank', table.name='sweets',
    polling.column='id',
    @map(type='keyvalue', @attributes(id='id', name='name')))
define stream Polled (id long, name string);
from Deposit#rdbms:cud('bank', 'UPDATE purses SET balance = balance + ? WHERE id = ?',
    amount, account)
select account, numRecords insert into Deposited;
from Ask#rdbms:query('bank', 'id int, balance double, fine bool',
    'SELECT id, balance, fine FROM purses WHERE owner = ? ORDER BY id', owner)
select id, balance, fine insert into Found;
from Polled select id, name insert into Seen;
"""
TABLE = """
CREATE TABLE customers (id integer PRIMARY KEY, full_name text, credit real, gold boolean, more)"""
NODES = ("coordinator", "processor-1", "receiver-1", "presenter")


class File:
    """A file of another program, which looks and writes with connections of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = f"jdbc.url='jdbc:sqlite:{path}',"

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """One transaction; what the last statement gives."""
        db = sqlite3.connect(self.path, timeout=30)
        found: list[tuple[Any, ...]] = []
        with db:
            for statement in statements:
                found = db.execute(statement).fetchall()
        db.close()
        return found


@pytest.fixture
def file(tmp_path: Path) -> File:
    """The test's own."""
    return File(tmp_path / "shop.db")


async def agrees(cluster: Cluster, app: str, file: File) -> None:
    """Waits until the app's table is the file's."""

    async def held() -> list[tuple[Any, ...]]:
        return file.run("SELECT id, full_name, credit, gold FROM customers ORDER BY id")

    await agrees_with(cluster, app, held)


async def test_a_table_is_loaded_and_followed(cluster_of: Start, file: File) -> None:
    """Rows that were there, and every way to change them, reach the app's table. It waits for a
    table that is not there yet, and for a file that is gone for a while."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(COPIES.format(name="Shop", store=file.store))
        file.run(
            TABLE, "INSERT INTO customers VALUES (1, 'ann', 10.5, 1, 0), (2, NULL, 0, NULL, 0)"
        )
        await agrees(cluster, app, file)
        file.path.rename(file.path.with_name("elsewhere.db"))
        await cluster.send(app, "Orders", [8, 1])
        assert (await cluster.published_count(app, 1))[-1].data == (8, "ann", 10.5)
        file.path.with_name("elsewhere.db").rename(file.path)
        file.run("UPDATE customers SET full_name = 'ann 2' WHERE id = 1")
        await agrees(cluster, app, file)
        long = "x" * 100_000
        changes = (
            "INSERT INTO customers VALUES (3, 'cid', 3, false, 0)",
            "UPDATE customers SET credit = credit + 1",
            "UPDATE customers SET id = 20 WHERE id = 2",
            f"UPDATE customers SET full_name = '{long}' WHERE id = 3",
            "PRAGMA journal_mode = WAL",
            "UPDATE customers SET credit = 7 WHERE id = 20",
            "DELETE FROM customers",
            "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < 30000)"
            " INSERT INTO customers SELECT i, 'c' || i, i, false, 0 FROM g",
        )
        for change in changes:
            db = sqlite3.connect(file.path, isolation_level=None)
            db.execute(change)
            db.close()
            await agrees(cluster, app, file)
        await cluster.send(app, "Orders", [7, 29_999])
        assert (await cluster.published_count(app, 2))[-1].data == (7, "c29999", 29_999.0)


async def keep_changing(file: File, stop: asyncio.Event) -> int:
    """Another program: transactions of several changes each, until told; how many."""
    done = 0
    while not stop.is_set():
        await asyncio.to_thread(
            file.run,
            f"UPDATE customers SET credit = {done} WHERE id % 7 = 3",
            f"DELETE FROM customers WHERE id = {done % 500}",
            f"INSERT INTO customers VALUES ({done * 31 % 500}, 'name {done}', {done}, true, 0)"
            " ON CONFLICT (id) DO UPDATE SET full_name = excluded.full_name",
        )
        done += 1
        await CLOCK.sleep_ms(5)
    return done


@pytest.mark.parametrize("victim", ["receiver-1", "receiver-2", "processor-1"])
async def test_whoever_dies_the_copy_is_what_the_file_has(
    cluster_of: Start, file: File, victim: str
) -> None:
    """While the table changes all the time a service dies and comes back. Folding the log again
    gives what was published."""
    async with cluster_of(*NODES, "processor-2", "receiver-2") as cluster:
        file.run(TABLE, *(f"INSERT INTO customers VALUES ({i}, 'c', 0, 0, 0)" for i in range(400)))
        text = COPIES.format(name="Busy", store=file.store)
        app = await cluster.deploy(text, replicas=2)
        await ordered(cluster, app, partial(keep_changing, file), dying(cluster, victim))
        await agrees(cluster, app, file)
        await folds_alike(cluster, app, text)


async def test_each_event_gets_what_the_file_had_when_it_came(
    cluster_of: Start, file: File, tmp_path: Path
) -> None:
    """While another program holds the file, or it is away, senders wait. Its rows are in the log:
    folding that again gives the same."""
    named = tmp_path / "datasources.toml"
    named.write_text(f'[shop]\nurl = "sqlite://{file.path}"\nstatement_timeout_ms = 300\n')
    setting = {"LOCKSTEP_DATASOURCES__FILE": str(named)}
    file.run(
        "CREATE TABLE customers (id int PRIMARY KEY, full_name text, region text COLLATE NOCASE)",
        "INSERT INTO customers VALUES (1, 'ann', 'eu'), (2, 'bob', 'us'), (3, NULL, 'eu'),"
        " (4, 'eve', 'EU')",
    )
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes, **setting) as cluster:
        text = LOOKUPS.format(name="Lite", store="datasource='shop',")
        other = sqlite3.connect(file.path, isolation_level=None)

        async def rename() -> None:
            file.run("UPDATE customers SET full_name = 'ann 2' WHERE id = 1")

        async def hold() -> None:
            other.execute("BEGIN EXCLUSIVE")

        async def remove() -> None:
            other.close()
            file.path.rename(tmp_path / "elsewhere.db")

        async def bring_back() -> None:
            (tmp_path / "elsewhere.db").rename(file.path)

        app = await asked_over_an_absence(
            cluster, text, rename=rename, leave=(hold, remove), come_back=bring_back
        )
        file.run("DROP TABLE customers")
        status, answer = await post(cluster, app, "Orders", [17, 1])
        assert status == 400
        assert "no such table" in str(answer)


async def test_an_app_writes_a_file_and_goes_on_when_its_publisher_dies(
    cluster_of: Start, file: File
) -> None:
    """Its table, and a row for each event of a sink; the file is made when it is missing."""
    async with cluster_of("coordinator", "processor-1", "receiver", "publisher-1") as cluster:

        async def holds(wanted: list[tuple[str, float]], sales: int) -> None:
            found: Any = None

            async def there() -> bool:
                nonlocal found
                if not file.path.exists():
                    return False
                try:
                    rows = file.run("SELECT * FROM sold ORDER BY article")
                    found = rows, file.run("SELECT count(*) FROM sales")
                except sqlite3.OperationalError as error:
                    found = error
                    return False
                return bool(found == (wanted, [(sales,)]))

            await until(there, str(wanted), seen=lambda: found)

        app = await cluster.deploy(OWN.format(name="Sold", store=file.store))
        await cluster.send(app, "Sale", [["toffee", 45.25], ["cake", 1.0], ["toffee", 50.0]])
        await holds([("cake", 1.0), ("toffee", 50.0)], 3)
        await cluster.crash("publisher-1")
        await cluster.send(app, "Gone", ["cake"])
        await cluster.send(app, "Sale", [["bread", 2.5], ["toffee", 51.0]])
        await cluster.start("publisher-2")
        await holds([("bread", 2.5), ("toffee", 51.0)], 5)


async def test_statements_and_new_rows_of_a_file(
    cluster_of: Start, file: File, tmp_path: Path
) -> None:
    """A change is made once, whoever dies; a row that others add is an event once."""
    named = tmp_path / "datasources.toml"
    named.write_text(f'[bank]\nurl = "sqlite://{file.path}"\napp_changes = true\n')
    setting = {"LOCKSTEP_DATASOURCES__FILE": str(named)}
    file.run(
        "CREATE TABLE purses (id integer PRIMARY KEY, owner text, balance real, fine boolean)",
        "CREATE TABLE sweets (id integer PRIMARY KEY, name text)",
        "INSERT INTO purses VALUES (1, 'ann', 0, 1), (2, 'ann', 0.5, NULL), (3, 'bob', 0, 0)",
        "INSERT INTO sweets VALUES (1, 'was there')",
    )
    nodes = ("coordinator", "processor-1", "receiver-1", "receiver-2", "publisher-1")
    async with cluster_of(*nodes, **setting) as cluster:
        app = await cluster.deploy(ASKING.format(name="Bank"))
        await cluster.send(app, "Ask", ["ann"])
        assert await answers(cluster, app, "Found", 2) == [(1, 0.0, True), (2, 0.5, None)]
        for number in range(40):
            if number == 10:
                await cluster.crash("publisher-1")
            if number == 20:
                await cluster.crash("receiver-1")
                await cluster.start("publisher-2", **setting)
            file.run(f"INSERT INTO sweets VALUES ({number + 2}, 'sweet {number}')")
            data = [1 + number % 2, 1.0] if number % 10 else [99, 1.0]
            await send_once(cluster, app, "Deposit", data, key=f"deposit-{number}")
        made = await answers(cluster, app, "Deposited", 40)
        assert [records for _, records in made] == [int(bool(n % 10)) for n in range(40)]
        assert file.run("SELECT sum(balance) FROM purses") == [(36.5,)]
        seen = await answers(cluster, app, "Seen", 40)
        assert seen == [(number + 2, f"sweet {number}") for number in range(40)]


async def answers(cluster: Cluster, app: str, stream: str, count: int) -> list[tuple[Any, ...]]:
    """All rows of a stream, once there are so many."""
    found: list[tuple[Any, ...]] = []

    async def there() -> bool:
        nonlocal found
        found = [row.data for row in await cluster.published(app) if row.stream == stream]
        return len(found) >= count

    await until(there, f"{count} rows of {stream}", seen=lambda: found)
    return found
