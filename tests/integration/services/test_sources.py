"""Sources against real servers: HTTP in an app's own forms, subjects of the bus, chained apps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import nats
import pytest
from nats.errors import Error as NatsError
from nats.js.api import StreamConfig

from tests.contract.connectors.nats_peer import nats_broker, url_of
from tests.integration.services.cluster import RANDOM, WAIT_MS, Cluster, until
from tests.integration.services.conftest import Start

PASSWORD = "correct horse battery"
NODES = ("coordinator", "processor-1", "receiver")
OUT = (
    "define stream Out (room string, celsius double); from In select room, celsius insert into Out;"
)
HTTP = (
    "@app:name('Doors')"
    " @source(type='http', receiver.url='http://0.0.0.0:8006/weather/in/',"
    " @map(type='json', enclosing.element='$.readings',"
    " @attributes(room='$.where.room', celsius='t')))"
    " @source(type='http', receiver.url='http://0.0.0.0:8006/lines',"
    " @map(type='csv', event.grouping.enabled='true'))"
    f" define stream In (room string, celsius double); {OUT}"
)


def nats_app(name: str, destination: str) -> str:
    """An app that listens to a subject, with a header as one of its attributes."""
    return (
        f"@app:name('{name}') @source(type='nats', destination='{destination}',"
        " @map(type='json', @attributes(room='trp:X-Room', celsius='$.c')))"
        f" define stream In (room string, celsius double); {OUT}"
    )


async def values(cluster: Cluster, app: str, count: int) -> list[Any]:
    """So many published rows' values."""
    return [row.data for row in await cluster.published_count(app, count)]


async def test_http_sources_have_addresses_and_forms_of_their_own(cluster_of: Start) -> None:
    """By the path of receiver.url, by app and stream, and at the suite's own address."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(HTTP)

        async def post(path: str, body: str, content_type: str) -> Any:
            headers = {"Content-Type": content_type}
            return await cluster.call("POST", "receiver", path, body=body, headers=headers)

        one = '{"readings": {"where": {"room": "%s"}, "t": "21"}}'
        v1 = "/v1/apps/Doors/streams/In/events"
        # Who names the app makes the receiver look for it; its paths are known then.
        for room, path in (("a", v1), ("b", "/weather/in"), ("c", "/Doors/In")):
            status, answer = await post(path, one % room, "application/json")
            assert (status, answer["accepted"]) == (200, 1), answer
        assert (await cluster.send(app, "In", {"room": "d", "celsius": 4}))["accepted"] == 1

        bad = '{"readings": [{"where": {}, "t": "warm"}, {"where": {"room": "x"}, "t": 1}]}'
        status, answer = await post("/weather/in", bad, "application/json")
        assert status == 400
        assert answer["errors"] == [
            {"field": "[0].room", "message": "there is no '$.where.room'"},
            {"field": "[0].celsius", "message": "warm is no double"},
        ]
        assert (await post("/weather/out", one, "application/json"))[0] == 404

        status, answer = await post("/lines", "e,5\nf,warm\ng,7\n", "text/csv")
        assert (status, answer["accepted"], answer["chunks"]) == (207, 2, 1)
        assert answer["refused"] == [
            {"line": 2, "errors": [{"field": "celsius", "message": "warm is no double"}]}
        ]
        assert await values(cluster, app, 6) == [
            ("a", 21.0), ("b", 21.0), ("c", 21.0), ("d", 4.0), ("e", 5.0), ("g", 7.0),
        ]  # fmt: skip
        (letter,) = await cluster.watcher.bus.dead_letters.read(app)
        assert letter.letter.payload == b"f,warm\n"
        assert letter.letter.content_type == "text/csv; source=1"

        mended = {"Content-Type": letter.letter.content_type}
        await cluster.watcher.bus.ingress.publish(app, "In", b"f,6\n", headers=mended)
        assert (await values(cluster, app, 7))[-1] == ("f", 6.0)


async def test_large_messages_are_taken_as_small_ones(cluster_of: Start) -> None:
    """In columns, or line by line where one is wrong; and none is too large a chunk."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(HTTP)
        await cluster.send(app, "In", {"room": "first", "celsius": 0.5})

        async def post(lines: list[str]) -> Any:
            headers = {"Content-Type": "text/csv"}
            body = "\n".join(lines)
            return await cluster.call("POST", "receiver", "/lines", body=body, headers=headers)

        lines = [f"r{number},{number}.5" for number in range(1_500)]
        status, answer = await post(lines)
        assert (status, answer["accepted"], answer["chunks"]) == (200, 1_500, 1), answer
        broken = [*lines[:700], "r700,warm", *lines[701:]]
        status, answer = await post(broken)
        assert (status, answer["accepted"], answer["chunks"]) == (207, 1_499, 1), answer
        assert answer["refused"] == [
            {"line": 701, "errors": [{"field": "celsius", "message": "warm is no double"}]}
        ]
        status, answer = await post(lines * 34)  # receiver.max_event_batch is 50,000
        assert status == 413, answer
        sent = [(f"r{number}", number + 0.5) for number in range(1_500)]
        expected = [("first", 0.5), *sent, *sent[:700], *sent[701:]]
        assert await values(cluster, app, 3_000) == expected


async def test_a_source_that_asks_who_sends_takes_nothing_from_the_nameless(
    cluster_of: Start,
) -> None:
    """Neither at a door that asks nobody, nor from a user without the role."""
    text = (
        "@app:name('Asked') @source(type='http', receiver.url='http://h/asked',"
        " basic.auth.enabled='true', @map(type='json'))"
        f" define stream In (room string, celsius double); {OUT}"
    )
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(text)

        async def post(path: str, name: str = "", password: str = PASSWORD) -> tuple[int, str]:
            headers = {"Content-Type": "application/json"}
            if name:
                headers["Authorization"] = aiohttp.encode_basic_auth(name, password)
            body = json.dumps({"event": {"room": name or "nobody", "celsius": 21.0}})
            status, answer = await cluster.call(
                "POST", "receiver", path, body=body, headers=headers
            )
            return status, str(answer.get("detail", ""))

        own = "/v1/apps/Asked/streams/In/events"
        assert (await post(own))[0] == 200  # the suite's own address asks as the door does
        for path in ("/asked", "/Asked/In"):
            status, why = await post(path)
            assert status == 401
            assert "this suite has no users yet" in why

        async def tell(method: str, path: str, body: dict[str, str]) -> None:
            headers = {"Authorization": aiohttp.encode_basic_auth("ann", PASSWORD)}
            status, answer = await cluster.call(
                method, "coordinator", path, json=body, headers=headers
            )
            assert status < 300, answer

        await tell("PUT", "/v1/users/ann", {"password": PASSWORD, "role": "administer"})
        for name, role in (("sensor", "send"), ("guest", "view")):
            await tell("PUT", f"/v1/users/{name}", {"password": PASSWORD})
            await tell("POST", "/v1/grants", {"user": name, "role": role, "app": "Asked"})

        async def is_asked() -> bool:
            return (await post(own))[0] == 401

        await until(is_asked, "the receiver knows the users")
        for path in ("/asked", "/Asked/In"):
            assert (await post(path))[0] == 401
            assert (await post(path, "sensor", "a wrong password"))[0] == 401
            assert (await post(path, "guest"))[0] in (403, 404)
            assert (await post(path, "sensor"))[0] == 200
        taken = [room for room, _ in await values(cluster, app, 3)]
        assert set(taken) == {"nobody", "sensor"}
        assert taken.count("sensor") == 2


@pytest.mark.parametrize("kept", [False, True])
async def test_subjects_of_the_bus_are_shared_by_the_receivers(
    cluster_of: Start, kept: bool
) -> None:
    """Each message becomes one event, whoever of the receivers takes it; what does not fit is put
    aside with its reason. Kept by a stream, messages wait for a receiver."""
    async with cluster_of(*NODES[:2], "receiver-1", "receiver-2") as cluster:
        root = RANDOM.uuid_hex()
        client = await nats.connect(cluster.settings.bus.url.get_secret_value())
        jetstream = client.jetstream(timeout=WAIT_MS / 1000)
        if kept:
            await jetstream.add_stream(name=root, subjects=[f"{root}.>"])
        app = await cluster.deploy(nats_app(f"Bus{kept}", f"{root}.*"))

        async def publish(number: int, body: bytes | None = None) -> None:
            headers = {"X-Room": f"r{number}", "Nats-Msg-Id": f"{root}{number}"}
            await client.publish(f"{root}.a", body or b'{"c": %d}' % number, headers=headers)
            await client.flush()

        async def listening() -> Any:
            await publish(0)
            return await cluster.published(app)

        await until(listening, "a receiver that listens")
        for number in range(1, 30):
            await publish(number)
            await publish(number)  # a repeated id is one event
        await publish(30, b'{"c": "warm"}')
        found = await values(cluster, app, 30)
        assert sorted(found) == sorted((f"r{n}", float(n)) for n in range(30))

        async def put_aside() -> Any:
            return await cluster.watcher.bus.dead_letters.read(app)

        (letter,) = await until(put_aside, "the dead letter")
        assert letter.letter.reason == "celsius: warm is no double"
        assert letter.letter.content_type == "application/json; source=0"
        if kept:
            (consumer,) = await jetstream.consumers_info(root)

            async def looked() -> Any:
                return await jetstream.consumer_info(root, consumer.name)

            async def all_settled() -> bool:
                return bool((await looked()).num_ack_pending == 0)

            await until(all_settled, "nothing waits for its acknowledgement")
            for name in ("receiver-1", "receiver-2"):
                await cluster.crash(name)

            async def nobody_asks() -> bool:
                # Else the server may hand the message to who is gone already, and wait for long.
                return bool((await looked()).num_waiting == 0)

            await until(nobody_asks, "the server has noticed")
            await publish(31)
            await cluster.start("receiver-3")
            assert ("r31", 31.0) in await values(cluster, app, 31)
            await jetstream.delete_stream(root)
        await client.close()


async def test_in_memory_topics_chain_apps(cluster_of: Start) -> None:
    """What one app's in-memory sink sends, another app's in-memory source takes."""
    async with cluster_of(*NODES, "publisher") as cluster:
        topic = RANDOM.uuid_hex()
        first = (
            "@app:name('First') define stream In (room string, celsius double);"
            f" @sink(type='inMemory', topic='{topic}', @map(type='json'))"
            " define stream Hot (room string, celsius double);"
            " from In[celsius > 30.0] select room, celsius insert into Hot;"
        )
        second = (
            f"@app:name('Second') @source(type='inMemory', topic='{topic}', @map(type='json'))"
            f" define stream In (room string, celsius double); {OUT}"
        )
        await cluster.deploy(second)
        await cluster.deploy(first)

        async def heard() -> Any:
            await cluster.send("First", "In", [["attic", 31.0], ["hall", 20.0]])
            return await cluster.published("Second")

        rows = await until(heard, "a row of the second app")
        assert rows[0].data == ("attic", 31.0)


async def test_an_app_between_nats_servers_of_its_own(cluster_of: Start, tmp_path: Path) -> None:
    """What a stream there keeps is in the app once, and what the app gives is in a stream once,
    when receiver and publisher are killed and the server is started again in the midst of it."""
    broker = nats_broker(tmp_path)
    await broker.start()
    client = await nats.connect(url_of(broker), reconnect_time_wait=0)
    stream = client.jetstream()
    await stream.add_stream(StreamConfig(name="Both", subjects=["sweets.>"]))
    servers = f"bootstrap.servers='{url_of(broker)}', cluster.id='test-cluster'"
    nodes = ("coordinator", "processor-1", "receiver-1", "receiver-2", "publisher-1")
    async with cluster_of(*nodes) as cluster:
        app = await cluster.deploy(
            f"@app:name('Between') @source(type='nats', destination='sweets.in', {servers},"
            r" @map(type='text', regex.A='name:(\w+),price:(\d+\.\d+)',"
            " @attributes(name='A[1]', price='A[2]', number='trp:sequenceNumber')))"
            " define stream In (name string, price double, number string);"
            f" @sink(type='nats', destination='sweets.out.{{{{name}}}}', {servers},"
            " @map(type='json')) define stream Out (name string, price double, number string);"
            " from In select * insert into Out;"
        )

        async def out() -> list[str]:
            last = (await stream.stream_info("Both")).state.last_seq
            found = [await stream.get_msg("Both", seq) for seq in range(1, last + 1)]
            return [each.subject or "" for each in found if each.subject != "sweets.in"]

        async def arrives(name: str) -> None:
            await until(lambda: there(name), f"{name} in the stream")

        async def there(name: str) -> bool:
            return f"sweets.out.{name}" in await out()

        async def is_in(name: str) -> bool:
            return name in [row.data[0] for row in await cluster.published(app)]

        async def first() -> bool:
            await stream.publish("sweets.in", b"name:first,price:1.5")
            return await there("first")

        await until(first, "the first answer")
        sent = ["a", "b", "c", "d"]
        for name in sent[:2]:
            await stream.publish("sweets.in", f"name:{name},price:2.5".encode())
        # A message that a receiver had read and not taken would come again after half a minute.
        await until(lambda: is_in("b"), "b in the app")
        await cluster.crash("receiver-1")
        await cluster.start("publisher-2")
        await cluster.crash("publisher-1")
        for name in sent[2:]:
            await stream.publish("sweets.in", f"name:{name},price:2.5".encode())
        for name in sent:
            await arrives(name)
        await broker.stop()
        await broker.start()

        async def last() -> bool:
            try:
                await stream.publish("sweets.in", b"name:last,price:1.5", timeout=1)
            except (NatsError, TimeoutError):
                return False
            return True

        await until(last, "the server")
        await arrives("last")
        found = await out()
        assert all(found.count(f"sweets.out.{name}") == 1 for name in sent)
        rows = [row.data for row in await cluster.published(app)]
        assert all(int(number) > 0 for _, _, number in rows)
        await client.close()
    await broker.stop()
