"""WebSocket, mail, HL7 and Prometheus against real servers of theirs in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from email import message_from_bytes
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from lockstep.clock import SystemClock
from lockstep.connectors.email.sink import EmailSink
from lockstep.connectors.hl7.mllp import Hl7Sink, Hl7Source, block, read_block
from lockstep.connectors.prometheus.scrape import PrometheusSource
from lockstep.connectors.prometheus.serve import PrometheusSink
from lockstep.connectors.websocket.client import WebSocketSink, WebSocketSource
from lockstep.mapping.messages import CONTENT_TYPES
from lockstep.sinks import MessageRefusedError
from lockstep.sources import Place
from lockstep.testing.connectors import message, play_sink, play_source
from tests.contract.connectors.brokers import free_port

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())


class SocketServer:
    """Keeps what it is sent, and sends to whoever is connected."""

    def __init__(self) -> None:
        self.port = free_port()
        self.got: list[bytes] = []
        self.kinds: list[str] = []
        self._open: list[web.WebSocketResponse] = []
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/abc", self._accept)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()

    async def stop(self) -> None:
        await asyncio.sleep(0.05)
        for each in self._open:
            await each.close()
        self._open.clear()
        if self._runner is not None:
            await self._runner.cleanup()

    async def send(self, payload: bytes) -> None:
        await self._open[-1].send_bytes(payload)

    async def received(self) -> Sequence[bytes]:
        return self.got

    async def _accept(self, request: web.Request) -> web.WebSocketResponse:
        response = web.WebSocketResponse()
        await response.prepare(request)
        self._open.append(response)
        async for one in response:
            self.kinds.append(one.type.name)
            self.got.append(one.data.encode() if isinstance(one.data, str) else one.data)
        return response


async def test_websocket_goes_on_with_a_server_that_comes_back() -> None:
    """Both ways in order and never twice; what was under way when a side died may be lost."""
    server = SocketServer()
    options = {"url": f"ws://127.0.0.1:{server.port}/abc"}
    sent = await play_sink(lambda: WebSocketSink(options), server)
    await server.stop()
    assert (sent.duplicated, sent.reordered, sent.lost <= 1) == (0, 0, True)
    taken = await play_source(lambda: WebSocketSource(options, PLACE), server)
    await server.stop()
    assert (taken.lost, taken.duplicated, taken.reordered) == (0, 0, 0)


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("json", "TEXT"), ("xml", "TEXT"), ("csv", "TEXT"), ("keyvalue", "TEXT"),
        ("cloudevents", "TEXT"), ("text", "TEXT"),
        ("protobuf", "BINARY"), ("avro", "BINARY"), ("msgpack", "BINARY"),
        ("binarypassthrough", "BINARY"), ("binary", "BINARY"),
    ],
)  # fmt: skip
async def test_all_websocket_messages_of_a_form_are_of_one_kind(form: str, kind: str) -> None:
    """Also those of a binary form that happen to be a text, as a number below 128 does."""
    server = SocketServer()
    await server.start()
    sink = WebSocketSink({"url": f"ws://127.0.0.1:{server.port}/abc"})
    payloads = [b"\x08\x05", "ä".encode()] + ([b"\x08\xc8\x01"] if kind == "BINARY" else [])
    content_type = CONTENT_TYPES.get(form, "text/plain")
    for number, payload in enumerate(payloads):
        await sink.send(message(number, content_type, payload))
    async with asyncio.timeout(30):
        while len(server.got) < len(payloads):
            await asyncio.sleep(0.01)
    assert server.got == payloads
    assert set(server.kinds) == {kind}
    await sink.close()
    await server.stop()


async def test_what_had_come_by_websocket_is_taken_when_the_source_closes() -> None:
    """Nobody gives it again: a receiver that ends in good order, and an app that is deployed anew,
    lose none of it."""
    server = SocketServer()
    await server.start()
    source = WebSocketSource({"url": f"ws://127.0.0.1:{server.port}/abc"}, PLACE)
    assert list(await source.read(max_messages=1, wait_ms=10)) == []
    for number in range(20):
        await server.send(b"%d" % number)
    found = list(await source.read(max_messages=5, wait_ms=5_000))
    assert len(found) == 5
    found += await source.close()
    assert [each.payload for each in found] == [b"%d" % number for number in range(20)]
    assert list(await source.close()) == []
    await server.stop()


class Clinic:
    """An HL7 server that acknowledges, and a client that waits for acknowledgements."""

    def __init__(self) -> None:
        self.port = free_port()
        self.got: list[bytes] = []
        self.answers = b"AA"
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def received(self) -> Sequence[bytes]:
        return self.got

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                self.got.append(await read_block(reader))
                writer.write(block(b"MSH|^~\\&|B|B|A|A|||ACK|1|P|2.3\rMSA|%s|1\r" % self.answers))


class Sender:
    """Sends HL7 and does not wait; what was not acknowledged when it broke it sends again."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._pending: list[bytes] = []
        self._streams: Any = None

    async def start(self) -> None:
        self._streams = None

    async def stop(self) -> None:
        self._streams[1].transport.abort()

    async def send(self, payload: bytes) -> None:
        self._pending.append(payload)
        for _ in range(100):
            try:
                await self._all()
            except OSError:
                self._streams = None
                await asyncio.sleep(0.02)
            else:
                return

    async def _all(self) -> None:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        for payload in self._pending:
            self._streams[1].write(block(payload))
        await self._streams[1].drain()
        self._pending.clear()


def hl7(number: int) -> bytes:
    """An admission."""
    return b"MSH|^~\\&|A|A|B|B|20200101||ADT^A01|%d|P|2.3\rPID|1||%d" % (number, number)


async def test_hl7_is_delivered_when_it_is_acknowledged() -> None:
    """At least once and in order; what the receiver rejects is refused for good."""
    clinic = Clinic()
    options = {"uri": f"127.0.0.1:{clinic.port}", "hl7.encoding": "er7"}
    tally = await play_sink(
        lambda: Hl7Sink(options), clinic, of=lambda n: message(n, payload=hl7(n))
    )
    assert (tally.lost, tally.reordered) == (0, 0)
    clinic.answers = b"AR"
    sink = Hl7Sink(options)
    with pytest.raises(MessageRefusedError, match="rejects"):
        await sink.send(message(1, payload=hl7(1)))
    with pytest.raises(MessageRefusedError, match="MSH"):
        await sink.send(message(1, payload=b"{}"))
    await sink.close()
    await clinic.stop()


async def test_hl7_is_acknowledged_when_it_is_taken_and_known_by_its_control_id() -> None:
    """The answer names the control id; a message has its sender's identity."""
    port = free_port()
    source = Hl7Source({"port": str(port)}, PLACE)
    assert await source.read(max_messages=1, wait_ms=1) == ()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(block(hl7(7)))
    (found,) = await source.read(max_messages=9, wait_ms=5_000)
    assert (found.payload, found.id) == (hl7(7), "A/A/7")
    await found.acknowledge()
    answer = (await read_block(reader)).decode().split("\r")
    assert answer[:2] == ["MSH|^~\\&|B|B|A|A|||ACK|7|P|2.3", "MSA|AA|7"]
    writer.write(block(b"no HL7"))
    assert await reader.read() == b""
    await source.close()
    taken = await play_source(lambda: Hl7Source({"port": str(port)}, PLACE), Sender(port), of=hl7)
    assert (taken.lost, taken.duplicated, taken.identified) == (0, 0, True)


class Mails:
    """An SMTP server."""

    def __init__(self) -> None:
        self.port = free_port()
        self.got: list[bytes] = []
        self.got_by: list[str] = []
        self.answers = {"nobody@example.org": "550 no such box"}
        self._controller: Any = None

    async def start(self) -> None:
        try:
            from aiosmtpd.controller import Controller
        except ImportError:
            pytest.skip("aiosmtpd is not installed")
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)
        await asyncio.to_thread(self._controller.start)

    async def stop(self) -> None:
        controller, self._controller = self._controller, None
        if controller is not None:
            await asyncio.to_thread(controller.stop)

    async def received(self) -> Sequence[bytes]:
        return [str(message_from_bytes(one).get_payload()).strip().encode() for one in self.got]

    async def handle_RCPT(self, _s: Any, _k: Any, envelope: Any, address: str, _o: Any) -> str:
        """There are addresses that get nothing, for ever or for now."""
        if address in self.answers:
            return self.answers[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        """Taken."""
        self.got.append(envelope.content)
        self.got_by += envelope.rcpt_tos
        return "250 taken"


async def test_mail_is_delivered_when_the_server_has_taken_it() -> None:
    """At least once in order, with the identity as Message-ID; unknown receivers are refused."""
    mails = Mails()
    options = {
        "address": "lockstep@example.org", "to": "a@example.org, b@example.org",
        "subject": "number {{n}}", "host": "127.0.0.1", "port": str(mails.port),
        "ssl.enable": "false", "auth": "false",
    }  # fmt: skip
    tally = await play_sink(lambda: EmailSink(options), mails)
    assert (tally.lost, tally.duplicated, tally.reordered) == (0, 0, 0)
    first = message_from_bytes(mails.got[0])
    assert first["Message-ID"] == "<Kit%2Fmain%2F0%2F0.0@lockstep>"
    assert (first["Subject"], first["To"]) == ("number 0", "a@example.org, b@example.org")
    sink = EmailSink({**options, "to": "nobody@example.org"})
    with pytest.raises(MessageRefusedError, match="no such box"):
        await sink.send(message(1))
    await sink.close()
    await mails.stop()


def mailing(mails: Mails, to: str) -> EmailSink:
    """A sink of mails to these addresses."""
    return EmailSink({
        "address": "lockstep@example.org", "to": to, "subject": "number {{n}}",
        "host": "127.0.0.1", "port": str(mails.port), "ssl.enable": "false", "auth": "false",
    })  # fmt: skip


async def test_only_who_has_not_got_a_mail_is_tried_again() -> None:
    """Some servers take mails of strangers a while later; the others have got it, and get it once,
    also when the connection ends in between. Who gets nothing for ever is named then."""
    mails = Mails()
    mails.answers["late@example.org"] = "451 try again"
    await mails.start()
    sink = mailing(mails, "a@example.org, late@example.org, nobody@example.org, b@example.org")
    for _ in range(2):
        with pytest.raises(OSError, match=r"late@example\.org: 451 .*try again"):
            await sink.send(message(1))
    assert mails.got_by == ["a@example.org", "b@example.org"]
    await mails.stop()
    with pytest.raises(OSError, match="the mail server at"):
        await sink.send(message(1))
    await mails.start()
    del mails.answers["late@example.org"]
    with pytest.raises(MessageRefusedError, match=r"nobody@example\.org: 550 no such box") as told:
        await sink.send(message(1))
    assert str(told.value).endswith("all others have got it")
    assert "late" not in str(told.value)
    assert mails.got_by == ["a@example.org", "b@example.org", "late@example.org"]
    del mails.answers["nobody@example.org"]
    await sink.send(message(1))  # out of the error store
    assert mails.got_by[3:] == ["nobody@example.org"]
    await sink.send(message(2))
    assert len(mails.got_by) == 8, "another mail goes to all"
    await sink.close()
    await mails.stop()


async def test_nobody_has_a_mail_when_the_server_ends_the_connection_at_a_receiver() -> None:
    """It had said yes to the first one, and was not asked for the last one. An address that is
    there twice gets one mail."""
    mails = Mails()
    mails.answers["busy@example.org"] = "421 too many at once"
    await mails.start()
    sink = mailing(mails, "a@example.org, busy@example.org, b@example.org, a@example.org")
    with pytest.raises(OSError, match="421 too many at once"):
        await sink.send(message(1))
    assert mails.got_by == []
    del mails.answers["busy@example.org"]
    await sink.send(message(1))
    assert mails.got_by == ["a@example.org", "busy@example.org", "b@example.org"]
    await sink.close()
    await mails.stop()


async def test_who_has_a_mail_is_known_of_some_mails_and_of_one_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The oldest is forgotten: it may come again to all. A log that is begun anew has other mails
    under the same identities."""
    monkeypatch.setattr("lockstep.connectors.email.sink.MAX_KEPT", 2)
    mails = Mails()
    await mails.start()
    sink = mailing(mails, "a@example.org, nobody@example.org")
    for number in (1, 2, 3, 3, 1):
        with pytest.raises(MessageRefusedError):
            await sink.send(message(number))
    assert len(mails.got) == 4
    sink.begin_again()
    with pytest.raises(MessageRefusedError):
        await sink.send(message(1))
    assert len(mails.got) == 5
    await sink.close()
    await mails.stop()


async def test_what_prometheus_sinks_serve_prometheus_sources_read() -> None:
    """Counters by label; a source gives a message per sample, and says when nobody serves."""
    url = f"http://127.0.0.1:{free_port()}"
    sink = PrometheusSink(
        {"server.url": url, "metric.type": "counter", "value.attribute": "n", "stream": "Power"}
    )
    for number in (1, 2, 3):
        await sink.send(message(number))
    with pytest.raises(MessageRefusedError, match="no number"):
        await PrometheusSink({"server.url": url, "metric.type": "counter", "stream": "Power"}).send(
            message(1)
        )
    source = PrometheusSource(
        {"target.url": f"{url}/metrics", "metric.name": "Power", "metric.type": "counter"}, PLACE
    )
    (found,) = await source.read(max_messages=9, wait_ms=1_000)
    assert json.loads(found.payload) == {
        "metric_name": "Power_total", "metric_type": "counter", "help": "Power",
        "subtype": "total", "value": 6.0,
    }  # fmt: skip
    assert type(json.loads(found.payload)["value"]) is int, "an attribute of ints takes it, too"
    await source.close()
    await sink.close()
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(url)
