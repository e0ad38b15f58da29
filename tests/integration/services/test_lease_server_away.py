"""Sinks while Redis is away: they go on under the publisher that had them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from lockstep.embedded import EmbeddedServers
from tests.integration.services.cluster import CLOCK, Cluster, until
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "receiver", "publisher-1", "publisher-2")
APP = """
@app:name('{name}')
define stream In (n long);
@sink(type='file', file.uri='{path}', @map(type='text', @payload('{{{{n}}}}')))
define stream Out (n long);
from In select n insert into Out;
"""


async def _delivered(cluster: Cluster, app: str, path: Path, number: int) -> None:
    """Sends an event and waits until it is the file's last line."""
    await cluster.send(app, "In", {"n": number})

    async def there() -> bool:
        return path.exists() and path.read_text().splitlines()[-1:] == [str(number)]

    await until(there, f"event {number} is in the file")


async def _deliverers(cluster: Cluster, app: str) -> list[str]:
    return [sink["node"] for sink in (await cluster.status(app))["sinks"]]


async def _deliverer(cluster: Cluster, app: str) -> str:
    """The publisher that says it delivers, as soon as it is one alone."""

    async def one() -> Any:
        found = await _deliverers(cluster, app)
        return found[0] if len(found) == 1 else None

    return str(await until(one, "one publisher delivers"))


async def test_sinks_go_on_without_the_lease_server(cluster_of: Start, tmp_path: Path) -> None:
    """Longer than a lease lives, while nobody can take over; each row once, in order."""
    path = tmp_path / "out"
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(APP.format(name="Outlived", path=path))
        await _delivered(cluster, app, path, 0)
        deliverer = await _deliverer(cluster, app)
        for node in cluster.nodes.values():
            node.leases.broken = True
        number = 0
        until_ms = CLOCK.monotonic_ms() + 2 * cluster.settings.leader.lease_ttl_ms
        while CLOCK.monotonic_ms() < until_ms:
            number += 1
            await _delivered(cluster, app, path, number)
        assert await _deliverer(cluster, app) == deliverer
        for node in cluster.nodes.values():
            node.leases.broken = False
        for _ in range(3):
            number += 1
            await _delivered(cluster, app, path, number)
        assert path.read_text().splitlines() == [str(n) for n in range(number + 1)]


async def test_sinks_go_on_while_the_lease_server_refuses_everybody(
    cluster_of: Start, servers: EmbeddedServers, tmp_path: Path
) -> None:
    """Its password was changed: nobody can take over either."""
    path = tmp_path / "out"
    operator = Redis.from_url(servers.redis_url, single_connection_client=True)
    async with cluster_of(*NODES) as cluster, operator:
        app = await cluster.deploy(APP.format(name="Refused", path=path))
        await _delivered(cluster, app, path, 0)
        deliverer, number = await _deliverer(cluster, app), 0
        password = (await operator.config_get("requirepass"))["requirepass"] or ""
        await operator.config_set("requirepass", "another")
        try:
            for kind in ("normal", "pubsub"):
                await operator.client_kill_filter(_type=kind, skipme=True)
            until_ms = CLOCK.monotonic_ms() + 2 * cluster.settings.leader.lease_ttl_ms
            while CLOCK.monotonic_ms() < until_ms:
                number += 1
                await _delivered(cluster, app, path, number)
            assert await _deliverer(cluster, app) == deliverer
        finally:
            await operator.config_set("requirepass", password)
        for _ in range(3):
            number += 1
            await _delivered(cluster, app, path, number)
        assert path.read_text().splitlines() == [str(n) for n in range(number + 1)]


async def test_a_publisher_that_alone_cannot_renew_gives_way(
    cluster_of: Start, tmp_path: Path
) -> None:
    """The other one has the lease and says so; what both try to write stands there once."""
    path = tmp_path / "out"
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(APP.format(name="Given", path=path))
        await _delivered(cluster, app, path, 0)
        old = await _deliverer(cluster, app)
        cluster.nodes[old].leases.broken = True
        number = 0

        async def other_alone() -> bool:
            nonlocal number
            number += 1
            await _delivered(cluster, app, path, number)
            found = await _deliverers(cluster, app)
            return len(found) == 1 and found != [old]

        await until(other_alone, "the other publisher delivers alone")
        await _delivered(cluster, app, path, number + 1)
        assert path.read_text().splitlines() == [str(n) for n in range(number + 2)]
