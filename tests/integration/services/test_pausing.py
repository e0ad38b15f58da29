"""Pausing sources and sinks of a running app: nothing moves, over deaths too, and then all does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import nats
import pytest
from aiohttp import web

from tests.integration.services.cluster import RANDOM, WAIT_MS, Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook
from tests.kafka.broker import KafkaBroker

NODES = ("coordinator", "processor-1", "receiver", "publisher-1")
QUICKLY = {"LOCKSTEP_LEADER__LEASE_TTL_MS": "1500"}
MAPPED = "@map(type='json', @attributes(n='$.n'))"


@pytest.fixture(params=["nats", "kafka"])
def bus(request: pytest.FixtureRequest) -> dict[str, str]:
    """Settings of the bus that the logs are on."""
    if request.param == "nats":
        return {}
    broker: KafkaBroker = request.getfixturevalue("kafka")
    return {"LOCKSTEP_BUS__KIND": "kafka", "LOCKSTEP_BUS__URL": f"kafka://{broker.url}"}


def app_text(name: str, subject: str, url: str) -> str:
    """Two sources and two sinks of one stream each."""
    return (
        f"@app:name('{name}') @source(type='nats', destination='{subject}', {MAPPED})"
        f" @source(type='http', receiver.url='http://h/{name}/door', {MAPPED})"
        " define stream In (n int);"
        f" @sink(type='http', publisher.url='{url}', @map(type='json'))"
        f" @sink(type='inMemory', topic='{subject}', @map(type='json'))"
        " define stream Out (n int); from In select n insert into Out;"
    )


async def lines(cluster: Cluster, app: str) -> dict[str, Mapping[str, Any]]:
    """What is told of sources and sinks, by element."""
    status, answer = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/connectors")
    assert status == 200, answer
    return {one["element"]: one for one in answer["connectors"]}


async def state(cluster: Cluster, app: str, element: str, wanted: str) -> Mapping[str, Any]:
    """When it is that."""
    seen: Any = None

    async def there() -> Any:
        nonlocal seen
        seen = (await lines(cluster, app))[element]
        return seen if seen["state"] == wanted and seen["nodes"] else None

    found: Mapping[str, Any] = await until(there, f"{element} is {wanted}", seen=lambda: seen)
    return found


async def tell(cluster: Cluster, app: str, path: str, **body: str) -> list[str]:
    """What is paused now."""
    status, answer = await cluster.asked("POST", f"/v1/apps/{app}/connectors{path}", json=body)
    assert status == 200, answer
    return list(answer["paused"])


async def test_a_paused_sink_gets_its_rows_later_each_once_and_a_death_changes_nothing(
    cluster_of: Start, bus: dict[str, str]
) -> None:
    """Its neighbour gets them at once. The publisher that is there afterwards keeps it paused."""
    got: list[int] = []
    neighbour: list[str] = []

    async def receive(request: web.Request) -> web.Response:
        got.append((await request.json())["event"]["n"])
        return web.Response()

    subject = f"paused{RANDOM.uuid_hex()[:8]}"
    async with webhook(receive) as url, cluster_of(*NODES, **QUICKLY, **bus) as cluster:
        app = await cluster.deploy(app_text(f"Rows{subject}", subject, url))
        heard = await cluster.watcher.bus.topics.subscribe(f"topic.{subject}")

        async def listen() -> None:
            async for _, payload in heard:
                neighbour.append(payload.decode())

        listening = asyncio.create_task(listen())
        sink = "sink:Out.0.http"
        await cluster.send(app, "In", [[1], [2]])
        await until(lambda: _are(got, [1, 2]), "the first rows", seen=lambda: got)
        assert await tell(cluster, app, f"/{sink}/pause", why="the hook moves") == [sink]
        line = await state(cluster, app, sink, "paused")
        assert line["reason"].endswith(": the hook moves")
        assert line["pause"]["why"] == "the hook moves"
        assert (await lines(cluster, app))["sink:Out.1.inMemory"]["state"] == "running"
        await cluster.send(app, "In", [[3], [4]])
        await until(lambda: _are(neighbour, 4), "the neighbour's rows", seen=lambda: neighbour)
        assert got == [1, 2]

        await cluster.crash("publisher-1")
        await cluster.start("publisher-2")
        found = await state(cluster, app, sink, "paused")
        while found["nodes"] != ["publisher-2"]:
            found = await state(cluster, app, sink, "paused")
        await cluster.send(app, "In", [[5]])
        await until(lambda: _are(neighbour, 5), "the neighbour's row", seen=lambda: neighbour)
        assert got == [1, 2]
        assert await tell(cluster, app, f"/{sink}/resume") == []
        await until(lambda: _are(got, [1, 2, 3, 4, 5]), "all rows, each once", seen=lambda: got)
        await state(cluster, app, sink, "running")
        listening.cancel()
        await heard.close()


async def test_paused_sources_take_nothing_and_go_on_where_they_stopped(cluster_of: Start) -> None:
    """What a stream of the bus keeps comes later, once; who posts is told to come back."""

    async def receive(_: web.Request) -> web.Response:
        return web.Response()

    subject = f"paused-{RANDOM.uuid_hex()[:8]}"
    async with webhook(receive) as url, cluster_of(*NODES, **QUICKLY) as cluster:
        client = await nats.connect(cluster.settings.bus.url.get_secret_value())
        jetstream = client.jetstream(timeout=WAIT_MS / 1000)
        await jetstream.add_stream(name=subject, subjects=[subject])
        app = await cluster.deploy(app_text("Events", subject, url))

        async def post() -> Any:
            headers = {"Content-Type": "application/json"}
            return await cluster.session.post(
                f"{cluster.url('receiver')}/Events/door", data='{"n": 7}', headers=headers
            )

        await jetstream.publish(subject, b'{"n": 1}')
        await cluster.published_count(app, 1)
        both = ["source:In.0.nats", "source:In.1.http"]
        for element in both:
            await state(cluster, app, element, "running")
        assert set(await tell(cluster, app, "/pause")) >= set(both)
        for element in both:
            await state(cluster, app, element, "paused")
        await jetstream.publish(subject, b'{"n": 2}')
        answer = await post()
        assert (answer.status, "Retry-After" in answer.headers) == (503, True)
        assert "is paused" in (await answer.json())["detail"]
        await cluster.stop("receiver")
        await cluster.start("receiver-2")
        for element in both:
            assert (await state(cluster, app, element, "paused"))["nodes"] == ["receiver-2"]
        # The suite's own address is no source.
        await cluster.send(app, "In", [[3]])
        rows = await cluster.published_count(app, 2)
        assert [row.data for row in rows] == [(1,), (3,)]
        assert (await jetstream.stream_info(subject)).state.messages == 2
        assert await tell(cluster, app, "/resume") == []
        rows = await cluster.published_count(app, 3)
        assert [row.data for row in rows] == [(1,), (3,), (2,)]
        await state(cluster, app, both[1], "running")
        assert (await post()).status == 200
        rows = await cluster.published_count(app, 4)
        assert [row.data for row in rows] == [(1,), (3,), (2,), (7,)]
        await client.close()


async def test_what_cannot_be_paused_is_said(cluster_of: Start) -> None:
    """Names that there are not, or that say too little; and undeploying ends pauses."""
    async with cluster_of("coordinator", "processor-1") as cluster:
        app = await cluster.deploy(app_text("Named", "named", "http://127.0.0.1:1/"))
        base = f"/v1/apps/{app}/connectors"
        status, answer = await cluster.asked("POST", f"{base}/Out.0.htp/pause", json={})
        assert (status, answer["hint"]) == (404, "did you mean 'sink:Out.0.http'?")
        status, answer = await cluster.asked("POST", f"{base}/In/pause", json={})
        assert (status, answer["detail"]) == (
            400,
            "'In' may be source:In.0.nats, source:In.1.http",
        )
        status, answer = await cluster.asked("POST", f"{base}/pause", json={"why": "x" * 201})
        assert status == 400
        assert await tell(cluster, app, "/Out.0.http/pause") == ["sink:Out.0.http"]
        found = await lines(cluster, app)
        assert found["sink:Out.0.http"]["state"] == "paused"
        assert found["source:In.0.nats"]["state"] == "unknown"
        assert found["source:In.0.nats"]["reason"] == "no receiver tells of it"
        assert (await cluster.status(app))["connectors"] == list(found.values())
        status, _ = await cluster.asked("DELETE", f"/v1/apps/{app}")
        assert status == 200
        await cluster.deploy(app_text("Named", "named", "http://127.0.0.1:1/"))
        assert (await lines(cluster, app))["sink:Out.0.http"]["state"] == "unknown"


async def _are(got: list[Any], wanted: Any) -> bool:
    """These, or so many."""
    return len(got) == wanted if isinstance(wanted, int) else got == wanted
