"""A second suite does not get at the servers of the first one by mistake."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import EmbeddedServers, NatsServer
from lockstep.frame import open_world, run_together
from lockstep.frame.suite import OtherSuiteError
from lockstep.settings import load_settings
from lockstep_services.publisher.wiring import wire
from tests.integration.services.cluster import WAIT_MS, Cluster, own_database
from tests.integration.services.conftest import Start

CLOCK, RANDOM = SystemClock(), SystemRandomness()


async def _another(cluster: Cluster, servers: EmbeddedServers, **given: str) -> dict[str, str]:
    """The variables of a suite with a database of its own."""
    dsn = await own_database(servers.postgres_dsn, f"test_{RANDOM.uuid_hex()[:10]}")
    return {**cluster.environment, "LOCKSTEP_STORE__POSTGRES_DSN": dsn, **given}


async def test_a_suite_over_the_bus_of_another_does_not_start(
    cluster_of: Start, servers: EmbeddedServers
) -> None:
    """Until it says that the other one is gone. Then that one, if it is not, does not start."""
    async with cluster_of("coordinator") as cluster:
        first, given = cluster.watcher.suite, await _another(cluster, servers)
        with pytest.raises(OtherSuiteError, match=f"the bus belongs to another suite .{first}"):
            await open_world(load_settings(given), CLOCK, RANDOM)
        taking = load_settings({**given, "LOCKSTEP_CLUSTER__TAKE_OVER": first})
        second = await open_world(taking, CLOCK, RANDOM)
        await second.close()
        assert second.suite not in ("", first)
        with pytest.raises(OtherSuiteError, match=second.suite):
            await open_world(cluster.settings, CLOCK, RANDOM)


async def test_a_suite_over_the_lease_server_of_another_ends(
    cluster_of: Start, servers: EmbeddedServers, tmp_path: Path
) -> None:
    """Its bus is its own; nobody waits for lease servers at the start, so it ends right after."""
    nats = NatsServer(tmp_path / "nats", clock=CLOCK, randomness=RANDOM, sync_interval="2m")
    await nats.start()
    try:
        async with cluster_of("coordinator") as cluster:
            given = await _another(cluster, servers, LOCKSTEP_BUS__URL=nats.url)
            with pytest.raises(OtherSuiteError, match="the lease server belongs to another suite"):
                async with asyncio.timeout(WAIT_MS / 1000):
                    await run_together(
                        [("publisher", wire)], load_settings(given), stop=asyncio.Event()
                    )
    finally:
        await nats.stop()
