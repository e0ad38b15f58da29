"""`#rdbms:query` and `#rdbms:cud` against PostgreSQL: a change is made once, whatever dies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from lockstep.databases.postgres.connections import Connections
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan.plans import plan_of
from lockstep_services.publisher.rdbms.statements import PostgresStatements
from tests.integration.services.cluster import Cluster, rows_of, until
from tests.integration.services.conftest import Start
from tests.integration.services.statements_of import play

NODES = ("coordinator", "processor-1", "receiver")
APP = """
@app:name('{name}')
define stream Deposit (account int, amount double);
define stream Ask (owner string, least long);
@info(name='deposit')
from Deposit[amount > 0.0]#rdbms:cud('bank',
  'UPDATE purses SET balance = balance + ? WHERE id = ? -- who?', amount, account)[numRecords >= 0]
select account, amount, numRecords insert into Deposited;
@info(name='ask')
from Ask#rdbms:query('bank', 'id int, balance double, fine bool, opened string',
  'SELECT id, balance, fine, opened FROM purses WHERE owner = ? AND id >= ? ORDER BY id',
  owner, least + 1L, {acknowledge})
select Ask.owner as owner, id, balance, fine, opened insert into Found;
"""
TABLE = """
CREATE TABLE purses (
  id int PRIMARY KEY, owner text, balance numeric(9, 2), fine boolean, opened date
)"""
ROWS = """
INSERT INTO purses VALUES (1, 'ann', 0, true, '2026-01-02'), (2, 'ann', 0, NULL, NULL),
  (3, 'bob', 0, false, '2026-01-03')"""


@asynccontextmanager
async def bank(
    cluster_of: Start, tmp_path: Path, more: str = "app_changes = true"
) -> AsyncIterator[tuple[Cluster, asyncpg.Connection, dict[str, str]]]:
    """A suite without publishers, its database, and what publishers are to be started with."""
    file = tmp_path / "datasources.toml"
    file.write_text("")
    setting = {"LOCKSTEP_DATASOURCES__FILE": str(file)}
    async with cluster_of(*NODES) as cluster:
        dsn = cluster.settings.store.postgres_dsn.get_secret_value()
        file.write_text(f'[bank]\nurl = "{dsn}"\nstatement_timeout_ms = 30000\n{more}\n')
        db = await asyncpg.connect(dsn)
        await db.execute(TABLE)
        await db.execute(ROWS)
        yield cluster, db, setting
        await db.close()


def text(name: str, acknowledge: str = "true") -> str:
    """The app."""
    return APP.format(name=name, acknowledge=acknowledge)


async def balances(db: asyncpg.Connection) -> list[float]:
    """Of all accounts."""
    return [float(row[0]) for row in await db.fetch("SELECT balance FROM purses ORDER BY id")]


async def waits_for_a_lock(db: asyncpg.Connection) -> bool:
    """Somebody wants to change what another transaction holds."""
    found = await db.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(found)


async def test_answers_are_events_of_the_app_in_the_order_of_the_questions(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Rows, types and no rows; a change that changed nothing; a filter behind it. Folding the log
    again, when the database holds something else, gives the same rows."""
    async with bank(cluster_of, tmp_path) as (cluster, db, setting):
        await cluster.start("publisher-1", **setting)
        app = await cluster.deploy(text("Asks"))
        await cluster.send(app, "Deposit", [[1, 2.5], [9, 1.0], [1, -1.0], [3, 4.25]])
        assert await rows_of(cluster, app, "Deposited", 3) == [
            (1, 2.5, 1), (9, 1.0, 0), (3, 4.25, 1),
        ]  # fmt: skip
        await cluster.send(app, "Ask", [["ann", 0], ["nobody", 0], ["bob", 0]])
        assert await rows_of(cluster, app, "Found", 4) == [
            ("ann", 1, 2.5, True, "2026-01-02"), ("ann", 2, 0.0, None, None),
            ("nobody", None, None, None, None), ("bob", 3, 4.25, False, "2026-01-03"),
        ]  # fmt: skip
        await db.execute("DROP TABLE purses")
        again = ReferenceExecutor(plan_of(text("Asks"))).run_slice(await cluster.taken_in(app))
        assert list(again.rows) == await cluster.published(app)


async def test_a_publisher_that_dies_changes_nothing_twice(
    cluster_of: Start, tmp_path: Path
) -> None:
    """It is killed within a batch, behind a change that is made and within one that waits. The next
    publisher begins the batch again: what was made is known, what was not is made."""
    async with bank(cluster_of, tmp_path) as (cluster, db, setting):
        app = await cluster.deploy(text("Dies"))
        async with db.transaction():
            await db.execute("SELECT * FROM purses WHERE id = 2 FOR UPDATE")
            await cluster.send(app, "Deposit", [[1, 1.0], [2, 10.0], [3, 100.0]])
            await cluster.start("publisher-1", **setting)
            await until(lambda: waits_for_a_lock(db), "the second change")
            assert await rows_of(cluster, app, "Deposited", 1) == [(1, 1.0, 1)]
            await cluster.crash("publisher-1")
            await cluster.start("publisher-2", **setting)
        assert await rows_of(cluster, app, "Deposited", 3) == [
            (1, 1.0, 1), (2, 10.0, 1), (3, 100.0, 1),
        ]  # fmt: skip
        await cluster.send(app, "Deposit", [1, 0.5])
        assert (await rows_of(cluster, app, "Deposited", 4))[3:] == [(1, 0.5, 1)]
        assert await balances(db) == [1.5, 10.0, 100.0]


async def test_statements_that_do_not_fit_are_dead_letters(
    cluster_of: Start, tmp_path: Path
) -> None:
    """With the database's words; the next event goes on. A question cannot change anything."""
    app_text = """
    @app:name('Unfit') define stream In (id int, amount double);
    @info(name='make') from In#rdbms:cud('bank', 'INSERT INTO purses (id, balance) VALUES (?, ?)',
      id, amount) select id, numRecords insert into Made;
    @info(name='sneak') from In#rdbms:query('bank', 'gone int',
      'WITH d AS (DELETE FROM purses WHERE id = ? RETURNING id) SELECT id FROM d', id)
      select gone insert into Gone;
    """
    async with bank(cluster_of, tmp_path) as (cluster, db, setting):
        await cluster.start("publisher-1", **setting)
        app = await cluster.deploy(app_text)
        await cluster.send(app, "In", [[1, 5.0], [10, 6.0]])
        assert await rows_of(cluster, app, "Made", 1) == [(10, 1)]
        found: list[str] = []

        async def there() -> bool:
            nonlocal found
            stored = await cluster.watcher.bus.dead_letters.read(app)
            found = sorted(f"{one.letter.stream}: {one.letter.reason}" for one in stored)
            return len(found) == 3

        await until(there, "three dead letters", seen=lambda: found)
        assert "duplicate key" in found[0]
        assert "read-only transaction" in found[1]
        assert await db.fetchval("SELECT count(*) FROM purses") == 4


async def test_apps_change_nothing_where_the_datasource_does_not_let_them(
    cluster_of: Start, tmp_path: Path
) -> None:
    """The status says so, and what to do. Questions are answered."""
    async with bank(cluster_of, tmp_path, more="") as (cluster, _db, setting):
        await cluster.start("publisher-1", **setting)
        app = await cluster.deploy(text("Kept", "false"))
        await cluster.send(app, "Ask", [["nobody", 0], ["bob", 0]])
        assert [row[:2] for row in await rows_of(cluster, app, "Found", 1)] == [("bob", 3)]
        told = ""

        async def said() -> bool:
            nonlocal told
            told = str(await cluster.status(app))
            return "app_changes = true" in told

        await until(said, "the refusal", seen=lambda: told)
        assert "apps may not make changes in 'bank'" in told


async def test_a_change_is_made_once(cluster_of: Start) -> None:
    """By its record, and by who took over last, in PostgreSQL as in MySQL."""
    async with cluster_of() as cluster:
        dsn = cluster.settings.store.postgres_dsn.get_secret_value()
        pool = Connections(dsn, max_connections=2, statement_timeout_ms=5_000)
        db = await asyncpg.connect(dsn)
        await db.execute(TABLE)
        await db.execute(ROWS)

        async def balance() -> float:
            return (await balances(db))[0]

        await play(lambda: PostgresStatements("Shop.make__asks.0", pool), balance)
        await pool.close()
        await db.close()
