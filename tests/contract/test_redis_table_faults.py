"""Tables in Redis after a fail-over: their connections go on with the new primary."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from redis.asyncio import Redis

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.databases import redis_at
from lockstep.databases.redis.connections import RedisAwayError, RedisConnections
from lockstep.embedded import RedisServer
from tests.contract.patience import eventually
from tests.contract.proxy import Proxy

pytestmark = pytest.mark.servers

PUT = "redis.call('SET', KEYS[1], ARGV[1]) return 1"
AT_ONCE = 50


async def started(folder: Path) -> RedisServer:
    """A Redis server of the test's own."""
    server = RedisServer(folder, clock=SystemClock(), randomness=SystemRandomness())
    await server.start()
    return server


async def test_a_table_moves_to_the_new_primary_after_a_fail_over(tmp_path: Path) -> None:
    """New connections reach it; open ones stay with the old one, which is a replica now and hangs
    up on nobody. Whoever has used them meanwhile hears that the server is away, and tries again."""
    old = await started(tmp_path)
    folder = tmp_path / "new"
    folder.mkdir()
    shutil.copy(tmp_path / "password", folder)
    new = await started(folder)
    before: Redis = Redis.from_url(old.url)
    after: Redis = Redis.from_url(new.url)
    async with Proxy(old.port) as proxy:
        connections = RedisConnections(redis_at("127.0.0.1", proxy.port, old.password))

        async def put_all() -> set[type]:
            putting = (connections.call(PUT, f"k{number}", "v") for number in range(AT_ONCE))
            found = await asyncio.gather(*putting, return_exceptions=True)
            return {type(each) for each in found}

        async def is_put() -> bool:
            kinds = await put_all()
            assert kinds <= {int, RedisAwayError}
            return kinds == {int}

        assert await put_all() == {int}
        proxy.lead_to(new.port)
        await before.replicaof("127.0.0.1", "1")
        with pytest.raises(RedisAwayError, match="READONLY"):
            await connections.call(PUT, "first", "v")
        assert await connections.call(PUT, "first", "v") == 1
        assert await after.get("first") == b"v"
        await before.replicaof("NO", "ONE")
        await after.replicaof("127.0.0.1", "1")
        proxy.lead_to(old.port)
        await eventually(is_put)
        await connections.close()
    await before.aclose()
    await after.aclose()
    await old.stop()
    await new.stop()
