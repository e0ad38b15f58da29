"""Redis under faults: killed, flushed, paused, answers lost, wrong password."""

from __future__ import annotations

import asyncio
import errno
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.client import PubSub
from redis.exceptions import ResponseError

from lockstep.clock import SystemClock, SystemRandomness, VirtualClock
from lockstep.embedded import RedisServer
from lockstep.events import UnavailableError
from lockstep.leader import Held, Lease
from lockstep.leader.redis import RedisLeases
from lockstep.leader.redis.leases import LeasesRefusedError
from lockstep.leader.redis.moving import MOVE_EVERY_MS, Moving
from lockstep.leader.roll import LeaseRoll
from lockstep.telemetry import get_logger
from lockstep.telemetry.seldom import MINUTE_MS
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually
from tests.contract.pausing import paused
from tests.contract.proxy import Proxy

pytestmark = pytest.mark.servers

CLOCK = SystemClock()
LONG_MS = 600_000


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RedisServer]:
    """A Redis server of the test's own."""
    redis = RedisServer(tmp_path, clock=CLOCK, randomness=SystemRandomness())
    await redis.start()
    yield redis
    await redis.stop()


def _leases(url: str, timeout_ms: int = PATIENCE_MS) -> RedisLeases:
    return RedisLeases(url, CLOCK, SystemRandomness(), timeout_ms=timeout_ms)


async def test_a_lease_outlives_a_restart_of_its_server(server: RedisServer) -> None:
    """Killed and started again, it knows the holder; the connection comes back by itself."""
    leases, others = _leases(server.url), _leases(server.url)
    lease = await leases.acquire("r", "a", ttl_ms=LONG_MS)
    assert isinstance(lease, Lease)
    await server.kill()
    with pytest.raises(UnavailableError):
        await leases.renew(lease)
    assert not await leases.healthy()
    await server.start()
    assert isinstance(await others.acquire("r", "b", ttl_ms=LONG_MS), Held)
    assert await leases.renew(lease) is not None


async def test_many_who_ask_at_a_time_share_connections(server: RedisServer) -> None:
    """A thousand apps whose leader died do not open a thousand of them."""
    leases = _leases(server.url)
    asking = (leases.acquire(f"r{number}", "a", ttl_ms=LONG_MS) for number in range(1_000))
    assert all(isinstance(each, Lease) for each in await asyncio.gather(*asking))
    assert (await leases._redis.info("clients"))["connected_clients"] <= 2


async def test_all_who_ask_hear_of_a_server_that_is_away(server: RedisServer) -> None:
    """Also those who wait for the request of others; afterwards it goes on."""
    leases = _leases(server.url)
    await server.kill()
    asking = (leases.acquire(f"r{number}", "a", ttl_ms=LONG_MS) for number in range(600))
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(each) for each in found} == {UnavailableError}
    await server.start()
    assert isinstance(await leases.acquire("r", "a", ttl_ms=LONG_MS), Lease)


async def test_a_process_that_is_held_up_does_not_lose_its_answer(server: RedisServer) -> None:
    """The answer came long ago when it looks, and the connection is kept. Only what does not come
    while the process has time is missing."""
    leases = _leases(server.url, timeout_ms=100)
    lease = await leases.acquire("r", "a", ttl_ms=LONG_MS)
    assert isinstance(lease, Lease)
    made = (await leases._redis.info("stats"))["total_connections_received"]
    for _ in range(3):
        renewing = asyncio.create_task(leases.renew(lease))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        time.sleep(0.4)  # holds up the loop: that is what is tried
        assert await renewing is not None
    assert (await leases._redis.info("stats"))["total_connections_received"] == made


@pytest.mark.timeout(60)
async def test_a_connection_that_times_out_in_the_kernel_ends_what_appears(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does when a host was cut off for long. It must not be asked again and again, for ever:
    nothing else would run in the process."""
    subscriptions: list[PubSub] = []
    leases = _leases(server.url)
    make = leases._redis.pubsub

    def pubsub() -> PubSub:
        subscriptions.append(make())
        return subscriptions[-1]

    monkeypatch.setattr(leases._redis, "pubsub", pubsub)
    appearing = asyncio.create_task(leases.appear())

    async def is_seen() -> bool:
        return leases.process in await leases.connected([leases.process])

    await eventually(is_seen)
    (subscription,) = subscriptions
    reader = subscription.connection._reader  # type: ignore[attr-defined]  # it is connected
    reader.set_exception(TimeoutError(errno.ETIMEDOUT, "Connection timed out"))
    with pytest.raises(UnavailableError, match="timed out"):
        await appearing


async def test_a_flushed_server_has_lost_the_lease(server: RedisServer) -> None:
    """The holder learns it at the next renewal, and whoever asks first has it then."""
    leases, others = _leases(server.url), _leases(server.url)
    lease = await leases.acquire("r", "a", ttl_ms=LONG_MS)
    assert isinstance(lease, Lease)
    await others._redis.flushall()
    assert await leases.renew(lease) is None
    assert isinstance(await others.acquire("r", "b", ttl_ms=LONG_MS), Lease)


async def test_a_lost_answer_does_not_lock_the_resource(server: RedisServer) -> None:
    """The key was set and its answer lost: the same acquisition asks again and has it."""
    async with Proxy(server.port) as proxy:
        leases = _leases(server.url.replace(str(server.port), str(proxy.port)))
        await eventually(leases.healthy)
        proxy.swallow_answers = True
        acquiring = asyncio.create_task(leases.acquire("r", "a", ttl_ms=LONG_MS))
        await proxy.swallowed()
        others = _leases(server.url)
        assert await others.holder("r") == "a"
        proxy.swallow_answers = False
        proxy.cut()
        lease = await asyncio.wait_for(acquiring, PATIENCE_S)
        assert isinstance(lease, Lease)
        assert await leases.renew(lease) is not None
        await leases.close()


async def test_a_paused_server_is_unavailable_in_time(server: RedisServer) -> None:
    """Nobody waits for as long as it is paused, so that a leader can go on."""
    leases = _leases(server.url, timeout_ms=100)
    await eventually(leases.healthy)
    with paused(server.pid), pytest.raises(UnavailableError):
        await asyncio.wait_for(leases.acquire("r", "a", ttl_ms=LONG_MS), PATIENCE_S)
    await eventually(leases.healthy)


async def test_a_wrong_password_is_not_a_server_that_is_away(server: RedisServer) -> None:
    """Trying again would not help."""
    with pytest.raises(LeasesRefusedError):
        await _leases(server.url.replace(server.password, "wrong")).acquire("r", "a", ttl_ms=1)


async def test_a_roll_outlives_a_password_that_is_changed_meanwhile(server: RedisServer) -> None:
    """As a server that is away; its leases are renewed as soon as it lets us in again."""
    roll = LeaseRoll(
        _leases(server.url), "a", CLOCK, get_logger(),
        ttl_ms=LONG_MS, ttl_max_ms=LONG_MS, renew_ms=100, retry_ms=20,
    )  # fmt: skip
    assert isinstance(await roll.acquire("r"), Lease)
    running = asyncio.create_task(roll.run())
    operator: Redis = Redis.from_url(server.url, single_connection_client=True)

    async def is_refused() -> bool:
        return roll.is_away or running.done()

    async def is_renewed() -> bool:
        lease = roll.lease("r")
        return lease is not None and lease.expires_at_monotonic_ms > back_ms + LONG_MS

    await operator.config_set("requirepass", "another")
    await operator.client_kill_filter(_type="normal", skipme=True)
    await eventually(is_refused)
    with pytest.raises(LeasesRefusedError) as refused:
        await roll.renew("r")
    assert not refused.value.retryable
    assert not running.done()
    back_ms = CLOCK.monotonic_ms()
    await operator.config_set("requirepass", server.password)
    await eventually(is_renewed)
    assert not roll.is_away
    running.cancel()
    await asyncio.wait({running})
    await operator.aclose()


async def test_a_closed_connection_is_seen_at_both_ends(server: RedisServer) -> None:
    """The process learns that it is not seen any more, and the server forgets it."""
    async with Proxy(server.port) as proxy:
        leases = _leases(server.url.replace(str(server.port), str(proxy.port)))
        others = _leases(server.url)
        appearing = asyncio.create_task(leases.appear())

        async def is_seen() -> bool:
            return leases.process in await others.connected([leases.process])

        async def is_gone() -> bool:
            return not await is_seen()

        await eventually(is_seen)
        proxy.cut()
        with pytest.raises(UnavailableError):
            await asyncio.wait_for(appearing, PATIENCE_S)
        await eventually(is_gone)
        await leases.close()
        await others.close()


async def test_leases_move_to_the_new_primary_after_a_fail_over(
    server: RedisServer, tmp_path: Path
) -> None:
    """New connections reach it; open ones stay with the old one, which is a replica now: they are
    left, those of a process that appears as well."""
    folder = tmp_path / "new"
    folder.mkdir()
    shutil.copy(tmp_path / "password", folder)
    new = RedisServer(folder, clock=CLOCK, randomness=SystemRandomness())
    await new.start()
    operator: Redis = Redis.from_url(server.url)
    async with Proxy(server.port) as proxy:
        leases, others = (
            _leases(server.url.replace(str(server.port), str(proxy.port))),
            _leases(new.url),
        )
        assert isinstance(await leases.acquire("r", "a", ttl_ms=LONG_MS), Lease)
        appearing = asyncio.create_task(leases.appear())

        async def is_seen() -> bool:
            return leases.process in await leases.connected([leases.process])

        await eventually(is_seen)
        proxy.lead_to(new.port)
        await operator.replicaof("127.0.0.1", "1")
        assert isinstance(await leases.acquire("s", "a", ttl_ms=LONG_MS), Lease)
        assert await others.holder("s") == "a"
        with pytest.raises(UnavailableError):
            await asyncio.wait_for(appearing, PATIENCE_S)
        again = asyncio.create_task(leases.appear())
        await eventually(is_seen)
        assert await others.connected([leases.process])
        again.cancel()
        await asyncio.wait({again})
        await leases.close()
        await others.close()
    await operator.aclose()
    await new.stop()


async def test_a_replica_is_left_only_every_so_often_and_told_of_seldom(
    server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """As long as the name leads to it, a new connection for each request would help nobody."""
    clock = VirtualClock()
    leases = RedisLeases(server.url, clock, SystemRandomness(), timeout_ms=PATIENCE_MS)
    operator: Redis = Redis.from_url(server.url, single_connection_client=True)

    async def connections() -> int:
        with pytest.raises(UnavailableError, match="read only"):
            await leases.acquire("r", "a", ttl_ms=LONG_MS)
        return int((await operator.info("stats"))["total_connections_received"])

    await operator.replicaof("127.0.0.1", "1")
    first = await connections()
    assert await connections() == first
    await clock.advance_ms(MOVE_EVERY_MS)
    assert await connections() == first + 1
    assert capsys.readouterr().err.count("takes no writes") == 1
    await clock.advance_ms(MINUTE_MS)
    await connections()
    assert capsys.readouterr().err.count("takes no writes") == 1
    await operator.aclose()
    await leases.close()


async def test_older_servers_tell_within_a_text_that_they_are_replicas() -> None:
    """Redis 6 stops a script so."""
    closed: list[bool] = []

    class Pool:
        async def disconnect(self, inuse_connections: bool) -> None:
            closed.append(inuse_connections)

    moving = Moving(cast("ConnectionPool", Pool()), VirtualClock(), "here")
    await moving.heed(ResponseError("wrong number of arguments"))
    assert closed == []
    text = "Error running script (call to f_1): @user_script:9: -READONLY You can't write against"
    await moving.heed(ResponseError(text))
    assert closed == [True]


async def test_a_server_that_answers_and_takes_no_writes_is_away(server: RedisServer) -> None:
    """One that is short of memory still says who holds what. Who holds a lease is not told in turns
    that it is away and back: what outlives an absence would begin and end with each turn."""
    roll = LeaseRoll(
        _leases(server.url, timeout_ms=100), "a", CLOCK, get_logger(),
        ttl_ms=LONG_MS, ttl_max_ms=LONG_MS, renew_ms=400, retry_ms=200,
    )  # fmt: skip
    roll.watch("watched", Quiet())
    assert isinstance(await roll.acquire("held"), Lease)
    running = asyncio.create_task(roll.run())
    operator: Redis = Redis.from_url(server.url, single_connection_client=True)

    async def is_away() -> bool:
        return roll.is_away

    async def is_back() -> bool:
        return not roll.is_away

    await operator.config_set("maxmemory", 1)
    await eventually(is_away)
    looked_ms = roll.contact_ms
    async with asyncio.timeout(PATIENCE_S):
        while roll.contact_ms < looked_ms + 1_000:  # looks are answered all the while
            assert roll.is_away
            await asyncio.sleep(0.005)
    await operator.config_set("maxmemory", 0)
    await eventually(is_back)
    running.cancel()
    await asyncio.wait({running})
    await operator.aclose()


class Quiet:
    """Watches, and does nothing."""

    def lost(self) -> None:
        """See `Watcher`."""

    def vacant(self) -> None:
        """See `Watcher`."""

    def taken(self, held: Held) -> None:
        """See `Watcher`."""
