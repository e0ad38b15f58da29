"""PostgreSQL over a network that is really cut: a client vanishes and its locks go with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import PostgresServer
from lockstep.events import UnavailableError
from lockstep.store.postgres.connection import available, open_pool
from tests.chaos.namespaces import Lan, why_not
from tests.contract.patience import PATIENCE_MS, eventually

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(why_not() is not None, reason=f"no namespaces: {why_not()}"),
]

IMPATIENT_MS = 2_500  # waited out, and enough for a server that is well on a busy machine
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
        machine=lan.machine("postgres"),
        durable=False,
    )
    with lan.namespace("watcher").entered():
        await postgres.start()
        pool = await _pool(postgres, PATIENCE_MS)
        await pool.execute("create table claims (holder text)")
        await pool.execute("insert into claims values ('nobody')")
        await pool.close()
    yield postgres
    await postgres.stop()


async def _pool(server: PostgresServer, timeout_ms: int = IMPATIENT_MS) -> Any:
    return await open_pool(server.url, max_connections=2, statement_timeout_ms=timeout_ms)


async def _has_locked(pool: Any, who: str) -> bool:
    try:
        async with available():
            await pool.execute(LOCK, who)
    except UnavailableError:  # another one's lock
        return False
    return True


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
        # By itself the server waits for two hours.
        await eventually(lambda: _has_locked(second, "second"))
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
        await eventually(lambda: _is_gone(connection))
        await connection.execute(LOCK, "again")


async def _is_gone(connection: Any) -> bool:
    return bool(connection.is_closed())
