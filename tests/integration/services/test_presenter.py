"""Read models, long polls, event streams with resume, on-demand queries, topics and the page."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp

from tests.integration.services.cluster import CLOCK, STEADY, WAIT_MS, Cluster, until
from tests.integration.services.conftest import Start

TEXT = """
@app:name('{name}')
define stream In (k string, v int);
@store(type='rdbms') @PrimaryKey('k')
define table Last{name} (k string, v int);
define table Seen (k string, v int);
from In select k, v insert into Out;
from In select k, v update or insert into Last{name} on Last{name}.k == k;
from In select k, v insert into Seen;
"""
NODES = ("coordinator", "processor-1", "receiver", "presenter")


async def events_of(cluster: Cluster, path: str, count: int, **headers: str) -> list[Any]:
    """The first SSE messages as (event, id, data)."""
    found: list[Any] = []
    url = cluster.url("presenter") + path
    # The session's own limit ends a stream that brings too little.
    async with cluster.session.get(url, headers=headers) as response:
        assert response.status == 200
        event, identity = "message", None
        async for raw in response.content:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("id: "):
                identity = line[4:]
            elif line.startswith("data: "):
                found.append((event, identity, json.loads(line[6:])))
                event, identity = "message", None
                if len(found) == count:
                    break
    return found


async def ready(cluster: Cluster, app: str, count: int, *, at: str = "presenter") -> Any:
    """Waits until a presenter shows that many rows."""
    answer: Any = None

    async def shown() -> bool:
        nonlocal answer
        url = f"{cluster.nodes[at].url}/v1/apps/{app}/streams/Out/latest"
        async with cluster.session.get(url) as response:
            answer = await response.json()
            return response.status == 200 and answer["total"] >= count

    await until(shown, f"{count} rows on {at}", seen=lambda: answer)
    return answer


async def test_latest_poll_and_tables(cluster_of: Start) -> None:
    """Newest first; a poll waits for what is behind an identity; tables by key."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Look"))
        await cluster.send(app, "In", [["a", 1], ["b", 2], ["a", 3]])
        answer = await ready(cluster, app, 3)
        assert [row["event"]["v"] for row in answer["events"]] == [3, 2, 1]
        after = answer["events"][0]["id"]
        path = f"/v1/apps/{app}/streams/Out/poll?after={after}&wait_ms=30000"
        polling = asyncio.create_task(cluster.call("GET", "presenter", path))
        await cluster.send(app, "In", ["c", 4])
        status, answer = await polling
        assert (status, [row["event"]["k"] for row in answer["events"]]) == (200, ["c"])
        assert answer["gap"] is False

        async def table() -> Any:
            _, found = await cluster.call("GET", "presenter", f"/v1/apps/{app}/tables/LastLook")
            return found if found.get("count") == 3 else None

        found = await until(table, "three keys")
        assert {row["k"]: row["v"] for row in found["rows"]} == {"a": 3, "b": 2, "c": 4}
        assert found["complete"] is True


async def test_event_streams_resume_behind_the_last_id(cluster_of: Start) -> None:
    """Cut and come back: every row once; from another presenter, too."""
    async with cluster_of(*NODES, "presenter-2") as cluster:
        app = await cluster.deploy(TEXT.format(name="Resume"))
        await cluster.send(app, "In", [[str(i), i] for i in range(10)])
        await ready(cluster, app, 10)
        path = f"/v1/apps/{app}/streams/Out/sse"
        first = await events_of(cluster, f"{path}?after=0.0", 4)
        assert [data["event"]["v"] for _, _, data in first] == [0, 1, 2, 3]
        await cluster.stop("presenter")

        await ready(cluster, app, 10, at="presenter-2")
        rest = asyncio.create_task(events_of(cluster, path, 8, **{"Last-Event-ID": first[-1][1]}))
        await cluster.send(app, "In", [["x", 10], ["y", 11]])
        assert [data["event"]["v"] for _, _, data in await rest] == [4, 5, 6, 7, 8, 9, 10, 11]


async def test_sockets_lose_and_repeat_nothing_when_the_presenter_is_killed(
    cluster_of: Start,
) -> None:
    """It is killed twice while events come; the client opens another socket behind its last row."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Socket"))
        await cluster.send(app, "In", ["first", 0])
        await ready(cluster, app, 1)
        found: list[int] = []
        codes: list[int | None] = []
        after, last = "0.0", 300

        async def listen() -> None:
            nonlocal after
            while not found or found[-1] != last:
                path = f"/v1/apps/{app}/streams/Out/ws?after={after}"
                try:
                    async with cluster.session.ws_connect(
                        cluster.url("presenter") + path
                    ) as socket:
                        async for message in socket:
                            row = json.loads(message.data)
                            found.append(row["event"]["v"])
                            after = row["after"]
                            if found[-1] == last:
                                return
                        codes.append(socket.close_code)
                except (aiohttp.ClientError, LookupError):
                    await CLOCK.sleep_ms(20)

        listening = asyncio.create_task(listen())
        for number in range(1, last + 1):
            await cluster.send(app, "In", [str(number), number])
            if number == 200:
                await cluster.crash("presenter")
                await cluster.start("presenter")
            if number == 100:
                await cluster.stop("presenter")
                await cluster.start("presenter")
        await asyncio.wait_for(listening, WAIT_MS / 1000)
        assert found == list(range(last + 1))
        assert codes[0] == 1001
        assert len(codes) >= 2


async def test_a_listener_hears_the_next_app_from_its_first_row_on(cluster_of: Start) -> None:
    """After a purge identities count from 1 again: its last one says nothing about those."""
    async with cluster_of(*NODES) as cluster:
        text = TEXT.format(name="Purged")
        app = await cluster.deploy(text)
        await cluster.send(app, "In", [[str(i), i] for i in range(5)])
        await ready(cluster, app, 5)
        path = f"/v1/apps/{app}/streams/Out/sse"
        before = await events_of(cluster, f"{path}?after=0.0", 5)
        status, answer = await cluster.call("DELETE", "coordinator", f"/v1/apps/{app}?purge=true")
        assert status == 200, answer
        await cluster.deploy(text)
        await cluster.send(app, "In", ["again", 7])

        async def anew() -> Any:
            _, found = await cluster.call("GET", "presenter", f"/v1/apps/{app}/streams/Out/latest")
            return found.get("total") == 1

        await until(anew, "the new app's row alone")
        found = await events_of(cluster, path, 2, **{"Last-Event-ID": before[-1][1]})
        assert [(event, data.get("reason")) for event, _, data in found] == [
            ("gap", "the app was purged"),
            ("message", None),
        ]
        assert found[1][2]["event"]["v"] == 7


async def test_a_listener_whose_history_is_gone_is_told(cluster_of: Start) -> None:
    """A gap message before what is left."""
    small = {"LOCKSTEP_PRESENTER__HISTORY_ROWS": "3"}
    async with cluster_of(*NODES, **small) as cluster:
        app = await cluster.deploy(TEXT.format(name="Gap"))
        await cluster.send(app, "In", [[str(i), i] for i in range(10)])
        await ready(cluster, app, 10)
        found = await events_of(cluster, f"/v1/apps/{app}/streams/Out/sse?after=0.0", 4)
        assert [event for event, _, _ in found] == ["gap", "message", "message", "message"]


async def test_on_demand_queries_reach_the_leader(cluster_of: Start) -> None:
    """Both routes, columns by name, errors with their place."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Ask"))
        await cluster.send(app, "In", [["a", 1], ["b", 2]])
        await ready(cluster, app, 2)
        body = {"query": "from Seen on v > 1 select k, v", "details": True}
        status, answer = await cluster.call("POST", "presenter", f"/v1/apps/{app}/query", json=body)
        assert (status, answer["records"]) == (200, [["b", 2]])
        assert answer["details"] == [
            {"name": "k", "dataType": "string"},
            {"name": "v", "dataType": "int"},
        ]
        status, answer = await cluster.call(
            "POST",
            "presenter",
            "/stores/query",
            json={"appName": app, "query": "from Nope select k"},
        )
        assert status == 400


async def test_an_answer_that_the_bus_does_not_take_is_refused(cluster_of: Start) -> None:
    """With what to do instead; and that helps."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Heavy"))
        for number in range(10):
            await cluster.send(app, "In", [[str(number) + "x" * 900_000, number]])
        await ready(cluster, app, 10)
        path, query = f"/v1/apps/{app}/query", "from Seen on v >= 0 select k, v"
        status, problem = await cluster.call("POST", "presenter", path, json={"query": query})
        assert (status, "the answer of 10 rows has 90" in problem["detail"]) == (400, True), problem
        assert "limit" in problem["hint"]
        part = {"query": f"{query} order by v limit 2 offset 3"}
        status, answer = await cluster.call("POST", "presenter", path, json=part)
        assert (status, [v for _, v in answer["records"]]) == (200, [3, 4])


async def test_grafana_shows_streams_tables_and_queries(cluster_of: Start) -> None:
    """In one answer, as one panel asks."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Drawn"))
        await cluster.send(app, "In", [["a", 1], ["b", 2], ["a", 3]])
        await ready(cluster, app, 3)
        table = f"{app}/LastDrawn"
        query = "from Seen on v > 1 select k, v"
        targets: list[Any] = [
            {"target": f"{app}/Out/v", "refId": "A"},
            {"target": table, "refId": "B"},
            {"target": app, "refId": "C", "payload": {"query": query}},
        ]
        columns = [{"text": "k", "type": "string"}, {"text": "v", "type": "number"}]

        async def shown() -> Any:
            body = {"targets": targets, "maxDataPoints": 2}
            status, found = await cluster.call("POST", "presenter", "/grafana/query", json=body)
            assert status == 200, found
            return found if len(found[1]["rows"]) == 2 and len(found[2]["rows"]) == 2 else None

        series, kept, asked = await until(shown, "two keys and two rows")
        assert series["target"] == f"{app}/Out/v"
        assert [value for value, _ in series["datapoints"]] == [3]
        assert (kept["columns"], kept["rows"]) == (columns, [["a", 3], ["b", 2]])
        assert (asked["columns"], asked["rows"]) == (columns, [["b", 2], ["a", 3]])
        assert [one["refId"] for one in (series, kept, asked)] == ["A", "B", "C"]
        targets[:] = [{"target": table, "type": "timeserie"}]
        body = {"targets": targets}
        status, problem = await cluster.call("POST", "presenter", "/grafana/query", json=body)
        assert (status, "rows and no times" in problem["detail"]) == (400, True)
        targets[:] = [{"target": app, "payload": {"query": "delete Seen on v > 0"}}]
        status, problem = await cluster.call("POST", "presenter", "/grafana/query", json=body)
        assert (status, "changes" in problem["detail"]) == (400, True)


async def test_topics_carry_each_row_once(cluster_of: Start) -> None:
    """Two presenters, one publishes."""
    async with cluster_of(*NODES, "presenter-2", **STEADY) as cluster:
        subscription = await cluster.watcher.bus.topics.subscribe("presenter.Topic.*")
        app = await cluster.deploy(TEXT.format(name="Topic"))
        told: list[int] = []

        async def listen() -> None:
            async for subject, payload in subscription:
                assert subject == "presenter.Topic.Out"
                told.append(json.loads(payload)["event"]["v"])

        listening = asyncio.create_task(listen())
        sent = 0

        async def begun() -> bool:
            nonlocal sent
            sent += 1
            await cluster.send(app, "In", ["a", sent])
            return bool(told)

        await until(begun, "a presenter that publishes to the topics")
        await cluster.send(app, "In", [["b", sent + 1], ["c", sent + 2]])
        for name in ("presenter", "presenter-2"):
            await ready(cluster, app, sent + 2, at=name)
        await cluster.send(app, "In", ["d", sent + 3])

        async def last() -> bool:
            return told[-1] == sent + 3

        await until(last, "the last row", seen=lambda: told)
        await subscription.close()
        await listening
        assert told == list(range(told[0], sent + 4))


async def test_the_page_stands_alone(cluster_of: Start) -> None:
    """No address of another host in it, a strict policy, overview and app data as JSON."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Page"))
        await cluster.send(app, "In", ["<b>x</b>", 1])
        await ready(cluster, app, 1)
        base = cluster.url("presenter")
        for path in (
            "/",
            f"/apps/{app}",
            "/assets/page.js",
            "/assets/charts.js",
            "/assets/page.css",
        ):
            async with cluster.session.get(base + path) as response:
                assert response.status == 200
                assert "default-src 'none'" in response.headers["Content-Security-Policy"]
                text = (await response.text()).replace("http://www.w3.org/2000/svg", "")
                assert "http://" not in text
                assert "https://" not in text
        status, answer = await cluster.call("GET", "presenter", "/v1/live")
        assert (status, answer["apps"][0]["app"]) == (200, app)
        digest = await events_of(cluster, f"/v1/apps/{app}/live", 1)
        assert digest[0][2]["streams"]["Out"]["rows"][0][2:] == ["<b>x</b>", 1]
