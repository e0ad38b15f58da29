"""Requests that wait for an app's answer, against real servers: http-service and its sink."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import pytest

from lockstep.events import EventsRecord
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "receiver-1", "receiver-2", "publisher-1")
ADD = (
    "@app:name('{name}')"
    " @source(type='http-service', receiver.url='http://localhost:5005/{path}', source.id='adder',"
    " {more} @map(type='json', @attributes(messageId = 'trp:messageId', who='trp:X-Who',"
    " value1 = '$.event.value1', value2 = '$.event.value2')))"
    " define stream Add (messageId string, who string, value1 long, value2 long);"
    " @sink(type='http-service-response', source.id='adder', message.id='{{{{messageId}}}}',"
    " headers='X-Sum:{{{{results}}}}', @map(type='json'))"
    " define stream Result (messageId string, results long);"
    " define stream Held (messageId string); define stream Release (why string);"
    " from Add[value1 >= 0] select messageId, value1 + value2 as results insert into Result;"
    " from every e1=Add[value1 < 0] -> e2=Release"
    " select e1.messageId as messageId, e1.value2 as results insert into Result;"
)


def app_text(name: str, more: str = "") -> str:
    """Adds two numbers; a negative one waits for a Release."""
    return ADD.format(name=name, path=name.lower(), more=more)


async def ask(
    cluster: Cluster, node: str, app: str, one: int, other: int, key: str | None = None
) -> tuple[int, Any, Any]:
    """What a receiver answers at the path of the source: status, body and headers."""
    headers = {"X-Who": "me", "messageId": "mine", **({"Idempotency-Key": key} if key else {})}
    url = f"{cluster.nodes[node].url}/{app.lower()}"
    body = {"event": {"value1": one, "value2": other}}
    async with cluster.session.post(url, json=body, headers=headers) as response:
        return response.status, await response.json(), response.headers


async def known(cluster: Cluster, app: str) -> None:
    """Both receivers know the app's path."""
    for node in ("receiver-1", "receiver-2"):

        async def there(node: str = node) -> bool:
            return (await ask(cluster, node, app, 1, 1))[0] == HTTPStatus.OK

        await until(there, f"{app} at {node}")


async def taken(cluster: Cluster, app: str) -> int:
    """How many requests the input log holds."""
    records = [entry.record for entry in await cluster.taken_in(app)]
    asked = [one for one in records if isinstance(one, EventsRecord) and one.stream == "Add"]
    return sum(len(chunk) for one in asked for chunk in one.chunks)


async def test_requests_get_their_own_answers_wherever_they_wait(cluster_of: Start) -> None:
    """At two receivers at once; by path and by name; what does not fit is told at once."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(app_text("Add"))
        await known(cluster, app)
        nodes = ("receiver-1", "receiver-2")
        found = await asyncio.gather(*(ask(cluster, nodes[n % 2], app, n, 1000) for n in range(40)))
        for n, (status, body, headers) in enumerate(found):
            assert status == HTTPStatus.OK, body
            assert body["event"]["results"] == n + 1000
            assert body["event"]["messageId"] != "mine"
            assert headers["X-Sum"] == str(n + 1000)
            assert headers["Content-Type"].startswith("application/json")
        event = {"event": {"value1": 3, "value2": 4}}
        status, body = await cluster.call(
            "POST", "receiver", "/Add/Add", json=event, headers={"X-Who": "me"}
        )
        assert (status, body["event"]["results"]) == (HTTPStatus.OK, 7)
        status, body = await cluster.call("POST", "receiver", "/add", json=event)
        assert status == HTTPStatus.BAD_REQUEST
        assert body["errors"][0]["field"] == "who"


async def test_no_answer_in_time_is_504_and_one_that_comes_later_is_a_dead_letter(
    cluster_of: Start,
) -> None:
    """The events are in the app; the answer says so. A publisher that has just begun looks again,
    until every receiver had the time to be heard of."""
    patient = {"LOCKSTEP_PUBLISHER__RETRY_MAX_ATTEMPTS": "100"}
    async with cluster_of(*NODES, **patient) as cluster:
        app = await cluster.deploy(app_text("Late", "connection.timeout='300',"))

        async def late() -> Any:
            status, body, _ = await ask(cluster, "receiver-1", app, -1, 6)
            return body if status == HTTPStatus.GATEWAY_TIMEOUT else None

        body = await until(late, "504")
        assert "app 'Late' has not answered within 300 ms; the events are in the app" in str(body)
        await cluster.send(app, "Release", ["now"])

        async def buried() -> Any:
            return await cluster.watcher.bus.dead_letters.read(app)

        (letter,) = await until(buried, "a dead letter")
        assert "nobody waits for the answer to request" in letter.letter.reason


@pytest.mark.parametrize("dies", [False, True])
async def test_a_request_that_is_sent_again_gets_the_one_answer(
    cluster_of: Start, dies: bool
) -> None:
    """Its connection broke, or its receiver died, while the app had not answered: with its key it
    is in the app once, and waits at the other receiver. Once given, the answer is the same at
    every receiver that was there."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(app_text("Again"))
        await known(cluster, app)
        before = await taken(cluster, app)
        broken = asyncio.create_task(ask(cluster, "receiver-1", app, -1, 5, key="k"))

        async def is_in() -> bool:
            return await taken(cluster, app) == before + 1

        await until(is_in, "the request in the log")
        broken.cancel()
        if dies:
            await cluster.crash("receiver-1")
        again = asyncio.create_task(ask(cluster, "receiver-2", app, -1, 5, key="k"))

        async def waits() -> bool:
            async with cluster.session.get(f"{cluster.nodes['receiver-2'].url}/metrics") as got:
                return f'duplicates_total{{app="{app}"' in await got.text()

        await until(waits, "the request to wait at the other receiver")
        await cluster.send(app, "Release", ["now"])
        status, body, _ = await again
        assert (status, body["event"]["results"]) == (HTTPStatus.OK, 5)
        for node in ("receiver-2",) if dies else ("receiver-1", "receiver-2"):
            assert (await ask(cluster, node, app, -1, 5, key="k"))[:2] == (HTTPStatus.OK, body)
        assert await taken(cluster, app) == before + 1


async def test_who_waits_is_answered_whoever_dies_meanwhile(cluster_of: Start) -> None:
    """The leading processor and the publisher are killed between request and answer, and the
    receiver is told to stop: it ends when its clients have their answers."""
    async with cluster_of(*NODES, "processor-2") as cluster:
        app = await cluster.deploy("@app:ha(replicas='2') " + app_text("Dies"), replicas=2)
        await known(cluster, app)
        before = await taken(cluster, app)
        asked = [asyncio.create_task(ask(cluster, "receiver-1", app, -1, n)) for n in range(5)]

        async def are_in() -> bool:
            return await taken(cluster, app) == before + 5

        await until(are_in, "the requests in the log")
        await cluster.crash(await cluster.active(app))
        await cluster.crash("publisher-1")
        stopping = asyncio.create_task(cluster.stop("receiver-1"))
        await cluster.start("publisher-2")
        await cluster.send(app, "Release", ["now"])
        found = await asyncio.gather(*asked)
        assert [status for status, _, _ in found] == [HTTPStatus.OK] * 5
        assert [body["event"]["results"] for _, body, _ in found] == list(range(5))
        await stopping


async def test_a_receiver_that_ends_sends_those_away_who_have_no_answer(cluster_of: Start) -> None:
    """After half of its time for draining: 503, with what to do."""
    async with cluster_of(*NODES, LOCKSTEP_SERVER__DRAIN_TIMEOUT_MS="400") as cluster:
        app = await cluster.deploy(app_text("Ends"))
        await known(cluster, app)
        before = await taken(cluster, app)
        asked = asyncio.create_task(ask(cluster, "receiver-1", app, -1, 5, key="k"))

        async def is_in() -> bool:
            return await taken(cluster, app) == before + 1

        await until(is_in, "the request in the log")
        await cluster.stop("receiver-1")
        status, body, headers = await asked
        assert status == HTTPStatus.SERVICE_UNAVAILABLE
        assert "send again with the same Idempotency-Key" in body["hint"]
        assert headers["Retry-After"]
