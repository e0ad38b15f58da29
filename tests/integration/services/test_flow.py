"""What an app lets through, as its services tell while events come."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
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


APP = """
@app:name('{name}')
@source(type='http', receiver.url='http://127.0.0.1:0/{name}', @map(type='json'))
define stream In (k string, v double);
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Hot (k string, v double);
define stream Warm (k string, v double);
define table Kept (k string, v double);
@info(name='warm') from In[v > 10.0] select k, v insert into Warm;
@info(name='hot') from Warm join Kept on Warm.k == Kept.k
select Warm.k as k, Warm.v as v insert into Hot;
@info(name='keep') from In select k, v insert into Kept;
"""


async def flow_of(cluster: Cluster, app: str, where: Callable[[Any], bool]) -> Any:
    """The app's flow as soon as that is true of its edges, by where they lead from and to."""
    seen: Any = None

    async def there() -> Any:
        nonlocal seen
        status, seen = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/flow")
        assert status == 200, seen
        edges = {(one["from_node"], one["to_node"]): one for one in seen["edges"]}
        return (seen, edges) if where(edges) else None

    return await until(there, f"such a flow of {app}", seen=lambda: seen)


@contextlib.asynccontextmanager
async def under_way(cluster: Cluster, app: str) -> AsyncIterator[None]:
    """Events come, one by one, as long as the block lasts."""

    async def send() -> None:
        for i in itertools.count():
            await cluster.send(app, "In", {"k": f"k{i % 10}", "v": 20})

    sending = asyncio.create_task(send())
    try:
        yield
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sending


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


async def test_each_edge_says_what_passes_and_a_sink_that_is_away_says_so(
    cluster_of: Start, tmp_path: Path
) -> None:
    """From the door to the sink. A sink that is stopped keeps its lag and tells its trouble, while
    all in front of it goes on; when it is back, the lag is gone."""
    is_there = False

    async def take(_: web.Request) -> web.Response:
        return web.Response(status=200 if is_there else 503)

    nodes = (*NODES, "presenter")
    settings = {
        "LOCKSTEP_PUBLISHER__RETRY_MAX_ATTEMPTS": "1000000",
        "LOCKSTEP_ARCHIVE__FOLDER": str(tmp_path / "archive"),
        "LOCKSTEP_ARCHIVE__BY_DEFAULT": "true",
        "LOCKSTEP_ARCHIVE__INTERVAL_MS": "50",
    }
    async with webhook(take) as url, cluster_of(*nodes, **settings) as cluster:
        app = await cluster.deploy(APP.format(name="Away", url=url))
        sink = ("Hot", "sink:Hot.0.http")

        def is_stopped(edges: Any) -> bool:
            return bool(edges[sink]["trouble"] and edges[sink]["lag"] and passes(edges))

        def passes(edges: Any) -> bool:
            places = [("source:In", "In"), ("In", "query:warm"), ("query:hot", "Hot")]
            return all(edges[one]["per_s"] for one in places)

        async with under_way(cluster, app):
            flow, edges = await flow_of(cluster, app, is_stopped)
        assert edges[sink]["state"] == "trouble"
        assert "503" in edges[sink]["trouble"]
        assert edges[sink]["per_s"] == 0
        assert edges["source:In", "In"]["carried_by"] == ["receiver"]
        assert edges["In", "query:warm"]["carried_by"] == ["processor-1"]
        assert edges["query:hot", "Hot"]["latency_p99_ms"] > 0
        assert edges["Kept", "query:hot"]["per_s"] is None, "who looks up lets nothing through"
        assert {one["id"]: one["kind"] for one in flow["nodes"]} == {
            "source:In": "source", "In": "stream", "query:warm": "query", "Warm": "stream",
            "query:hot": "query", "Kept": "table", "Hot": "stream", "query:keep": "query",
            "sink:Hot.0.http": "sink", "presenter": "presenter",
            "archive:input": "archive", "archive:output": "archive",
        }  # fmt: skip
        ends = [("Hot", "presenter"), ("Hot", "archive:output"), ("In", "archive:input")]
        _, edges = await flow_of(
            cluster, app, lambda found: [found[one]["lag"] for one in ends] == [0, 0, 0]
        )
        assert {edges[one]["state"] for one in ends} == {"ok"}
        assert flow["silent"] == []
        is_there = True
        async with under_way(cluster, app):
            _, edges = await flow_of(cluster, app, lambda found: found[sink]["per_s"] > 0)
        assert edges[sink]["trouble"] is None
        assert edges[sink]["latency_p99_ms"] > 0
        _, edges = await flow_of(cluster, app, lambda found: not found[sink]["lag"])
        assert edges[sink]["state"] == "ok"


CUT = """
@app:name('{name}')
@app:parallel('2')
define stream In (k string, v long);
partition with (k of In)
begin
  @info(name='sum') from In select k, sum(v) as total, count() as n insert into Sums;
end;
partition with (n of Sums)
begin
  @info(name='latest') from Sums select n, k, total insert into Latest;
end;
"""


async def test_a_fleet_has_a_box_for_each_group_and_its_partitions_are_added_up(
    cluster_of: Start,
) -> None:
    """What all partitions of a group give is one figure; who leads each stands in its box."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes) as cluster:
        status, answer = await cluster.asked(
            "PUT", "/v1/apps", json={"text": CUT.format(name="Cut")}
        )
        assert status == 201, answer
        places = [("In", "query:sum"), ("query:sum", "Sums"), ("Sums", "query:latest"),
                  ("query:latest", "Latest")]  # fmt: skip

        def is_alike(edges: Any) -> bool:
            """All events have passed all of the edges, so that each lets as many through."""
            rates = {edges[one]["per_s"] for one in places}
            if None in rates or any(edges[one]["trouble"] for one in places):
                return False
            return bool(min(rates) > 0 and max(rates) - min(rates) < 0.3 * max(rates))

        async with under_way(cluster, "Cut"):
            flow, edges = await flow_of(cluster, "Cut", is_alike)
        boxes = {one["group"]: one["partitions"] for one in flow["groups"]}
        assert [len(one) for one in boxes.values()] == [2, 2]
        assert all(one["node"] for box in boxes.values() for one in box)
        groups = {one["id"]: one["group"] for one in flow["nodes"]}
        assert groups["In"] is None
        assert groups["query:sum"] == groups["Sums"] != groups["query:latest"] == groups["Latest"]
        assert edges["Sums", "query:latest"]["lag_of"] == "rows"
        assert set(edges["query:sum", "Sums"]["carried_by"]) <= {"processor-1", "processor-2"}
        await cluster.stop("processor-2")
        await cluster.crash("processor-1")
        lost = await flow_of(cluster, "Cut", lambda found: found[places[0]]["trouble"] is not None)
        assert "nobody leads partition" in lost[1][places[0]]["trouble"]
