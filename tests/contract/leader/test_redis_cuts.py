"""Redis over a network that is really cut: packets vanish, and nobody says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import RedisServer
from lockstep.events import UnavailableError
from lockstep.leader import Lease
from lockstep.leader.redis import RedisLeases
from tests.chaos.namespaces import Lan, Pair, why_not
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(why_not() is not None, reason=f"no namespaces: {why_not()}"),
]

CLOCK = SystemClock()
TTL_MS = 600_000
TIMEOUT_MS = 250
THERE, BACK = ("holder", "redis"), ("redis", "holder")


@pytest.fixture
def lan() -> Iterator[Lan]:
    """This thread, and so every connection of a test, is the holder's."""
    with Lan(["holder", "redis"], watcher="watcher") as made, made.namespace("holder").entered():
        yield made


@pytest.fixture
async def server(tmp_path: Path, lan: Lan) -> AsyncIterator[RedisServer]:
    """A server on a host of its own."""
    redis = RedisServer(
        tmp_path, clock=CLOCK, randomness=SystemRandomness(), machine=lan.machine("redis")
    )
    await redis.start()
    yield redis
    await redis.stop()


@pytest.mark.parametrize("cut", [[THERE, BACK], [THERE], [BACK]], ids=["both", "there", "back"])
async def test_a_cut_is_told_and_a_lease_outlives_it(
    lan: Lan, server: RedisServer, cut: list[Pair]
) -> None:
    """Each request of a holder that is cut off ends; mended, the lease is its own as before."""
    leases = RedisLeases(server.url, CLOCK, SystemRandomness(), timeout_ms=TIMEOUT_MS)
    patient = RedisLeases(server.url, CLOCK, SystemRandomness(), timeout_ms=PATIENCE_MS)
    await eventually(leases.healthy)
    lease = await patient.acquire("r", "a", ttl_ms=TTL_MS)
    assert isinstance(lease, Lease)
    lan.cut(cut)
    # The kernel alone takes 15 minutes.
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(2):  # over the connection that was there, and for want of one
            with pytest.raises(UnavailableError):
                await leases.renew(lease)
        assert not await leases.healthy()
    lan.mend()
    await eventually(leases.healthy)
    assert await patient.renew(lease) is not None
    await leases.close()
    await patient.close()
