"""PostgreSQL under faults: killed, paused, racing writers, wrong password, large states."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import PostgresServer
from lockstep.events import Life, UnavailableError
from lockstep.store import Deployment, Revision, Stale, Written
from lockstep.store.postgres import PostgresStore
from lockstep.store.postgres.connection import (
    MIGRATION_LOCK,
    StoreRefusedError,
    available,
    open_pool,
)
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually
from tests.contract.pausing import paused
from tests.contract.pooler import pooled

pytestmark = pytest.mark.servers

IMPATIENT_MS = 2_000  # waited out, and enough for a server that is well on a busy machine
ENDINGS = 30
_SAID = b"SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
GOOD_BYE = b"E" + (len(_SAID) + 4).to_bytes(4) + _SAID
"""The last message of a server that ends."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cluster for the module: making one takes longer than its tests."""
    return tmp_path_factory.mktemp("postgres")


@pytest.fixture
async def server(data: Path) -> AsyncIterator[PostgresServer]:
    """A PostgreSQL server of the module's own."""
    postgres = PostgresServer(
        data, clock=SystemClock(), randomness=SystemRandomness(), durable=False
    )
    await postgres.start()
    yield postgres
    await postgres.stop()


async def _connect(server: PostgresServer, timeout_ms: int = PATIENCE_MS) -> PostgresStore:
    return await PostgresStore.connect(
        server.url, max_connections=3, statement_timeout_ms=timeout_ms
    )


def _revision(position: int, *, epoch: int = 1, app: str = "A") -> Revision:
    return Revision(f"{app}-{position}", app, "main", 0, "v", position, 1, 1, True, epoch)


async def test_a_store_outlives_a_kill_of_its_server(server: PostgresServer) -> None:
    """While it is away that is the error; afterwards everything is there on the same object."""
    store = await _connect(server)
    await store.cursors.put("sink", 7)
    await server.kill()
    with pytest.raises(UnavailableError):
        await store.cursors.get("sink")
    assert not await store.healthy()
    await server.start()
    await eventually(store.healthy)
    assert await store.cursors.get("sink") == 7
    await store.close()


async def test_a_connection_that_the_server_ended_is_a_server_that_is_away(
    server: PostgresServer,
) -> None:
    """It lay in the pool when the server said so, and is asked before the server hangs up: then the
    driver has no error of the server's to tell."""
    pool = await open_pool(server.url, max_connections=1, statement_timeout_ms=PATIENCE_MS)
    async with pool.acquire() as connection:
        connection._protocol.data_received(GOOD_BYE)
        with pytest.raises(UnavailableError):
            async with available():
                await connection.fetchval("select 1")
    pool.terminate()


async def test_whoever_asks_while_connections_end_hears_that_the_server_is_away(
    server: PostgresServer,
) -> None:
    """Whenever they end: nothing else comes out of the store, and it goes on."""
    store = await _connect(server)
    operator = await asyncpg.connect(server.url)
    answers = 0
    is_over = asyncio.Event()

    async def ask() -> None:
        nonlocal answers
        while not is_over.is_set():
            with contextlib.suppress(UnavailableError):
                await store.cursors.get("sink")
                answers += 1

    async def end_all() -> None:
        for _ in range(ENDINGS):
            before = answers

            async def goes_on(before: int = before) -> bool:
                return answers > before

            await eventually(goes_on)
            await operator.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where pid <> pg_backend_pid() and datname = 'postgres'"
            )
        is_over.set()

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(ask())
        group.create_task(end_all())
    await operator.close()
    await store.close()


async def test_a_paused_server_is_unavailable_in_time(server: PostgresServer) -> None:
    """Nobody waits for ever, and nothing is left hanging when it goes on."""
    await (await _connect(server)).close()  # the tables are made
    store = await _connect(server, timeout_ms=IMPATIENT_MS)
    with paused(server.pid, children=True):
        for _ in range(4):  # more often than there are connections
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(UnavailableError):
                    await store.cursors.get("sink")
    await eventually(store.healthy)
    await store.close()


async def test_racing_writers_of_one_generation_are_one(server: PostgresServer) -> None:
    """Out of many coordinators that write the same next generation exactly one succeeds."""
    stores = [await _connect(server) for _ in range(3)]
    deployment = Deployment("Race", "text", "v", Life(0, 1), 1, 0)
    outcomes = await asyncio.gather(
        *(store.deployments.put(deployment, epoch=1) for store in stores for _ in range(4))
    )
    assert sum(outcome == Written() for outcome in outcomes) == 1
    for store in stores:
        await store.close()


async def test_racing_revisions_leave_no_older_epoch_behind_a_newer(
    server: PostgresServer,
) -> None:
    """Whatever the order of arrival: once a newer epoch stands, an older one is refused."""
    stores = [await _connect(server) for _ in range(3)]
    outcomes = await asyncio.gather(
        *(
            stores[epoch % 3].revisions.save(_revision(epoch, epoch=epoch, app="R"), b"x")
            for epoch in range(1, 13)
        )
    )
    assert outcomes[-1] == Written()
    standing = await stores[0].revisions.list("R", "main", 0)
    refused = {e for e, o in enumerate(outcomes, 1) if isinstance(o, Stale)}
    assert {r.epoch for r in standing} == set(range(1, 13)) - refused
    assert await stores[0].revisions.save(_revision(99, epoch=11, app="R"), b"x") == Stale(12)
    for store in stores:
        await store.close()


DEFAULTS = ("repeatable read", "serializable")


async def _one_moment(server: PostgresServer, default: str) -> str:
    """A database of its own whose transactions see one moment, unless they say otherwise."""
    name = f"one_{os.urandom(4).hex()}"
    operator = await asyncpg.connect(server.url)
    await operator.execute(f"create database {name}")
    await operator.execute(f"alter database {name} set default_transaction_isolation = '{default}'")
    await operator.close()
    return urlsplit(server.url)._replace(path=f"/{name}").geturl()


async def _connect_to(url: str) -> PostgresStore:
    return await PostgresStore.connect(url, max_connections=3, statement_timeout_ms=PATIENCE_MS)


@pytest.mark.parametrize("default", DEFAULTS)
async def test_an_older_epoch_that_waits_for_a_newer_one_sees_it(
    server: PostgresServer, default: str
) -> None:
    """Also where the database shows a transaction one moment, which lies before the wait."""
    url = await _one_moment(server, default)
    new, old = await _connect_to(url), await _connect_to(url)
    operator = await asyncpg.connect(url)
    waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted"

    async def wait_in_line(number: int) -> None:
        async def stands() -> bool:
            return bool(await operator.fetchval(waiting) == number)

        await eventually(stands)

    async with operator.transaction(isolation="read_committed"):
        lock = "select pg_advisory_xact_lock(hashtextextended('R/main/0', 0))"
        await operator.execute(lock)
        first = asyncio.create_task(new.revisions.save(_revision(1, epoch=5, app="R"), b"x"))
        await wait_in_line(1)
        second = asyncio.create_task(old.revisions.save(_revision(2, epoch=1, app="R"), b"x"))
        await wait_in_line(2)
    assert await first == Written()
    assert await second == Stale(5)
    assert [one.epoch for one in await old.revisions.list("R", "main", 0)] == [5]
    await operator.close()
    for store in (new, old):
        await store.close()


@pytest.mark.parametrize("default", DEFAULTS)
async def test_racing_writers_are_one_whatever_the_database_s_default(
    server: PostgresServer, default: str
) -> None:
    """None of them hears that the server cannot put them in line: they take turns."""
    url = await _one_moment(server, default)
    stores = [await _connect_to(url) for _ in range(3)]
    deployment = Deployment("Race", "text", "v", Life(0, 1), 1, 0)
    outcomes = await asyncio.gather(
        *(store.deployments.put(deployment, epoch=1) for store in stores for _ in range(4))
    )
    assert sum(outcome == Written() for outcome in outcomes) == 1
    levels = (store.deployments.put_level("Race", "debug", epoch=1) for store in stores)
    assert set(await asyncio.gather(*levels)) == {Written()}
    changes = (store.accounts.change([], [], expected=0) for store in stores)
    assert sum(await asyncio.gather(*changes)) == 1
    for store in stores:
        await store.close()


async def test_a_large_state_comes_back_whole(server: PostgresServer) -> None:
    """Larger than one part of it; saved again it is replaced; purged, all of it goes."""
    store = await _connect(server)
    state = os.urandom(1_000_000) * 40
    assert await store.revisions.save(_revision(1), state) == Written()
    assert await store.revisions.load("A-1") == state
    assert await store.revisions.save(_revision(1), state[:20_000_000]) == Written()
    assert await store.revisions.load("A-1") == state[:20_000_000]
    assert await store.revisions.save(_revision(2), b"") == Written()
    assert await store.revisions.load("A-2") == b""
    assert await store.revisions.purge("A", "main", 0, keep=1) == 1
    with pytest.raises(LookupError):
        await store.revisions.load("A-1")
    await store.close()


async def test_many_processes_may_migrate_at_once(server: PostgresServer) -> None:
    """The tables are made once."""
    stores = await asyncio.gather(*(_connect(server) for _ in range(5)))
    assert all(await asyncio.gather(*(store.healthy() for store in stores)))
    for store in stores:
        await store.close()


@pytest.mark.parametrize("default", DEFAULTS)
async def test_many_may_migrate_at_once_whatever_the_database_s_default(
    server: PostgresServer, default: str
) -> None:
    """Who has waited for another one sees what that one has made."""
    url = await _one_moment(server, default)
    stores = await asyncio.gather(*(_connect_to(url) for _ in range(5)))
    assert all(await asyncio.gather(*(store.healthy() for store in stores)))
    for store in stores:
        await store.close()


async def test_a_pooler_may_give_each_transaction_another_connection(
    server: PostgresServer,
) -> None:
    """As pgbouncer does, whose prepared statements are not there then, or others'."""
    await (await _connect(server)).close()  # the tables are made
    async with pooled(server) as url:
        stores = [await _connect_to(url) for _ in range(2)]
        for number in range(1, 11):
            for store in stores:
                await store.cursors.put("pooled", number)
                await store.cursors.put_note("pooled", str(number))
                revision = _revision(number, app="Pooled")
                assert await store.revisions.save(revision, b"state") == Written()
            for store in stores:
                assert await store.cursors.get("pooled") == number
                assert await store.cursors.note("pooled") == str(number)
                assert await store.revisions.load(f"Pooled-{number}") == b"state"
        for store in stores:
            await store.close()


async def test_without_a_pooler_statements_stay_prepared(server: PostgresServer) -> None:
    """On the connection that was made first."""
    pool = await open_pool(server.url, max_connections=1, statement_timeout_ms=PATIENCE_MS)
    pid = await pool.fetchval("select pg_backend_pid()")
    prepared = "select statement from pg_prepared_statements"
    assert "select pg_backend_pid()" in [one for (one,) in await pool.fetch(prepared)]
    assert await pool.fetchval("select pg_backend_pid()") == pid
    await pool.close()


async def test_somebody_else_s_lock_is_waited_for(server: PostgresServer) -> None:
    """Where the server gives up waiting for one: nobody has to mend anything."""
    await (await _connect(server)).close()  # the tables are made
    operator = await asyncpg.connect(server.url)
    await operator.execute("alter database postgres set lock_timeout = '50ms'")
    store = await _connect(server)
    async with operator.transaction():
        await operator.execute("lock table lockstep.cursors in access exclusive mode")
        with pytest.raises(UnavailableError, match=r"away.*lock timeout") as found:
            await store.cursors.put("sink", 1)
        assert found.value.retryable
        await operator.execute("select pg_advisory_xact_lock($1)", MIGRATION_LOCK)
        with pytest.raises(UnavailableError, match=r"away.*lock timeout") as found:
            await _connect(server)
        assert found.value.retryable
    await operator.execute("alter database postgres reset lock_timeout")
    await store.cursors.put("sink", 1)
    await operator.close()
    await store.close()


async def test_tables_that_are_there_want_no_right_to_make_them(server: PostgresServer) -> None:
    """The first start does, and says so; the next ones have what they need. Whoever comes to a
    server that takes no writes waits."""
    name = f"rights_{os.urandom(4).hex()}"
    operator = await asyncpg.connect(server.url)
    await operator.execute(f"create role {name} login password 'pw'")
    await operator.execute(f"create database {name}")
    await operator.close()
    place = urlsplit(server.url)._replace(path=f"/{name}")
    theirs = place._replace(netloc=f"{name}:pw@{place.hostname}:{place.port}").geturl()
    with pytest.raises(StoreRefusedError, match="CREATE on the database for the first start"):
        await _connect_to(theirs)
    await (await _connect_to(place.geturl())).close()
    operator = await asyncpg.connect(place.geturl())
    await operator.execute(f"grant usage on schema lockstep to {name}")
    await operator.execute(f"grant all on all tables in schema lockstep to {name}")
    store = await _connect_to(theirs)
    await store.cursors.put("sink", 3)
    assert await store.cursors.get("sink") == 3
    await store.close()
    await operator.execute(f"alter database {name} set default_transaction_read_only = on")
    with pytest.raises(UnavailableError, match=r"away.*read-only"):
        await _connect_to(theirs)
    await operator.close()


async def test_who_may_not_ask_for_its_process_prepares_nothing(server: PostgresServer) -> None:
    """A hardened server: whether there is a pooler cannot be told, and all works."""
    name = f"hardened_{os.urandom(4).hex()}"
    operator = await asyncpg.connect(server.url)
    await operator.execute(f"create role {name} login password 'pw'")
    await operator.execute(f"create database {name} owner {name}")
    await operator.close()
    place = urlsplit(server.url)._replace(path=f"/{name}")
    operator = await asyncpg.connect(place.geturl())
    await operator.execute("revoke execute on function pg_backend_pid() from public")
    await operator.close()
    theirs = place._replace(netloc=f"{name}:pw@{place.hostname}:{place.port}").geturl()
    store = await _connect_to(theirs)
    await store.cursors.put("sink", 3)
    assert await store.cursors.get("sink") == 3
    await store.close()


async def test_a_wrong_password_is_not_a_server_that_is_away(server: PostgresServer) -> None:
    """Trying again would not help."""
    url = server.url.replace(server.password, "wrong")
    with pytest.raises(StoreRefusedError):
        await PostgresStore.connect(url, max_connections=1, statement_timeout_ms=PATIENCE_MS)


@pytest.mark.parametrize(
    ("place", "breaking", "mending"),
    [
        (
            "postgres",
            "alter table lockstep.cursors rename to elsewhere",
            "alter table lockstep.elsewhere rename to cursors",
        ),
        (
            "postgres",
            "alter schema lockstep rename to elsewhere",
            "alter schema elsewhere rename to lockstep",
        ),
        ("template1", "alter role {user} password 'other'", "alter role {user} password '{own}'"),
        ("template1", "alter role {user} nologin", "alter role {user} login"),
        (
            "template1",
            "alter database postgres allow_connections false",
            "alter database postgres allow_connections true",
        ),
        (
            "template1",
            "alter database postgres rename to elsewhere",
            "alter database elsewhere rename to postgres",
        ),
    ],
)
async def test_who_runs_takes_a_server_that_refuses_for_one_that_is_away(
    server: PostgresServer, place: str, breaking: str, mending: str
) -> None:
    """Whatever its operator takes away, from wherever he does it: it is found again later."""
    store = await _connect(server)
    await store.cursors.put("sink", 8)
    url = urlsplit(server.url)
    operator = await asyncpg.connect(url._replace(path=f"/{place}").geturl())
    if place != "postgres":
        await operator.execute(
            "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
            " where datname = 'postgres'"
        )
    await operator.execute(breaking.format(user=url.username))
    try:
        with pytest.raises(UnavailableError, match=r"store\.postgres_dsn") as found:
            await _refused(store)
        assert not found.value.retryable
    finally:
        await operator.execute(mending.format(user=url.username, own=server.password))
        await operator.close()

    async def is_back() -> bool:
        try:
            return await store.cursors.get("sink") == 8
        except UnavailableError:
            return False

    await eventually(is_back)
    await store.close()


async def _refused(store: PostgresStore) -> None:
    """Asks until the server refuses: first it may just have closed the connection."""
    while True:
        try:
            await store.cursors.get("sink")
        except UnavailableError as error:
            if isinstance(error, StoreRefusedError):
                raise


async def test_a_connection_goes_back_as_it_is_and_clean(server: PostgresServer) -> None:
    """Without a round trip; who was cancelled within a transaction leaves nothing of it."""
    limits = {"max_connections": 1, "statement_timeout_ms": PATIENCE_MS}
    pool, watching = [await open_pool(server.url, **limits) for _ in range(2)]
    said = "select query, state from pg_stat_activity where pid = $1"

    async def half() -> None:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("create table half (one int)")
            await connection.execute("select pg_sleep(600)")

    async def sleeps() -> bool:
        # The server forgets a request to cancel what it has not begun.
        return tuple(await watching.fetchrow(said, pid)) == ("select pg_sleep(600)", "active")

    pid = await pool.fetchval("select pg_backend_pid()")
    found = await watching.fetchrow(said, pid)
    assert tuple(found) == ("select pg_backend_pid()", "idle")
    task = asyncio.create_task(half())
    await eventually(sleeps)
    task.cancel()
    await asyncio.wait({task})
    assert await pool.fetchval("select pg_backend_pid()") == pid
    assert tuple(await watching.fetchrow(said, pid)) == ("select pg_backend_pid()", "idle")
    assert await pool.fetchval("select to_regclass('half')") is None
    await pool.close()
    await watching.close()
