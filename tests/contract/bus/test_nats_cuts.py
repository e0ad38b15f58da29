"""NATS over a network that is really cut: packets vanish, and nobody says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.address import parse_address
from lockstep.bus.nats.connection import Connection
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import UnavailableError
from tests.chaos.namespaces import Lan, why_not
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.bus.cluster import Cluster
from tests.contract.patience import PATIENCE_S, eventually

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(why_not() is not None, reason=f"no namespaces: {why_not()}"),
]

NODES = ("n0", "n1", "n2")
LIMITS = with_limits(replicas=3, publish_timeout_ms=60_000, connect_timeout_ms=20_000)
BLOCK = bytes(900_000)


@pytest.fixture
def lan() -> Iterator[Lan]:
    """This thread, and so every connection of a test, is the client's."""
    with Lan(["client", *NODES], watcher="watcher") as made, made.namespace("client").entered():
        yield made


@pytest.fixture
async def server(tmp_path: Path, lan: Lan) -> AsyncIterator[NatsServer]:
    """A single server on a host of its own."""
    nats = NatsServer(
        tmp_path,
        clock=SystemClock(),
        randomness=SystemRandomness(),
        machine=lan.machine("n0"),
        sync_interval="2m",
    )
    await nats.start()
    yield nats
    await nats.stop()


@pytest.mark.parametrize("way", ["both", "towards the server", "from the server"])
async def test_a_vanished_server_is_noticed_whatever_waits_to_be_sent(
    lan: Lan, server: NatsServer, way: str
) -> None:
    """Who waits for an answer learns it, though megabytes that nobody takes are in the way."""
    there, back = ("client", "n0"), ("n0", "client")
    cuts = {"both": [there, back], "towards the server": [there], "from the server": [back]}
    connection = await Connection.open(parse_address(server.url), with_limits(), "test")
    await eventually(connection.healthy)
    lan.cut(cuts[way])
    # The kernel alone takes 15 minutes.
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(UnavailableError):
            await _ask_behind_much_else(connection)
    lan.mend()
    await eventually(connection.healthy)
    await connection.close()


async def _ask_behind_much_else(connection: Connection) -> None:
    for _ in range(10):
        await connection.publish("nobody", BLOCK)
    await connection.request("$JS.API.INFO", b"", timeout_ms=15 * 60_000)


async def test_a_server_that_is_cut_off_from_its_peers_is_left(tmp_path: Path, lan: Lan) -> None:
    """Its clients still reach it; appends go on over another one while the cut lasts."""
    async with Cluster(tmp_path, [lan.machine(node) for node in NODES]) as cluster:
        for index in range(len(NODES)):
            await cluster.reachable(index)
        bus = await _connected(cluster.url)
        log = await bus.input_log(fresh_log())
        await log.append(one_event(0), dedup_id="0")
        at = bus._connection._client.connected_url
        assert at is not None
        ours = next(node for node in NODES if lan.address(node) == at.hostname)
        others = [node for node in NODES if node != ours]
        lan.cut([pair for other in others for pair in ((ours, other), (other, ours))])
        async with asyncio.timeout(2 * PATIENCE_S):
            for number in range(1, 4):
                await log.append(one_event(number), dedup_id=str(number))
        now_at = bus._connection._client.connected_url
        assert now_at is not None
        assert now_at.hostname != at.hostname
        lan.mend()
        await bus.close()


async def _connected(url: str) -> NatsBus:
    async with asyncio.timeout(60):
        while True:
            try:
                return await NatsBus.connect(url, LIMITS, SystemRandomness())
            except UnavailableError:  # the cluster has yet to choose its leader
                await asyncio.sleep(0.2)
