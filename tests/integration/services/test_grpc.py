"""gRPC against real servers and clients: sources, services, sinks and calls."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from lockstep.events import EventsRecord
from tests.contract.connectors.brokers import free_port
from tests.contract.connectors.grpc_peer import (
    CONSUME,
    DISCOUNT,
    NOTE,
    PROCESS,
    SWEETS,
    Bill,
    Event,
    Sweet,
    caller,
    grpc_server,
    metadata_of,
)
from tests.integration.services.cluster import Cluster, rows_of, until
from tests.integration.services.conftest import Start
from tests.tls.certificates import Authority

NODES = ("coordinator", "processor-1", "receiver-1", "publisher-1")
SERVICE = (
    "@app:name('{name}') @source(type='grpc-service', source.id='1', {more}"
    " receiver.url='grpc://localhost:{port}/org.wso2.grpc.EventService/process',"
    " @map(type='json', @attributes(messageId='trp:message.id', who='trp:who', n='$.n')))"
    " define stream Ask (messageId string, who string, n long);"
    " @sink(type='grpc-service-response', source.id='1', message.id='{{{{messageId}}}}',"
    " headers='who:{{{{who}}}}', @map(type='json'))"
    " define stream Say (messageId string, who string, n long);"
    " define stream Release (why string);"
    " from Ask[n >= 0] select messageId, who, n * 2 as n insert into Say;"
    " from every e1=Ask[n < 0] -> e2=Release"
    " select e1.messageId as messageId, e1.who as who, e1.n * 2 as n insert into Say;"
)


@contextlib.asynccontextmanager
async def channel_to(port: int) -> AsyncIterator[grpc.aio.Channel]:
    """A client that waits for nobody's name to be looked up."""
    options = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 100))
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        yield channel


def event(n: int | str, **headers: str) -> Any:
    """Of the default service."""
    return Event(payload=json.dumps({"n": n}), headers=headers)


async def ask(port: int, n: int, key: str | None = None) -> Any:
    """The app's answer; who asks says so in the metadata."""
    metadata = (("who", "me"), *((("idempotency-key", key),) if key else ()))
    async with channel_to(port) as channel:
        said = await caller(channel, PROCESS)(
            event(n), metadata=metadata, wait_for_ready=True, timeout=60
        )
    answer = Event.FromString(said)
    assert answer.headers["who"] == "me"
    return json.loads(answer.payload)["event"]["n"]


async def served(port: int) -> None:
    """Until the app answers at its port."""

    async def there() -> bool:
        try:
            return bool(await ask(port, 1) == 2)
        except grpc.aio.AioRpcError:
            return False

    await until(there, f"an answer at {port}")


async def taken(cluster: Cluster, app: str, stream: str) -> list[Any]:
    """The events of a stream in the input log."""
    records = [entry.record for entry in await cluster.taken_in(app)]
    found = [one for one in records if isinstance(one, EventsRecord) and one.stream == stream]
    return [row.data for one in found for chunk in one.chunks for row in chunk]


async def letters(cluster: Cluster, app: str, count: int) -> list[str]:
    """Why so many dead letters are there."""
    found: list[str] = []

    async def there() -> bool:
        nonlocal found
        found = [each.letter.reason for each in await cluster.watcher.bus.dead_letters.read(app)]
        return len(found) >= count

    await until(there, f"{count} dead letters", seen=lambda: found)
    return found


async def test_calls_wait_for_the_app_and_get_their_own_answers(cluster_of: Start) -> None:
    """Many at once; what does not fit is told at once; the app that says nothing is a time-out; who
    asks for another stream or method is told what there is."""
    async with cluster_of(*NODES) as cluster:
        port = free_port()
        await cluster.deploy(SERVICE.format(name="Ask", port=port, more="service.timeout='300',"))
        await served(port)
        assert await asyncio.gather(*(ask(port, n) for n in range(20))) == [
            n * 2 for n in range(20)
        ]
        async with channel_to(port) as channel:
            process = caller(channel, PROCESS)
            cases = [
                (process, event("x", who="me"), "INVALID_ARGUMENT", "n: "),
                (process, event(1), "INVALID_ARGUMENT", "who"),
                (process, event(1, **{"stream.id": "No"}), "INVALID_ARGUMENT", "'No' is here"),
                (process, event(-1, who="me"), "DEADLINE_EXCEEDED", "not answered within 300 ms"),
                (caller(channel, CONSUME), event(1), "UNIMPLEMENTED", ""),
            ]
            for call, message, status, said in cases:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call(message, timeout=60)
                assert caught.value.code().name == status, caught.value
                assert said in str(caught.value.details())


async def test_who_waits_is_answered_whoever_dies_meanwhile(cluster_of: Start) -> None:
    """The leading processor and the publisher are killed between call and answer, and the receiver
    is told to stop: it ends when its callers have their answers."""
    async with cluster_of(*NODES, "processor-2") as cluster:
        port = free_port()
        text = "@app:ha(replicas='2') " + SERVICE.format(
            name="Dies", port=port, more="service.timeout='60000',"
        )
        app = await cluster.deploy(text, replicas=2)
        await served(port)
        before = len(await taken(cluster, app, "Ask"))
        asked = [asyncio.create_task(ask(port, -n)) for n in range(1, 6)]

        async def are_in() -> bool:
            return len(await taken(cluster, app, "Ask")) == before + 5

        await until(are_in, "the calls in the log")
        await cluster.crash(await cluster.active(app))
        await cluster.crash("publisher-1")
        stopping = asyncio.create_task(cluster.stop("receiver-1"))
        await cluster.start("publisher-2")
        await cluster.start("receiver-2")
        await cluster.send(app, "Release", ["now"])
        assert await asyncio.gather(*asked) == [-2 * n for n in range(1, 6)]
        await stopping


async def test_a_call_that_is_made_again_gets_the_one_answer(cluster_of: Start) -> None:
    """Its receiver died while the app had not answered: with its key it is in the app once, and
    waits at the other receiver."""
    async with cluster_of(*NODES) as cluster:
        port = free_port()
        more = "service.timeout='60000',"
        app = await cluster.deploy(SERVICE.format(name="Again", port=port, more=more))
        await served(port)
        before = len(await taken(cluster, app, "Ask"))
        broken = asyncio.create_task(ask(port, -3, key="k"))

        async def is_in() -> bool:
            return len(await taken(cluster, app, "Ask")) == before + 1

        await until(is_in, "the call in the log")
        await cluster.crash("receiver-1")
        with pytest.raises(grpc.aio.AioRpcError):
            await broken
        await cluster.start("receiver-2")
        again = asyncio.create_task(ask(port, -3, key="k"))
        await served(port)
        await cluster.send(app, "Release", ["now"])
        assert await again == -6
        assert await ask(port, -3, key="k") == -6
        assert (await taken(cluster, app, "Ask")).count((None, "me", -3)) <= 1
        assert [row[2] for row in await taken(cluster, app, "Ask")].count(-3) == 1


async def test_a_stream_of_events_is_answered_when_all_are_durable(cluster_of: Start) -> None:
    """Two streams at one port are told apart by the header `stream.id`; what does not fit is told
    by its number, and the others are in. Under its key a call counts once."""
    async with cluster_of(*NODES) as cluster:
        port = free_port()
        source = (
            f"@source(type='grpc', receiver.url='grpc://0.0.0.0:{port}/org.wso2.grpc.EventService"
            "/consume', @map(type='json', @attributes(n='n', by='trp:by')))"
        )
        app = await cluster.deploy(
            f"@app:name('Take') {source} define stream A (n int, by string);"
            f" {source} define stream B (n int, by string);"
            " define stream OutA (n int, by string); define stream OutB (n int, by string);"
            " from A select * insert into OutA; from B select * insert into OutB;"
        )

        async def sent(first: int, count: int = 270, bad: int | None = None) -> None:
            async with channel_to(port) as channel:
                call = caller(channel, CONSUME, streams=True)(
                    metadata=(("by", "me"), ("idempotency-key", f"k{first}")), wait_for_ready=True
                )
                for n in range(first, first + count):
                    header = {"stream.id": "A" if n % 3 else "B"}
                    await call.write(event("x" if n == bad else n, **header))
                await call.done_writing()
                assert await call == b""

        async def open_() -> bool:
            async with channel_to(port) as channel:
                call = caller(channel, CONSUME, streams=True)
                try:
                    await call(iter(()), timeout=5)
                except grpc.aio.AioRpcError:
                    return False
            return True

        await until(open_, "the port")
        await sent(0)
        await sent(0)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await sent(1000, 30, bad=1002)
        assert "1 of 30 messages were refused: [2] " in str(caught.value.details())
        for stream, wanted in (("A", (1, 2)), ("B", (0,))):
            numbers = [n for n in (*range(270), *range(1000, 1030)) if n != 1002]
            expected = [(n, "me") for n in numbers if n % 3 in wanted]
            assert await rows_of(cluster, app, f"Out{stream}", len(expected)) == expected
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async with channel_to(port) as channel:
                await caller(channel, CONSUME)(event(1), timeout=60)
        assert "the header 'stream.id' names one of A, B" in str(caught.value.details())


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (None, "; the first 3 messages of the call have been taken"),
        (1, "; 1 of 3 messages were refused: [1] "),
    ],
)
async def test_a_receiver_that_ends_tells_open_streams_what_it_has(
    cluster_of: Start, bad: int | None, says: str
) -> None:
    """A client that would go on for ever hears how many of its messages are in the app, and which
    of them are not."""
    async with cluster_of(*NODES) as cluster:
        port = free_port()
        app = await cluster.deploy(
            f"@app:name('Ends') @source(type='grpc', receiver.url='grpc://h:{port}/mySequence',"
            " @map(type='json')) define stream A (n int);"
        )
        async with channel_to(port) as channel:
            call = caller(channel, CONSUME, streams=True)(wait_for_ready=True)
            for n in range(3):
                await call.write(event("odd" if n == bad else n))

            async def are_in() -> bool:
                return len(await taken(cluster, app, "A")) == (3 if bad is None else 2)

            await until(are_in, "the events")
            await cluster.stop("receiver-1")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert says in str(caught.value.details())


async def test_a_service_of_ones_own_in_protobuf(cluster_of: Start) -> None:
    """The url has a package of Java that the .proto has not; what the method takes and answers is
    in the schema. A second source of the method is in trouble, and says whose it is."""
    async with cluster_of(*NODES) as cluster:
        port = free_port()
        url = f"grpc://localhost:{port}/io.sample.SweetService"
        schema = f'@map(type="protobuf", schema.def="""{SWEETS}"""'
        app = await cluster.deploy(
            f"@app:name('Sweets') @source(type='grpc-service', source.id='1',"
            f" receiver.url='{url}/getDiscount',"
            f" {schema}, @attributes(id='trp:message.id', name='name', price='price')))"
            " define stream In (id string, name string, price double);"
            " @sink(type='grpc-service-response', source.id='1', message.id='{{id}}',"
            f" publisher.url='{url}/getDiscount',"
            f" {schema}, @payload(name='name', total='off')))"
            " define stream Out (id string, name string, off double);"
            f" @source(type='grpc', receiver.url='{url}/note', {schema}))"
            " define stream Noted (name string, price double);"
            f" @source(type='grpc', receiver.url='{url}/note', {schema}))"
            " define stream Late (name string, price double);"
            " from In select id, name, price * 0.5 as off insert into Out;"
        )
        async with channel_to(port) as channel:
            sweet = Sweet(name="Cupcake", price=15.0)
            for path in (DISCOUNT, "/io.sample.SweetService/getDiscount"):
                said = await caller(channel, path)(sweet, wait_for_ready=True, timeout=60)
                assert Bill.FromString(said) == Bill(name="Cupcake", total=7.5)
            assert await caller(channel, NOTE)(sweet, timeout=60) == b""
            call = caller(channel, NOTE, streams=True)
            assert await call(iter([sweet, sweet]), timeout=60) == b""
        assert await taken(cluster, app, "Noted") == [("Cupcake", 15.0)] * 3

        async def troubled() -> Any:
            _, flow = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/flow")
            return "belongs to Sweets/Noted" in json.dumps(flow)

        await until(troubled, "trouble of Late")


async def test_a_port_that_cannot_be_opened_is_told_and_tried_again(cluster_of: Start) -> None:
    """Another program has it, until it ends; a source that wants TLS gets none of this receiver."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        async with cluster_of(*NODES) as cluster:
            url = f"receiver.url='grpc://h:{port}/seq', @map(type='json')"
            app = await cluster.deploy(
                f"@app:name('Port') @source(type='grpc', {url}) define stream A (n int);"
                f" @source(type='grpc', enable.ssl='true', {url}) define stream B (n int);"
            )
            told = ""

            async def troubled() -> bool:
                nonlocal told
                told = json.dumps(await cluster.call("GET", "coordinator", f"/v1/apps/{app}/flow"))
                return f"cannot listen on 127.0.0.1:{port}" in told and "speak plainly" in told

            await until(troubled, "the troubles of both", seen=lambda: told)
            other.close()
            # It is tried again after five seconds, and with whatever is deployed.
            await cluster.deploy("@app:name('Other') define stream A (n int);")
            async with channel_to(port) as channel:
                assert await caller(channel, CONSUME)(event(1), wait_for_ready=True) == b""
            assert await taken(cluster, app, "A") == [(1,)]


async def test_ports_speak_tls_where_the_receiver_does(cluster_of: Start, tmp_path: Path) -> None:
    """With the receiver's own certificate; who speaks plainly gets no answer."""
    authority = Authority(tmp_path)
    pair = authority.give("receiver")
    tls = {
        "LOCKSTEP_SERVER__TLS_CERTIFICATE_FILE": str(pair.certificate),
        "LOCKSTEP_SERVER__TLS_KEY_FILE": str(pair.key),
        "LOCKSTEP_RECEIVER__SOURCES_TLS": "true",
    }
    async with cluster_of("coordinator", "processor-1") as cluster:
        await cluster.start("receiver", **tls)
        port = free_port()
        app = await cluster.deploy(
            f"@app:name('Tls') @source(type='grpc', receiver.url='grpc://h:{port}/seq',"
            " enable.ssl='true', @map(type='json')) define stream A (n int);"
        )
        credentials = grpc.ssl_channel_credentials(authority.file.read_bytes())
        async with grpc.aio.secure_channel(f"localhost:{port}", credentials) as channel:
            consume = caller(channel, CONSUME)
            assert await consume(event(1), wait_for_ready=True, timeout=60) == b""
        async with channel_to(port) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await caller(channel, CONSUME)(event(2), timeout=60)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        assert await taken(cluster, app, "A") == [(1,)]


async def test_rows_become_calls_and_their_answers_events(cluster_of: Start) -> None:
    """Of the default service, with headers and metadata, and of one of one's own. A publisher that
    dies behind an answer calls again with the same identity, and the first answer counts."""
    asked: list[tuple[str, str]] = []
    release = asyncio.Event()

    async def serve(messages: list[bytes], context: Any) -> bytes:
        metadata = metadata_of(context)
        (message,) = messages
        asked.append((context_path(message), metadata["idempotency-key"]))
        if b"slow" in message and len(asked) <= 4:
            await release.wait()
        if metadata.get("x-kind") == "event":
            taken_in = Event.FromString(message)
            price = json.loads(taken_in.payload)["event"]["price"]
            assert taken_in.headers["sequence"] == "mySeq"
            answer = json.dumps({"price": price * 2 + len(asked)})
            return bytes(Event(payload=answer, headers={"by": taken_in.headers["who"]})
                         .SerializeToString())  # fmt: skip
        sweet = Sweet.FromString(message)
        return bytes(Bill(name=sweet.name, total=sweet.price / 2).SerializeToString())

    def context_path(message: bytes) -> str:
        return "slow" if b"slow" in message else "quick"

    async with grpc_server(serve) as port, cluster_of(*NODES) as cluster:
        schema = f'@map(type="protobuf", schema.def="""{SWEETS}"""'
        app = await cluster.deploy(
            "@app:name('Calls') define stream In (name string, price double);"
            f" @sink(type='grpc-call', sink.id='1', headers='who:{{{{name}}}}',"
            f" metadata='X-Kind:event', call.timeout='60000',"
            f" publisher.url='grpc://127.0.0.1:{port}/org.wso2.grpc.EventService/process/mySeq',"
            " @map(type='json')) define stream Ask (name string, price double);"
            " @source(type='grpc-call-response', sink.id='1', @map(type='json',"
            " @attributes(name='trp:name', was='trp:price', by='trp:by', price='price')))"
            " define stream Said (name string, was double, by string, price double);"
            f" @sink(type='grpc-call', sink.id='2', publisher.url='grpc://127.0.0.1:{port}"
            f"/io.sample.SweetService/getDiscount', {schema}))"
            " define stream Sweet (name string, price double);"
            f" @source(type='grpc-call-response', sink.id='2', receiver.url='grpc://127.0.0.1:{port}"
            f"/io.sample.SweetService/getDiscount', {schema}, @attributes(name='name',"
            " was='trp:price', total='total')))"
            " define stream Bill (name string, was double, total double);"
            " define stream OutSaid (name string, was double, by string, price double);"
            " define stream OutBill (name string, was double, total double);"
            " from In select * insert into Ask; from In select * insert into Sweet;"
            " from Said select * insert into OutSaid; from Bill select * insert into OutBill;"
        )
        await cluster.send(app, "In", [["quick", 1.0], ["slow", 4.0]])
        (bill,) = (await rows_of(cluster, app, "OutBill", 1))[:1]
        assert bill in [("quick", 1.0, 0.5), ("slow", 4.0, 2.0)]
        (first,) = await rows_of(cluster, app, "OutSaid", 1)
        assert first[:3] == ("quick", 1.0, "quick")
        await cluster.start("publisher-2")
        await cluster.crash("publisher-1")
        release.set()
        said = await rows_of(cluster, app, "OutSaid", 2)
        assert said[0] == first
        assert [row[:3] for row in said] == [("quick", 1.0, "quick"), ("slow", 4.0, "slow")]
        assert sorted(await rows_of(cluster, app, "OutBill", 2)) == [
            ("quick", 1.0, 0.5), ("slow", 4.0, 2.0),
        ]  # fmt: skip
        # Sent again under its identity, which the answers of both have.
        identities = [key for _, key in asked]
        assert len(set(identities)) == 4
        assert len(identities) > 4
        await cluster.send(app, "In", ["last", 2.0])
        assert len(await rows_of(cluster, app, "OutSaid", 3)) == 3
