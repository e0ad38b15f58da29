"""A leader that reaches the lease server and not the bus: the others do not wait for it."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.embedded import EmbeddedServers
from tests.contract.proxy import Proxy
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.test_processor import COUNT, expected, feed

NODES = ("processor-1", "processor-2")


@pytest.mark.parametrize("deaf_only", [False, True], ids=["cut", "answers-cut"])
async def test_a_leader_without_the_bus_gives_its_lead_away(
    cluster_of: Start, servers: EmbeddedServers, deaf_only: bool
) -> None:
    """It could renew its lease for ever. When the network is mended, what it sent comes late and is
    refused, and it stands by."""
    assert servers.nats is not None
    port = servers.nats.port
    async with (
        cluster_of("coordinator", "receiver") as cluster,
        Proxy(port) as first,
        Proxy(port) as second,
    ):
        ways = dict(zip(NODES, (first, second), strict=True))
        for node, way in ways.items():
            url = servers.nats_url.replace(f":{port}", f":{way.port}")
            await cluster.start(node, LOCKSTEP_BUS__URL=url)
        name = "Deaf" if deaf_only else "Cut"
        app = await cluster.deploy(COUNT.format(name=name), replicas=2)
        await feed(cluster, app, 0, 5)
        await cluster.published_count(app, 5)
        leader = await cluster.active(app)
        lease = f"processor/{app}/main/0"
        assert await cluster.watcher.leases.holder(lease) == leader
        ways[leader].answers_pass.clear()
        if not deaf_only:
            ways[leader].requests_pass.clear()
        try:
            await feed(cluster, app, 5, 5)
            await cluster.published_count(app, 10)

            assert await cluster.watcher.leases.holder(lease) != leader
        finally:
            ways[leader].answers_pass.set()
            ways[leader].requests_pass.set()
        await feed(cluster, app, 10, 5)
        rows = await cluster.published_count(app, 15)
        assert [row.data for row in rows] == expected(15)

        async def stands_by() -> Any:
            found = (await cluster.status(app))["replicas"]
            return [r["node"] for r in found if r["role"] != "active" and r["ready"]] == [leader]

        await until(stands_by, "the old leader stands by")
