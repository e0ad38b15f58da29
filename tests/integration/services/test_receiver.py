"""The front door against real servers: what is accepted, what is refused and how, and
back-pressure.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from lockstep.events import EventsRecord
from tests.integration.services.cluster import Answer, Cluster, until
from tests.integration.services.conftest import Start

TEXT = """
@app:name('{name}')
define stream In (symbol string, price double, volume int);
from In[price > 10.0] select symbol, price, volume insert into Out;
"""
EVENT = {"symbol": "x", "price": 11.5, "volume": 1}


async def app(cluster: Cluster, name: str) -> str:
    """Deploys the app of this module under a name."""
    return await cluster.deploy(TEXT.format(name=name))


async def records(cluster: Cluster, name: str) -> list[EventsRecord]:
    """All event records of the input log."""
    entries = await cluster.taken_in(name)
    return [entry.record for entry in entries if isinstance(entry.record, EventsRecord)]


async def test_forms_and_chunks(cluster_of: Start) -> None:
    """Object, chunk, lines, Arrow, gzip: all durable, each chunk as it was sent."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        name = await app(cluster, "Forms")
        path = f"/v1/apps/{name}/streams/In/events"
        await cluster.send(name, "In", EVENT)
        await cluster.send(name, "In", [EVENT, ["y", 12, 2]])
        lines = "\n".join(json.dumps({**EVENT, "volume": i}) for i in range(3))
        status, answer = await cluster.call(
            "POST", "receiver", path, body=gzip.compress(lines.encode()),
            headers={"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"},
        )  # fmt: skip
        assert (status, answer["accepted"], answer["chunks"]) == (200, 3, 3)
        batch = pa.record_batch({"symbol": ["a", "b"], "price": [20.0, 21.0], "volume": [1, 2]})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        status, answer = await cluster.call(
            "POST", "receiver", path, body=sink.getvalue().to_pybytes(),
            headers={"Content-Type": "application/vnd.apache.arrow.stream"},
        )  # fmt: skip
        assert (status, answer["accepted"], answer["chunks"]) == (200, 2, 1)
        rows = await cluster.published_count(name, 8)
        assert [row.data[0] for row in rows] == ["x", "x", "y", "x", "x", "x", "a", "b"]
        chunks = [len(c) for record in await records(cluster, name) for c in record.chunks]
        assert chunks == [1, 2, 1, 1, 1, 2]


async def test_bad_input_is_named_and_disturbs_nobody(cluster_of: Start) -> None:
    """Each kind of bad request gets its status and reason; the next good event passes."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        name = await app(cluster, "Bad")
        path = f"/v1/apps/{name}/streams/In/events"

        async def refused(body: bytes, at: str = path, kind: str = "application/json") -> Answer:
            status, answer = await cluster.call(
                "POST", "receiver", at, body=body, headers={"Content-Type": kind}
            )
            assert answer["status"] == status
            return status, answer

        status, answer = await refused(b'{"symbol": ')
        assert (status, "malformed JSON" in answer["detail"]) == (400, True)
        status, answer = await refused(b'{"symbol": 5, "price": "x", "volume": 3000000000}')
        assert status == 400
        assert [error["field"] for error in answer["errors"]] == ["symbol", "price", "volume"]
        status, answer = await refused(b"{}", f"/v1/apps/{name}/streams/Inn/events")
        assert (status, "did you mean 'In'?" in answer["detail"]) == (404, True)
        status, answer = await refused(b"{}", "/v1/apps/Bda/streams/In/events")
        assert (status, "did you mean 'Bad'?" in answer["detail"]) == (404, True)
        status, _ = await refused(b" " * (cluster.settings.receiver.max_body_bytes + 10_000))
        assert status == 413
        status, _ = await refused(json.dumps(EVENT).encode(), kind="image/png")
        assert status == 415
        status, _ = await refused(json.dumps(EVENT).encode(), f"{path}?timestamp_ms=soon")
        assert status == 400
        await cluster.send(name, "In", EVENT)
        assert len(await cluster.published_count(name, 1)) == 1


async def test_bad_lines_are_refused_alone_and_kept(cluster_of: Start) -> None:
    """207 with line numbers; the refused line stands among the dead letters."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        name = await app(cluster, "Lines")
        body = json.dumps(EVENT) + '\n{"symbol": "x"}\n' + json.dumps(EVENT)
        status, answer = await cluster.call(
            "POST", "receiver", f"/v1/apps/{name}/streams/In/events", body=body,
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        assert (status, answer["accepted"], answer["refused_count"]) == (207, 2, 1)
        assert answer["refused"][0]["line"] == 2
        letters = await cluster.watcher.bus.dead_letters.read(name)
        assert [one.letter.payload for one in letters] == [b'{"symbol": "x"}']
        assert "price: missing" in letters[0].letter.reason


async def test_repeated_sends_are_stored_once(cluster_of: Start) -> None:
    """By Idempotency-Key for a whole body, by event ids for its events."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        name = await app(cluster, "Twice")
        for _ in range(2):
            first = await cluster.send(name, "In", [EVENT, EVENT], **{"Idempotency-Key": "k1"})
        assert first["duplicate"] is True
        for _ in range(2):
            await cluster.send(name, "In", {**EVENT, "_id": "e1"})
        await cluster.send(name, "In", EVENT)
        await cluster.published_count(name, 4)
        assert sum(len(c) for record in await records(cluster, name) for c in record.chunks) == 4


async def test_many_senders_share_records_and_keep_their_order(cluster_of: Start) -> None:
    """Concurrent single events: all there, each sender's in order, fewer records than events."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        name = await app(cluster, "Many")

        async def sender(number: int) -> None:
            for i in range(20):
                await cluster.send(name, "In", [f"s{number}", 20.0, i])

        await asyncio.gather(*(sender(i) for i in range(10)))
        rows = await cluster.published_count(name, 200)
        for number in range(10):
            mine = [row.data[2] for row in rows if row.data[0] == f"s{number}"]
            assert mine == list(range(20))
        assert len(await records(cluster, name)) < 200


async def test_several_streams_in_one_body_keep_their_order(cluster_of: Start) -> None:
    """Lines that name their streams become records in the order of the lines."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        text = TEXT.replace("from In", "define stream Other (n int); from In").format(name="Mixed")
        name = await cluster.deploy(text)
        lines = [
            {"stream": "In", "event": EVENT, "_timestamp": 5},
            {"stream": "Other", "event": {"n": 1}},
            {"stream": "In", "event": EVENT},
        ]
        status, answer = await cluster.call(
            "POST", "receiver", f"/v1/apps/{name}/events",
            body="\n".join(map(json.dumps, lines)), headers={"Idempotency-Key": "m"},
        )  # fmt: skip
        assert (status, answer["accepted"]) == (200, 3)
        found = await records(cluster, name)
        assert [record.stream for record in found] == ["In", "Other", "In"]
        assert found[0].chunks[0][0].timestamp_ms == 5


async def test_the_bus_is_a_front_door_too(cluster_of: Start) -> None:
    """Good messages once, bad ones as dead letters with their reason, the next one passes."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        name = await app(cluster, "Ingress")
        ingress = cluster.watcher.bus.ingress
        await ingress.publish(name, "In", json.dumps(EVENT).encode())
        await ingress.publish(name, "In", b'{"symbol": 7}')
        await ingress.publish(name, "Nowhere", json.dumps(EVENT).encode())
        await ingress.publish(name, "In", b"[" * 100_000)
        await ingress.publish(name, "In", json.dumps([EVENT, EVENT]).encode())
        assert len(await cluster.published_count(name, 3)) == 3

        async def letters() -> Any:
            found = await cluster.watcher.bus.dead_letters.read(name)
            return found if len(found) == 3 else None

        found = await until(letters, "three dead letters")
        assert "price: missing" in found[0].letter.reason
        assert "no stream 'Nowhere'" in found[1].letter.reason
        assert found[0].letter.payload == b'{"symbol": 7}'
        assert "nested too deep" in found[2].letter.reason


async def test_lagging_processors_push_senders_back(cluster_of: Start) -> None:
    """429 with Retry-After while nobody folds, and again 200 once somebody does."""
    limits = {"LOCKSTEP_RECEIVER__MAX_LOG_LAG_POSITIONS": "20"}
    async with cluster_of("coordinator", "processor-1", "receiver", **limits) as cluster:
        name = await app(cluster, "Lag")
        await cluster.crash("processor-1")

        async def pushed_back() -> Any:
            async with cluster.session.post(
                f"{cluster.url('receiver')}/v1/apps/{name}/streams/In/events", json=EVENT
            ) as response:
                if response.status == 429:
                    assert int(response.headers["Retry-After"]) >= 1
                    return await response.json()
                assert response.status == 200
                return None

        answer = await until(pushed_back, "429")
        assert "behind" in answer["detail"]
        await cluster.start("processor-1")

        async def accepted() -> Any:
            status, _ = await cluster.call(
                "POST", "receiver", f"/v1/apps/{name}/streams/In/events", json=EVENT
            )
            return status == 200

        await until(accepted, "200 again")


async def test_bodies_without_a_length_are_counted_as_they_come(cluster_of: Start) -> None:
    """One that fills the door has others told to come back, and is taken itself; one that is
    larger than a body may be is refused."""
    limits = {"LOCKSTEP_RECEIVER__MAX_INFLIGHT_BYTES": "100000"}
    async with cluster_of("coordinator", "processor-1", "receiver", **limits) as cluster:
        name = await app(cluster, "Unmeasured")
        url = f"{cluster.url('receiver')}/v1/apps/{name}/streams/In/events"
        room, end = b" " * 60_000, asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield room
            await end.wait()
            yield json.dumps(EVENT).encode()

        async def quick(size_bytes: int) -> AsyncIterator[bytes]:
            for _ in range(0, size_bytes, len(room)):
                yield room
            yield json.dumps(EVENT).encode()

        async def send(body: AsyncIterator[bytes]) -> tuple[int, Any]:
            kind = {"Content-Type": "application/json"}
            async with cluster.session.post(url, data=body, headers=kind) as response:
                return response.status, await response.json()

        async def is_filled() -> bool:
            status, text = await cluster.call("GET", "receiver", "/metrics")
            return status == 200 and "lockstep_receiver_inflight_bytes 60000.0" in text

        first = asyncio.create_task(send(slow()))
        await until(is_filled, "the first is counted")
        status, answer = await send(quick(len(room)))
        assert status == 429
        assert "60000 bytes are under way" in answer["detail"]
        end.set()
        assert (await first)[0] == 200
        assert (await send(quick(len(room))))[0] == 200
        status, answer = await send(quick(cluster.settings.receiver.max_body_bytes + 60_000))
        assert (status, "the body is larger than" in answer["detail"]) == (413, True)


async def test_a_closed_bus_is_told_as_503(cluster_of: Start) -> None:
    """With Retry-After and without a stack trace."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        name = await app(cluster, "Away")
        await cluster.send(name, "In", EVENT)
        await cluster.nodes["receiver"].world.bus.close()
        async with cluster.session.post(
            f"{cluster.url('receiver')}/v1/apps/{name}/streams/In/events", json=EVENT
        ) as response:
            assert response.status == 503
            assert "Retry-After" in response.headers
            assert "Traceback" not in await response.text()
        status, _ = await cluster.call("POST", "receiver", f"/{name}/In", json=EVENT)
        metrics = cluster.nodes["receiver"].process.running.contexts["receiver"].metrics
        counted = metrics.value("lockstep_receiver_pushed_back_total", reason="unavailable")
        assert (status, counted) == (503, 2)


async def test_independent_keyed_requests_side_by_side_count_once_each(cluster_of: Start) -> None:
    """Repeated while the first time is still under way, and through another receiver, too; several
    records of one request stay together in their order.
    """
    nodes = ("coordinator", "processor-1", "receiver-1", "receiver-2")
    limits = {"LOCKSTEP_RECEIVER__MAX_EVENT_BATCH": "2"}
    async with cluster_of(*nodes, **limits) as cluster:
        name = await cluster.deploy(
            "@app:name('Abreast') define stream In (v long); from In select v insert into Out;"
        )
        doors = [cluster.nodes[node].url for node in nodes[2:]]

        async def post(number: int, door: str) -> bool:
            lines = "\n".join(f'{{"v": {number * 10 + i}}}' for i in range(5))
            kind = {"Content-Type": "application/x-ndjson", "Idempotency-Key": f"k{number}"}
            url = f"{door}/v1/apps/{name}/streams/In/events"
            async with cluster.session.post(url, data=lines, headers=kind) as response:
                assert response.status == 200, await response.text()
                return bool((await response.json())["duplicate"])

        sent = [post(number, door) for number in range(40) for door in (*doors, doors[0])]
        repeated = await asyncio.gather(*sent)
        assert repeated.count(False) >= 40
        rows = [row.data[0] for row in await cluster.published_count(name, 200)]
        assert sorted(rows) == [n * 10 + i for n in range(40) for i in range(5)]
        for number in range(40):
            mine = [row for row in rows if row // 10 == number]
            assert mine == sorted(mine)
