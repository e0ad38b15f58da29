"""A Redis user with rights of its own: those that are enough, and what is told where some lack."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import RedisServer
from lockstep.events import UnavailableError
from lockstep.frame import HolderWatch
from lockstep.leader import Held, Lease
from lockstep.leader.redis import RedisLeases
from lockstep.leader.redis.leases import LeasesRefusedError
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics, get_logger
from tests.contract.patience import PATIENCE_MS, eventually

pytestmark = pytest.mark.servers

CLOCK: Final = SystemClock()
LONG_MS: Final = 600_000
CHANNELS: Final = "&lockstep:process:*"
ENOUGH: Final = (
    *("-@all", "+eval", "+get", "+set", "+del", "+subscribe", "+pubsub|numsub", "+ping"),
    *("resetkeys", "~lockstep:lease:*", "resetchannels"),
)
"""As RUNBOOK.md names them, without the channels."""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisServer]:
    """A Redis server of the test's own."""
    redis = RedisServer(tmp_path, clock=CLOCK, randomness=SystemRandomness())
    await redis.start()
    yield redis
    await redis.stop()


@contextlib.asynccontextmanager
async def operator_of(server: RedisServer) -> AsyncIterator[Redis]:
    """Who gives rights."""
    found: Redis = Redis.from_url(server.url, single_connection_client=True)
    yield found
    await found.aclose()


async def with_rights(server: RedisServer, operator: Redis, *rights: str) -> list[RedisLeases]:
    """Two processes of a user that may do that."""
    words = ("ACL", "SETUSER", "u", "reset", "on", ">pw", *rights)
    await operator.execute_command(*words)  # type: ignore[no-untyped-call]  # redis tells no type
    url = f"redis://u:pw@127.0.0.1:{server.port}/0"
    return [RedisLeases(url, CLOCK, SystemRandomness(), timeout_ms=PATIENCE_MS) for _ in "12"]


async def test_the_rights_that_are_named_are_enough(server: RedisServer) -> None:
    """For all that is asked of a lease server."""
    async with operator_of(server) as operator:
        one, two = await with_rights(server, operator, *ENOUGH, CHANNELS)
        lease = await one.acquire("r", "a", ttl_ms=LONG_MS)
        assert isinstance(lease, Lease)
        appearing = asyncio.create_task(one.appear())

        async def is_seen() -> bool:
            return one.process in await two.connected([one.process])

        await eventually(is_seen)
        held = Held(lease.holder, lease.token)
        assert await two.acquire("r", "b", ttl_ms=LONG_MS, instead_of=held) == held
        assert await one.renew(lease) is not None
        assert not (await one.renew_all((lease,), ttl_ms=LONG_MS)).lost
        assert await two.holders(["r"]) == {"r": held}
        assert await two.holder("r") == "a"
        assert await one.hand_over(lease, "b")
        taken = await two.acquire("r", "b", ttl_ms=LONG_MS)
        assert isinstance(taken, Lease)
        assert await two.release(taken)
        assert await one.healthy()
        appearing.cancel()
        await asyncio.wait({appearing})
        for leases in (one, two):
            await leases.close()


async def test_a_user_without_channels_is_told_of_once_and_connects_seldom(
    server: RedisServer,
) -> None:
    """As Redis 7 makes one, unless it is told otherwise. The log names what lacks."""
    async with operator_of(server) as operator:
        one, two = await with_rights(server, operator, *ENOUGH)
        with pytest.raises(LeasesRefusedError, match=r"&lockstep:process:\*") as refused:
            await two.appear()
        assert not refused.value.retryable
        made = int((await operator.info("stats"))["total_connections_received"])
        with capture_logs() as logs:
            watch = HolderWatch(one, CLOCK, load_settings({}).leader, Metrics(), get_logger())
            running = asyncio.create_task(watch.run())
            await asyncio.sleep(4)
            running.cancel()
            await asyncio.wait({running})
        (warning,) = [line for line in logs if line["log_level"] != "debug"]
        assert warning["event"].startswith("deaths are not noticed")
        assert "&lockstep:process:*" in warning["error"]
        assert int((await operator.info("stats"))["total_connections_received"]) - made <= 3
        for leases in (one, two):
            await leases.close()


async def test_a_right_that_lacks_is_no_server_that_is_away(server: RedisServer) -> None:
    """Trying again would not help; its operator is told all that is needed."""
    async with operator_of(server) as operator:
        one, two = await with_rights(server, operator, *ENOUGH, CHANNELS, "-pubsub", "-eval")
        with pytest.raises(LeasesRefusedError, match=r"\+pubsub\|numsub"):
            await one.connected([two.process])
        with pytest.raises(UnavailableError, match=r"~lockstep:lease:\*"):
            await one.acquire("r", "a", ttl_ms=LONG_MS)
        for leases in (one, two):
            await leases.close()
