"""PostgreSQL over a network that is really cut: a client vanishes and its locks go with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import PostgresServer
from lockstep.events import UnavailableError
from lockstep.store.postgres.connection import available, open_pool
from tests.chaos.namespaces import Lan, why_not

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(why_not() is not None, reason=f"no namespaces: {why_not()}"),
]

STATEMENT_TIMEOUT_MS = 1_000
NOTICED_S = 30  # a bound for a busy machine; by itself the server waits for two hours
LOCK = "update claims set holder = $1"


@pytest.fixture
def lan() -> Iterator[Lan]:
    """Two clients and the server; the second client is the one that stays."""
    with Lan(["first", "second", "postgres"], watcher="watcher") as made:
        yield made


@pytest.fixture
async def server(tmp_path: Path, lan: Lan) -> AsyncIterator[PostgresServer]:
    """A server on a host of its own, and one row that both want."""
    tmp_path.chmod(0o711)
    postgres = PostgresServer(
        tmp_path / "postgres",
        clock=SystemClock(),
        randomness=SystemRandomness(),
        place=lan.place("postgres"),
        durable=False,
    )
    with lan.namespace("watcher").entered():
        await postgres.start()
        pool = await _pool(postgres)
        await pool.execute("create table claims (holder text)")
        await pool.execute("insert into claims values ('nobody')")
        await pool.close()
    yield postgres
    await postgres.stop()


async def _pool(server: PostgresServer) -> Any:
    return await open_pool(server.url, max_connections=2, statement_timeout_ms=STATEMENT_TIMEOUT_MS)


@pytest.mark.parametrize("way", ["both", "from the client"])
async def test_the_locks_of_a_client_that_vanished_are_given_up(
    lan: Lan, server: PostgresServer, way: str
) -> None:
    """In the middle of a transaction; the next one gets its turn while the cut lasts."""
    cuts = [("first", "postgres")] + ([("postgres", "first")] if way == "both" else [])
    with lan.namespace("first").entered():
        first = await _pool(server)
        connection = await first.acquire()
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(LOCK, "first")
    lan.cut(cuts)
    with lan.namespace("second").entered():
        second = await _pool(server)
        async with asyncio.timeout(NOTICED_S):
            while True:
                try:
                    async with available():
                        await second.execute(LOCK, "second")
                except UnavailableError:  # the first one's lock
                    continue
                break
        assert await second.fetchval("select holder from claims") == "second"
        second.terminate()
    first.terminate()


async def test_a_transaction_that_dawdles_may_be_tried_again(
    lan: Lan, server: PostgresServer
) -> None:
    """The server has given it up: nothing of it stands, and its client is told to come again."""
    with lan.namespace("first").entered():
        pool = await _pool(server)
        with pytest.raises(UnavailableError):
            await _dawdle(pool)
        async with available():
            assert await pool.fetchval("select holder from claims") == "nobody"
        pool.terminate()


async def _dawdle(pool: Any) -> None:
    async with available(), pool.acquire() as connection, connection.transaction():
        await connection.execute(LOCK, "first")
        await _until_gone(connection)
        await connection.execute(LOCK, "again")


async def _until_gone(connection: Any) -> None:
    for _ in range(NOTICED_S * 20):
        if connection.is_closed():
            return
        await asyncio.sleep(0.05)
    pytest.fail("the server never gave the session up")
