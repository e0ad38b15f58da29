"""Calls of gRPC against servers of its makers' library, and a port against their clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from lockstep.connectors.grpc.calling import GrpcCalls
from lockstep.connectors.grpc.refusals import CallRefusedError
from lockstep.connectors.grpc.serving import Call, GrpcPort
from lockstep.connectors.grpc.sink import GrpcSink
from lockstep.events import UnavailableError
from lockstep.sinks import Message, MessageRefusedError
from lockstep.testing.connectors import message, play_sink
from lockstep.tls import TlsFiles, calling
from tests.contract.connectors.brokers import free_port
from tests.contract.connectors.grpc_peer import (
    CONSUME,
    PROCESS,
    Event,
    caller,
    grpc_server,
    metadata_of,
)
from tests.tls.certificates import Authority

SEQUENCE = "/org.wso2.grpc.EventService/consume/seq"


class Server:
    """Takes events of the default service; ended at once, and started again on its port."""

    def __init__(self) -> None:
        self.port = free_port()
        self.got: list[bytes] = []
        self.keys: set[str] = set()
        self._running: Any = None

    async def start(self) -> None:
        async def serve(messages: list[bytes], context: Any) -> bytes:
            self.keys.add(metadata_of(context)["idempotency-key"])
            self.got += [Event.FromString(each).payload.encode() for each in messages]
            return b""

        self._running = grpc_server(serve, self.port)
        await self._running.__aenter__()

    async def stop(self) -> None:
        await self._running.__aexit__(None, None, None)

    async def received(self) -> Sequence[bytes]:
        return self.got


async def test_events_arrive_in_order_and_none_is_lost_when_the_server_is_away() -> None:
    """A call counts as delivered when it was answered; one that comes again has the same key."""
    server = Server()
    url = f"grpc://127.0.0.1:{server.port}{SEQUENCE}"
    tally = await play_sink(lambda: GrpcSink({"publisher.url": url}), server)
    assert (tally.lost, tally.reordered) == (0, 0)
    assert len(server.keys) == tally.sent


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ("INVALID_ARGUMENT", MessageRefusedError),
        ("UNIMPLEMENTED", MessageRefusedError),
        ("DATA_LOSS", MessageRefusedError),
        ("INTERNAL", UnavailableError),
        ("RESOURCE_EXHAUSTED", UnavailableError),
        ("UNAVAILABLE", UnavailableError),
    ],
)
async def test_what_a_server_says_decides_whether_a_message_is_sent_again(
    status: str, wanted: type[Exception]
) -> None:
    """With where it was and what was said."""

    async def serve(messages: list[bytes], context: Any) -> bytes:
        await context.abort(grpc.StatusCode[status], "because")
        raise AssertionError

    async with grpc_server(serve) as port:
        sink = GrpcSink({"publisher.url": f"grpc://127.0.0.1:{port}/seq"})
        with pytest.raises(wanted, match=f"eventservice.EventService/consume: {status}: because"):
            await sink.send(message(1))
        await sink.close()


@pytest.mark.parametrize(
    ("metadata", "wanted"),
    [
        ("'authorization:Bearer s','x-id:{{n}}'", UnavailableError),
        ("", UnavailableError),
        ("'authorization:Bearer {{n}}'", MessageRefusedError),
        ("{{all}}", MessageRefusedError),
    ],
)
async def test_a_login_that_is_refused_is_the_rows_fault_where_the_row_brings_it(
    metadata: str, wanted: type[Exception]
) -> None:
    """That of the sink may be changing just now: rows wait."""

    async def serve(messages: list[bytes], context: Any) -> bytes:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        raise AssertionError

    async with grpc_server(serve) as port:
        url = f"grpc://127.0.0.1:{port}/seq"
        sink = GrpcSink({"publisher.url": url, "metadata": metadata})
        with pytest.raises(wanted, match="UNAUTHENTICATED: who are you") as caught:
            await sink.send(Message("A/main/0/7.1", b"{}", "application/json", 0, {}, filled))
        assert ("look at its secrets" in str(caught.value)) == (wanted is UnavailableError)
        await sink.close()


def filled(text: str) -> str:
    """With values of an event."""
    return text.replace("{{all}}", "'authorization:Bearer 7'").replace("{{n}}", "7")


async def test_a_server_that_says_nothing_is_away() -> None:
    """After the time that the sink gives it."""

    async def serve(messages: list[bytes], context: Any) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with grpc_server(serve) as port:
        url = f"grpc://127.0.0.1:{port}/seq"
        sink = GrpcSink({"publisher.url": url, "call.timeout": "200"})
        with pytest.raises(UnavailableError, match="DEADLINE_EXCEEDED"):
            await sink.send(message(1))
        await sink.close()


class Balancer:
    """Passes connections on. A frozen one stays open and passes nothing, as one whose server has
    gone without a word; those that come later reach a server."""

    def __init__(self, to: int) -> None:
        self._to = to
        self.port = free_port()
        self.accepted = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._piping: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Balancer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.freeze()
        for writer in self._writers:
            writer.transport.abort()

    def freeze(self) -> None:
        for task in self._piping:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers += [writer, back]
        self._piping += [
            asyncio.ensure_future(self._pipe(reader, back)),
            asyncio.ensure_future(self._pipe(there, writer)),
        ]

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()


async def test_a_connection_that_is_dead_at_its_other_end_is_left() -> None:
    """A call without an answer ends it: the next attempt reaches the server by another one."""

    async def serve(messages: list[bytes], context: Any) -> bytes:
        return b""

    async with grpc_server(serve) as port, Balancer(port) as balancer:
        url = f"grpc://127.0.0.1:{balancer.port}/seq"
        sink = GrpcSink({"publisher.url": url, "call.timeout": "500"})
        await sink.send(message(1))
        balancer.freeze()
        with pytest.raises(UnavailableError, match="DEADLINE_EXCEEDED"):
            await sink.send(message(2))
        await sink.send(message(2))
        assert balancer.accepted == 2
        await sink.close()


async def test_calls_under_way_end_where_they_began_when_another_one_has_no_answer() -> None:
    """Of sixteen one may be slow: the answers of the others count."""
    begun, may_go = asyncio.Semaphore(0), asyncio.Event()

    async def serve(messages: list[bytes], context: Any) -> bytes:
        begun.release()
        if metadata_of(context)["idempotency-key"] == message(1).id:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "not me")
        await may_go.wait()
        return b""

    async with grpc_server(serve) as port:
        calls = GrpcCalls({"publisher.url": f"grpc://127.0.0.1:{port}/Own/call"})
        under_way = [asyncio.ensure_future(calls.send(message(n))) for n in range(2, 6)]
        for _ in under_way:
            await begun.acquire()
        with pytest.raises(UnavailableError, match="not me"):
            await calls.send(message(1))
        later = asyncio.ensure_future(calls.send(message(9)))
        may_go.set()
        assert {each.body for each in await asyncio.gather(*under_way, later)} == {b""}
        await calls.close()


async def test_a_connection_is_kept_alive_where_the_options_say_so() -> None:
    """In seconds: pings find out that the other end is dead long before the call's own time."""

    async def serve(messages: list[bytes], context: Any) -> bytes:
        return b""

    async with grpc_server(serve) as port, Balancer(port) as balancer:
        url = f"grpc://127.0.0.1:{balancer.port}/seq"
        sink = GrpcSink({
            "publisher.url": url, "call.timeout": "60000", "keep.alive.time": "1",
            "keep.alive.timeout": "1", "keep.alive.without.calls": "true",
        })  # fmt: skip
        await sink.send(message(1))
        balancer.freeze()
        async with asyncio.timeout(30):
            with pytest.raises(UnavailableError, match="UNAVAILABLE"):
                await sink.send(message(2))
        await sink.send(message(2))
        await sink.close()


async def test_headers_and_metadata_hold_values_of_the_event() -> None:
    """One attribute may hold all of them, as the older products' samples have it; what gRPC cannot
    carry refuses the message."""
    seen: list[tuple[Mapping[str, str], Mapping[str, str]]] = []

    async def serve(messages: list[bytes], context: Any) -> bytes:
        seen.append((dict(Event.FromString(messages[0]).headers), metadata_of(context)))
        await context.send_initial_metadata((("x-first", "1"),))
        context.set_trailing_metadata((("x-last", "2"),))
        return bytes(Event(payload="fine", headers={"k": "v"}).SerializeToString())

    def filled(text: str) -> str:
        pairs = {"{{all}}": "'a:1','b:2'", "{{who}}": "Åsa, or so", "{{plain}}": "me"}
        for name, value in pairs.items():
            text = text.replace(name, value)
        return text

    row = Message("A/main/0/7.1", b"{}", "application/json", 0, {}, filled)
    async with grpc_server(serve) as port:
        url = f"grpc://127.0.0.1:{port}/EventService/process/seq"
        both = {"publisher.url": url, "headers": "'who:{{who}}'", "metadata": "X-Me:{{plain}}"}
        calls = GrpcCalls(both)
        called = await calls.send(row)
        assert (called.body, called.headers) == (b"fine", {"x-first": "1", "x-last": "2", "k": "v"})
        assert seen[0][0] == {"who": "Åsa, or so", "sequence": "seq"}
        assert seen[0][1]["x-me"] == "me"
        assert seen[0][1]["idempotency-key"] == row.id
        await calls.close()
        calls = GrpcCalls({"publisher.url": url, "headers": "{{all}}"})
        await calls.send(row)
        assert seen[1][0] == {"a": "1", "b": "2", "sequence": "seq"}
        await calls.close()
        for bad in ("X-Me:{{who}}", "grpc-x:1", "a b:1"):
            calls = GrpcCalls({"publisher.url": url, "metadata": bad})
            with pytest.raises(MessageRefusedError, match="cannot be sent"):
                await calls.send(row)
            await calls.close()


async def told(call: Call) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    """How many messages came, and who sent them; more than two are refused."""
    count = len([each async for each in call.messages])
    if count > 2:
        raise CallRefusedError("OUT_OF_RANGE", f"{count} messages", hint="two will do")
    answer = Event(payload=json.dumps(count), headers={"by": call.metadata.get("by", "")})
    return answer.SerializeToString(), (("x-path", call.path),)


def port_of(number: int, tls: TlsFiles | None = None) -> GrpcPort:
    """A port that serves the default service."""
    known = (PROCESS, CONSUME)
    return GrpcPort(
        ("127.0.0.1", number), told, known.__contains__,
        tls=tls, max_message_bytes=1_000, max_calls=10,
    )  # fmt: skip


async def test_a_port_takes_calls_of_one_message_and_of_many() -> None:
    """It answers in the same way; refuses with the status and the hint; knows no other method."""
    number = free_port()
    port = port_of(number)
    await port.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{number}") as channel:
        call = caller(channel, PROCESS)(Event(payload="x"), metadata=(("by", "me"),))
        assert Event.FromString(await call) == Event(payload="1", headers={"by": "me"})
        assert ("x-path", PROCESS) in [tuple(each) for each in await call.trailing_metadata()]
        many = caller(channel, CONSUME, streams=True)
        assert Event.FromString(await many(iter([Event()] * 2))).payload == "2"
        for made, status, said in (
            (many(iter([Event()] * 3)), "OUT_OF_RANGE", "3 messages (hint: two will do)"),
            (caller(channel, "/x.Y/z")(Event()), "UNIMPLEMENTED", ""),
            (caller(channel, PROCESS)(Event(payload="x" * 2_000)), "RESOURCE_EXHAUSTED", ""),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await made
            assert caught.value.code().name == status
            assert said in str(caught.value.details())
    await port.stop()
    with pytest.raises(OSError, match="cannot listen on"):
        await GrpcPort(
            ("192.0.2.1", number), told, bool, tls=None, max_message_bytes=1, max_calls=1
        ).start()


async def certificate_at(port: int, files: TlsFiles) -> bytes:
    """What is shown to a new connection."""
    context = calling(files)
    assert context is not None
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    assert isinstance(found, bytes)
    return found


async def test_both_ends_show_certificates_and_new_ones_when_the_files_change(
    tmp_path: Path,
) -> None:
    """Calls to a port over TLS: who shows none, or trusts another authority, gets no answer."""
    authority, other = Authority(tmp_path / "a"), Authority(tmp_path / "b")
    serves, calls = authority.give("server"), authority.give("client")
    number = free_port()
    port = port_of(number, authority.files(serves))
    await port.start()
    files = authority.files(calls)
    secure = {
        "publisher.url": f"grpc://localhost:{number}/EventService/process",
        "enable.ssl": "true",
        "tls.ca.file": files.authority,
    }
    shown = {"tls.certificate.file": files.certificate, "tls.key.file": files.key}
    good = GrpcCalls({**secure, **shown})
    assert (await good.send(message(1))).body == b"1"
    stranger = GrpcCalls(secure)
    with pytest.raises(UnavailableError):
        await stranger.send(message(1))
    await stranger.close()
    fooled = GrpcCalls({**secure, **shown, "tls.ca.file": str(other.file)})
    with pytest.raises(UnavailableError):
        await fooled.send(message(1))
    await fooled.close()
    absent = GrpcCalls({**secure, "tls.ca.file": str(tmp_path / "none.pem")})
    with pytest.raises(OSError, match=r"none\.pem"):
        await absent.send(message(1))
    before = await certificate_at(number, files)
    assert before == await certificate_at(number, files)
    authority.give("server")
    assert before != await certificate_at(number, files)
    authority.give("client")
    under_way = [good.send(message(number)) for number in range(8)]
    assert {called.body for called in await asyncio.gather(*under_way)} == {b"1"}
    fresh = GrpcCalls({**secure, **shown})
    assert (await fresh.send(message(2))).body == b"1"
    for each in (good, fresh):
        await each.close()
    await port.stop()


async def test_a_key_with_a_password_is_no_key_for_grpc(tmp_path: Path) -> None:
    """It is said, as gRPC's library says nothing of use."""
    pair = Authority(tmp_path).give("server")
    files = TlsFiles("", str(pair.certificate), str(pair.key), password="secret")
    with pytest.raises(OSError, match="without one"):
        await port_of(free_port(), files).start()
