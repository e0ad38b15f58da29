"""The error store: inputs and outputs that were refused, listed, sent again and forgotten by
number, range and time.
"""

from __future__ import annotations

from typing import Any

import nats
from aiohttp import web

from lockstep.bus import DeadLetter
from lockstep.bus.subjects import DEAD_STREAM
from tests.integration.services.cluster import Cluster, log_of, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook

NODES = ("coordinator", "processor-1", "receiver", "publisher")


async def letters(cluster: Cluster, app: str, query: str = "") -> list[dict[str, Any]]:
    """The list of the error store."""
    status, answer = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/errors{query}")
    assert status == 200, answer
    return list(answer["errors"])


async def ask(cluster: Cluster, app: str, verb: str, **selection: Any) -> Any:
    """Replays or purges."""
    path = f"/v1/apps/{app}/errors/{verb}"
    status, answer = await cluster.call("POST", "coordinator", path, json=selection)
    assert status == 200, answer
    return answer


async def test_inputs_are_listed_replayed_and_purged(cluster_of: Start) -> None:
    """By number, by range and by time; what is replayed is taken once the app can take it."""
    async with cluster_of(*NODES) as cluster:
        text = "@app:name('Inputs') define stream In (v {t}); from In select v insert into Out;"
        app = await cluster.deploy(text.format(t="int"))
        ingress = cluster.watcher.bus.ingress
        for value in ("a", "b", "c", "d", "e"):
            await ingress.publish(app, "In", f'{{"v": "{value}"}}'.encode())

        async def five() -> Any:
            found = await letters(cluster, app)
            return found if len(found) == 5 else None

        found = await until(five, "five dead letters")
        numbers = [one["sequence"] for one in found]
        assert [one["sequence"] for one in await letters(cluster, app, f"?last={numbers[1]}")] == (
            numbers[:2]
        )
        assert await letters(cluster, app, f"?since_ms={found[-1]['clock_ms'] + 1}") == []
        assert len(await letters(cluster, app, f"?until_ms={found[-1]['clock_ms']}")) == 5
        status, _ = await cluster.call(
            "POST", "coordinator", f"/v1/apps/{app}/errors/purge", json={}
        )
        assert status == 400
        assert (await ask(cluster, app, "purge", sequences=[numbers[2]]))["removed"] == 1
        await cluster.deploy(text.format(t="string"))

        async def knows() -> Any:
            path = f"/v1/apps/{app}/streams/In/events"
            status, _ = await cluster.call("POST", "receiver", path, json={"v": "first"})
            return status == 200

        await until(knows, "the receiver knows the new version")
        answer = await ask(cluster, app, "replay", first=numbers[0], last=numbers[3])
        assert answer["replayed"] == [numbers[0], numbers[1], numbers[3]]
        rows = await cluster.published_count(app, 4)
        assert sorted(row.data[0] for row in rows[1:]) == ["a", "b", "d"]
        assert [one["sequence"] for one in await letters(cluster, app)] == [numbers[4]]
        assert (await ask(cluster, app, "purge", since_ms=0))["removed"] == 1


async def test_names_that_are_too_long_and_letters_that_are_not_whole(cluster_of: Start) -> None:
    """What strangers send to no stream is a letter, too, and holds up nobody. What the bus could
    not take as a whole cannot be sent again, and says so."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(
            "@app:name('Doors') define stream In (v int); from In select v insert into Out;"
        )
        bus, name = cluster.watcher.bus, "A" * 201
        for subject in (
            f"ingress.{app}.{name}",
            f"ingress.{name}.In",
            f"ingress.{app}" + ".a" * 70,
        ):
            assert await bus.topics.publish_kept(subject, b'{"v": 1}')
        await bus.ingress.publish(app, "In", b'{"v": 7}')
        rows = await cluster.published_count(app, 1)
        assert [row.data for row in rows] == [(7,)]

        async def two() -> Any:
            found = await letters(cluster, app)
            return found if len(found) == 2 else None

        found = await until(two, "two dead letters")
        assert {one["stream"] for one in found} == {name, ".".join("a" * 70)}
        assert all("has no stream" in one["reason"] for one in found)
        (other,) = await bus.dead_letters.read(name)
        assert "no app named" in other.letter.reason
        large = DeadLetter(app, "In", "no number", b"x" * 9_000_000, "application/json", 5, "r")
        sequence = (await bus.dead_letters.append(large)).position
        answer = await ask(cluster, app, "replay", first=1)
        assert answer["replayed"] == []
        refused = answer["refused"]
        assert {*refused} == {str(one["sequence"]) for one in found} | {str(sequence)}
        assert "bytes of it are missing: the bus took no more" in refused[str(sequence)]
        assert (await ask(cluster, app, "purge", first=1))["removed"] == 3


async def test_numbers_that_begin_again_lose_nothing(cluster_of: Start) -> None:
    """The stream `dead` was gone and has been made again: a letter of the same number as one that
    was replayed before is another event."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(
            "@app:name('Again') define stream In (v int); from In select v insert into Out;"
        )
        bus = cluster.watcher.bus

        async def replayed(value: int, at_ms: int) -> int:
            payload = f'{{"v": {value}}}'.encode()
            letter = DeadLetter(app, "In", "no room", payload, "application/json", at_ms, "r")
            await bus.dead_letters.append(letter)
            (number,) = (await ask(cluster, app, "replay", first=1))["replayed"]
            return int(number)

        first = await replayed(1, 1_000)
        await cluster.published_count(app, 1)
        client = await nats.connect(cluster.environment["LOCKSTEP_BUS__URL"])
        try:
            await client.jetstream().delete_stream(DEAD_STREAM)
        finally:
            await client.close()
        assert await replayed(2, 2_000) == first
        rows = await cluster.published_count(app, 2)
        assert [row.data for row in rows] == [(1,), (2,)]


async def test_an_app_that_nobody_knows_is_named(cluster_of: Start) -> None:
    """A mistyped name is no empty list; one that was undeployed is still known."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        status, answer = await cluster.call("GET", "coordinator", "/v1/apps/Mistyped/errors")
        assert (status, answer["detail"]) == (
            404,
            "no app named 'Mistyped' is deployed, or was",
        )
        for verb in ("replay", "purge"):
            path = f"/v1/apps/Mistyped/errors/{verb}"
            assert (await cluster.call("POST", "coordinator", path, json={"first": 1}))[0] == 404
        app = await cluster.deploy("@app:name('Gone') define stream In (v int);")
        assert await letters(cluster, app) == []
        assert (await cluster.call("DELETE", "coordinator", f"/v1/apps/{app}"))[0] == 200
        assert await letters(cluster, app) == []


async def test_outputs_go_to_their_sink_again(cluster_of: Start) -> None:
    """A webhook that was away: its rows wait in the error store, and come with the same ids."""
    seen: list[tuple[str, int]] = []
    away = True

    async def receive(request: web.Request) -> web.Response:
        body = await request.json()
        if away:
            return web.Response(status=503)
        if body["event"]["a"] == 2:
            return web.Response(status=422, text="never")
        seen.append((request.headers["Idempotency-Key"], body["event"]["a"]))
        return web.Response()

    async with webhook(receive) as url, cluster_of(*NODES) as cluster:
        text = (
            "@app:name('Outputs') define stream In (a int);"
            f" @sink(type='http', publisher.url='{url}', @map(type='json'))"
            " define stream Out (a int); from In select a insert into Out;"
        )
        app = await cluster.deploy(text)
        await cluster.send(app, "In", [[1], [2], [3]])

        async def three() -> Any:
            found = await letters(cluster, app)
            return found if len(found) == 3 else None

        found = await until(three, "three rows in the error store")
        away = False
        answer = await ask(cluster, app, "replay", stream="Out")
        numbers = {one["sequence"]: one["position"] for one in found}
        assert len(answer["replayed"]) == 2
        assert [value for _, value in seen] == [1, 3]
        since = (await log_of(cluster.watcher, app)).since_ms
        assert all(key.startswith(f"Outputs@{since}/main/0/") for key, _ in seen)
        assert len({key for key, _ in seen}) == 2
        (left,) = answer["refused"].items()
        assert int(left[0]) in numbers
        assert "422: never" in left[1]
        assert [str(one["sequence"]) for one in await letters(cluster, app)] == [left[0]]
        await cluster.send(app, "In", [4])

        async def next_one() -> Any:
            return [value for _, value in seen] == [1, 3, 4]

        await until(next_one, "delivery goes on where it was")
