"""Calls over HTTP and their answers, against real servers: http-call and http-call-response."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

from tests.integration.services.cluster import Cluster, rows_of, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook

NODES = ("coordinator", "processor-1", "receiver", "publisher-1")
ODD = 'päper, "quoted"\nand a line; ' + "x" * 3_000


def caller(url: str, name: str, *, on_error: str = "STORE", more: str = "") -> str:
    """Asks for the price of things; what is good and what is missing have streams of their own."""
    return (
        f"@app:name('{name}') define stream In (thing string, amount double);"
        f" @sink(type='http-call', sink.id='prices', publisher.url='{url}', method='POST',"
        f" headers='X-Thing:{{{{amount}}}}', on.error='{on_error}' {more}, @map(type='json'))"
        " @OnError(action='STREAM') define stream Call (thing string, amount double);"
        " @source(type='http-call-response', sink.id='prices', http.status.code='2\\\\d+',"
        " @map(type='json', @attributes(thing='trp:thing', amount='trp:amount',"
        " price='$.price', server='trp:X-Server')))"
        " define stream Price (thing string, amount double, price double, server string);"
        " @source(type='http-response', sink.id='prices', http.status.code='404',"
        " @map(type='text', regex.A='((.|\\n)*)', @attributes(thing='trp:thing', said='A')))"
        " define stream Missing (thing string, said string);"
        " define stream Out (thing string, amount double, price double, server string);"
        " define stream Gone (thing string, said string); define stream Failed (thing string);"
        " from In select thing, amount insert into Call;"
        " from Price select * insert into Out; from Missing select * insert into Gone;"
        " from !Call select thing insert into Failed;"
    )


async def letters(cluster: Cluster, app: str, count: int) -> list[str]:
    """Why so many dead letters are there."""
    found: list[str] = []

    async def there() -> bool:
        nonlocal found
        stored = await cluster.watcher.bus.dead_letters.read(app)
        found = [f"{one.letter.stream}: {one.letter.reason}" for one in stored]
        return len(found) >= count

    await until(there, f"{count} dead letters", seen=lambda: found)
    return found


async def test_answers_come_in_by_their_status_with_what_the_request_held(
    cluster_of: Start,
) -> None:
    """2xx and 404 have sources; 500 is tried again until it is good; 302 and 400 have none, and
    follow the sink's on.error. An answer that does not fit is a dead letter of its stream."""
    busy = 2

    async def answer(request: web.Request) -> web.Response:
        nonlocal busy
        thing = (await request.json())["event"]["thing"]
        if thing == "busy" and busy:
            busy -= 1
            return web.Response(status=500)
        if thing in ("unknown", "bad", "moved"):
            status = {"unknown": 404, "bad": 400, "moved": 302}[thing]
            return web.Response(status=status, text="no\nsuch thing")
        price = "dear" if thing == "unfit" else float(request.headers["X-Thing"]) * 2
        # Whatever type it says to have: its source takes JSON.
        return web.Response(
            status=201, text=json.dumps({"price": price}), content_type="text/plain",
            headers={"X-Server": "s1"},
        )  # fmt: skip

    async with webhook(answer) as url, cluster_of(*NODES) as cluster:
        app = await cluster.deploy(caller(url, "Calls"))
        things = ["a", "busy", "unknown", "bad", "moved", "unfit", ODD]
        await cluster.send(app, "In", [[thing, 2.5] for thing in things])
        assert sorted(await rows_of(cluster, app, "Out", 3)) == [
            ("a", 2.5, 5.0, "s1"), ("busy", 2.5, 5.0, "s1"), (ODD, 2.5, 5.0, "s1"),
        ]  # fmt: skip
        assert await rows_of(cluster, app, "Gone", 1) == [("unknown", "no\nsuch thing")]
        found = sorted(await letters(cluster, app, 3))
        assert f"Call: sink Call.0.http-call: {url} answered 302" in found[0]
        assert "which is not followed" in found[0]
        assert f"{url} answered 400: no\nsuch thing" in found[1]
        assert found[2].startswith("Price: ")
        assert "dear is no double" in found[2]


async def test_a_publisher_that_dies_behind_an_answer_brings_it_in_once(cluster_of: Start) -> None:
    """The first answer is durable when the publisher is killed, and the next publisher calls again
    with the same identity. What it is answered then is not what the app gets."""
    asked: list[str] = []
    release = asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        thing = (await request.json())["event"]["thing"]
        asked.append(f"{thing} {request.headers['Idempotency-Key']}")
        if thing == "slow" and len(asked) <= 2:
            await release.wait()  # the batch is not over: the cursor stays
        return web.json_response({"price": len(asked)}, headers={"X-Server": "s"})

    async with webhook(answer) as url, cluster_of(*NODES) as cluster:
        app = await cluster.deploy(caller(url, "Dies", more=", socket.idle.timeout='60000'"))
        await cluster.send(app, "In", [["quick", 1.0], ["slow", 1.0]])
        first = await rows_of(cluster, app, "Out", 1)
        await cluster.start("publisher-2")
        await cluster.crash("publisher-1")
        found = await rows_of(cluster, app, "Out", 2)
        assert found[0] == first[0]
        assert [one[0] for one in found] == ["quick", "slow"]
        assert len(asked) == 4
        assert sorted(asked[:2]) == sorted(asked[2:])
        # What comes later is behind all that could have come twice.
        await cluster.send(app, "In", ["last", 1.0])
        assert [one[0] for one in await rows_of(cluster, app, "Out", 3)] == [
            "quick",
            "slow",
            "last",
        ]
        release.set()


async def test_a_call_that_reaches_nobody_goes_to_the_fault_stream(cluster_of: Start) -> None:
    """on.error as of the http sink."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(caller("http://127.0.0.1:9/x", "Nobody", on_error="STREAM"))
        await cluster.send(app, "In", ["a", 1.0])
        assert await rows_of(cluster, app, "Failed", 1) == [("a",)]


async def test_answers_come_into_an_app_in_partitions(cluster_of: Start) -> None:
    """They go through the receiver, which says whose each event is."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"price": 1.0})

    async with webhook(answer) as url, cluster_of(*NODES) as cluster:
        text = (
            "@app:name('Cut') define stream In (k string);"
            f" @sink(type='http-request', sink.id='c', publisher.url='{url}', @map(type='json'))"
            " define stream Call (k string);"
            " @source(type='http-response', sink.id='c', @map(type='json',"
            " @attributes(k='trp:k', price='price')))"
            " define stream Price (k string, price double);"
            " define stream Out (k string, total double);"
            " from In select k insert into Call;"
            " partition with (k of Price) begin"
            " from Price select k, sum(price) as total insert into Out; end;"
        )
        wanted = {"text": text, "parallel": 2}
        status, answered = await cluster.asked("PUT", "/v1/apps", json=wanted)
        assert status == 201, answered
        for key in "abcabc":
            await cluster.send("Cut", "In", [key])
        pages: list[Any] = []

        async def shown() -> bool:
            nonlocal pages
            pages = [row for row in await unit_rows(cluster, "Cut") if row[0] == "Out"]
            return len(pages) == 6

        await until(shown, "six answers in two partitions", seen=lambda: pages)
        assert len({name.group for name in await cluster.watcher.bus.logs("Cut")}) > 1
        assert sorted(row[1] for row in pages) == [(k, t) for k in "abc" for t in (1.0, 2.0)]


async def unit_rows(cluster: Cluster, app: str) -> list[tuple[str, Any]]:
    """Of all units of an app."""
    found = []
    for name in await cluster.watcher.bus.logs(app):
        log = await cluster.watcher.bus.output_log(name)
        for entry in await log.read(0, max_records=1000, max_bytes=10**8, wait_ms=0):
            found += [(row.stream, row.data) for row in getattr(entry.record, "rows", ())]
    return found
