"""What an app lets through, as its services tell while events come."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook

NODES = ("coordinator", "processor-1", "receiver", "publisher")
CALLED = """
@app:name('{name}')
define stream In (k string, v double);
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Hot (k string, v double);
from In[v > 10.0] select k, v insert into Hot;
"""


async def seen_in(cluster: Cluster, app: str, part: str, where: Any) -> Any:
    """The first replica or sink in the app's status of which that is true."""
    seen: Any = None

    async def there() -> Any:
        nonlocal seen
        seen = (await cluster.status(app))[part]
        return next(filter(where, seen), None)

    return await until(there, f"such {part} of {app}", seen=lambda: seen)


async def test_heartbeats_tell_how_much_passes_and_how_late(cluster_of: Start) -> None:
    """Of the leader what goes into the output log, of the sink what it takes; and both times are
    from the door on, so that the sink's is not the shorter one."""

    async def take(_: web.Request) -> web.Response:
        return web.Response()

    async with webhook(take) as url, cluster_of(*NODES) as cluster:
        app = await cluster.deploy(CALLED.format(name="Flow", url=url))
        for i in range(40):
            await cluster.send(app, "In", [{"k": f"k{i}", "v": v} for v in (5.0, 20.0)])
        leader = await seen_in(cluster, app, "replicas", lambda one: one["rows_per_s"] > 0)
        assert 0 < leader["latency_p50_ms"] <= leader["latency_p99_ms"]
        sink = await seen_in(cluster, app, "sinks", lambda one: one["rows_per_s"] > 0)
        assert 0 < sink["latency_p50_ms"] <= sink["latency_p99_ms"]
