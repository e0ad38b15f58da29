"""The syslog source and sink against rsyslog, `logger` and Python's own handler."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import logging.handlers
import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.syslog.framing import Framing
from lockstep.connectors.syslog.sink import SyslogSink
from lockstep.connectors.syslog.source import SyslogSource
from lockstep.siddhiql.catalogue import Delivery
from lockstep.sinks import MessageRefusedError
from lockstep.sources import Place, Received
from lockstep.testing.connectors import keeps_sink, keeps_source, message, promise_of
from lockstep.tls import serving
from tests.contract.connectors.brokers import free_port, reachable
from tests.contract.connectors.rsyslog import RsyslogSender, RsyslogServer, Taken
from tests.needed import lacking
from tests.tls.certificates import Authority

HOST = "127.0.0.1"
PLACE = Place("App", "In", 0, HOST, SystemClock())
SOURCE, SINK = promise_of("source", "syslog"), promise_of("sink", "syslog")
WAIT_MS = 20_000
PAUSE_S = 0.05
MEAN = '[room@32473 name="{{n}}"]'


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RsyslogServer]:
    """Not started yet."""
    made = RsyslogServer(tmp_path / "server")
    yield made
    await made.stop()


async def taken(source: SyslogSource, count: int) -> list[Received]:
    """So many."""
    found: list[Received] = []
    while len(found) < count:
        some = await source.read(max_messages=count - len(found), wait_ms=WAIT_MS)
        assert some, f"{len(found)} of {count} came"
        found += some
    return found


async def there(server: RsyslogServer, count: int) -> list[Taken]:
    """When it has so many."""
    async with asyncio.timeout(WAIT_MS / 1000):
        while len(found := server.taken()) < count:
            await asyncio.sleep(PAUSE_S)
    return found


def opened(**options: str) -> SyslogSource:
    """At a port of its own, `options["port"]`."""
    return SyslogSource({name.replace("_", "."): value for name, value in options.items()}, PLACE)


@pytest.mark.parametrize("framing", [Framing.COUNTED, Framing.LINES])
async def test_the_sink_keeps_its_promise(server: RsyslogServer, framing: Framing) -> None:
    """Over rsyslog's end, and with a text that cannot be sent; nothing comes twice."""
    assert SINK.delivery is Delivery.AT_MOST_ONCE
    options = {"url": f"tcp://{HOST}:{server.port}", "framing": framing, "app.name": "a{{n}}"}
    poison = replace(message(7), fill=lambda text: text.replace("a{{n}}", "a b"))
    tally = await keeps_sink(SINK, lambda: SyslogSink(options), server, poison=poison)
    assert (tally.duplicated, tally.reordered, tally.refused) == (0, 0, 1)
    assert tally.lost <= 21, "what rsyslog had not read when it ended, and the next one"


async def test_the_source_keeps_its_promise(tmp_path: Path) -> None:
    """Over rsyslog's end; what was read and not in the log when it dies is lost."""
    assert SOURCE.delivery is Delivery.AT_MOST_ONCE
    port = free_port()
    far = RsyslogSender(tmp_path / "sender", port)
    tally = await keeps_source(SOURCE, lambda: opened(transport="tcp", port=str(port)), far)
    await far.stop()
    assert (tally.lost, tally.duplicated, tally.died, tally.reordered) == (0, 0, 20, 0)


async def test_rsyslog_reads_what_the_sink_writes(server: RsyslogServer) -> None:
    """Both forms, over TCP and UDP; structured data is filled and escaped."""
    await server.start()
    named = {"host.name": "h{{n}}", "app.name": "app", "proc.id": "9", "facility": "local3"}
    newer = {
        **named, "severity": "{{n}}", "msg.id": "M{{n}}", "structured.data": MEAN,
        "identity.sd.id": "lockstep@32473",
    }  # fmt: skip
    older = {**named, "severity": "warn", "format": "rfc3164"}
    sent = message(5)
    tricky = replace(sent, fill=lambda text: text.replace("{{n}}", '5"]\\'))
    for scheme in ("tcp", "udp"):
        url = {"url": f"{scheme}://{HOST}:{server.port}"}
        for options in (newer, older):
            sink = SyslogSink({**url, **options})
            await sink.send(sent)
            await sink.close()
        sink = SyslogSink({**url, "host.name": "h5", "structured.data": MEAN})
        await sink.send(tricky)
        await sink.close()
    found = await there(server, 6)
    first = Taken(
        19 * 8 + 5, "1970-01-01T00:00:01.005Z", "h5", "app", "9", "M5",
        f'[room@32473 name="5"][lockstep@32473 id="{sent.id}"]', '{"n":5}',
    )  # fmt: skip
    second = replace(first, pri=19 * 8 + 4, msgid="-", structured="-", text=' {"n":5}')
    third = r'[room@32473 name="5\"\]\\"]'
    assert found.count(first) == 2
    assert [replace(one, timestamp=first.timestamp) for one in found].count(second) == 2
    assert [one.structured for one in found].count(third) == 2


async def test_what_cannot_be_a_message_is_refused(server: RsyslogServer) -> None:
    """It is a dead letter, and the next one arrives."""
    await server.start()
    url = {"url": f"tcp://{HOST}:{server.port}"}
    bad: Sequence[dict[str, str]] = (
        {"severity": "{{n}}0"}, {"app.name": "a b"}, {"msg.id": "x" * 33},
        {"max.message.bytes": "20"}, {"host.name": "ä"},
    )  # fmt: skip
    for options in bad:
        sink = SyslogSink({**url, **options})
        with pytest.raises(MessageRefusedError, match="no message of syslog"):
            await sink.send(message(1))
        await sink.close()
    lines = SyslogSink({**url, "framing": "non.transparent"})
    with pytest.raises(MessageRefusedError, match="line feed"):
        await lines.send(message(1, payload=b"a\nb"))
    await lines.send(message(2))
    assert [one.text for one in await there(server, 1)] == ['{"n":2}']
    await lines.close()


def logger() -> str:
    """The command of util-linux."""
    found = shutil.which("logger")
    if found is None:
        lacking("no command `logger`")
    return found


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("form", ["--rfc5424", "--rfc3164"])
@pytest.mark.parametrize("counted", [False, True])
async def test_the_source_reads_what_logger_writes(
    transport: str, form: str, counted: bool
) -> None:
    """Both forms, all framings; the header's fields are properties."""
    port = free_port()
    source = opened(transport=transport, port=str(port), identity_sd_id="kit@1")
    assert list(await source.read(max_messages=1, wait_ms=1)) == []
    words = [
        logger(), "-n", HOST, "-P", str(port), "-d" if transport == "udp" else "-T", form,
        "-p", "local3.warning", "-t", "kit", "--id=77",
    ]  # fmt: skip
    if counted and transport == "tcp":
        words.append("--octet-count")
    if form == "--rfc5424":
        words += ["--msgid", "M1", "--sd-id", "kit@1", "--sd-param", 'id="i 7"']
    for text in ('{"n": 1}', "two: 2"):
        process = await asyncio.create_subprocess_exec(*words, "--", text)
        assert await process.wait() == 0
    found = await taken(source, 2)
    assert [one.payload for one in found] == [b'{"n": 1}', b"two: 2"]
    for one in found:
        wanted = {
            "facility": "19", "severity": "4", "facility.name": "local3", "app": "kit",
            "severity.name": "warning", "sender": HOST, "truncated": "false", "procid": "77",
            "host": socket.gethostname().partition(".")[0],
        }  # fmt: skip
        if form == "--rfc5424":
            wanted |= {"msgid": "M1", "sd.kit@1.id": "i 7"}
            assert one.id == "i 7"
        host = {"host": one.properties["host"].partition(".")[0]}
        assert wanted.items() <= {**one.properties, **host}.items()
    await source.close()


@contextlib.contextmanager
def handler(port: int, kind: socket.SocketKind) -> Iterator[logging.Logger]:
    """Python's own handler for syslog."""
    made = logging.handlers.SysLogHandler((HOST, port), "daemon", kind)
    log = logging.Logger("kit")
    log.addHandler(made)
    try:
        yield log
    finally:
        made.close()


@pytest.mark.parametrize(
    ("transport", "kind"), [("udp", socket.SOCK_DGRAM), ("tcp", socket.SOCK_STREAM)]
)
async def test_the_source_reads_what_pythons_handler_writes(
    transport: str, kind: socket.SocketKind
) -> None:
    """A priority and a text that ends with a zero byte."""
    port = free_port()
    source = opened(transport=transport, port=str(port))
    assert list(await source.read(max_messages=1, wait_ms=1)) == []

    def say() -> None:
        with handler(port, kind) as log:
            log.error('{"n": 1}')
            log.info('{"n": 2}')

    await asyncio.to_thread(say)
    found = await taken(source, 2)
    assert [one.payload for one in found] == [b'{"n": 1}', b'{"n": 2}']
    assert [one.properties["severity.name"] for one in found] == ["err", "info"]
    assert found[0].properties["facility.name"] == "daemon"
    await source.close()


async def test_messages_over_tls_from_who_has_a_certificate(tmp_path: Path) -> None:
    """rsyslog sends and takes over TLS; who shows no certificate gets nothing through."""
    authority = Authority(tmp_path / "tls")
    port = free_port()
    mine = serving(authority.files(authority.give("receiver")))
    source = SyslogSource({"transport": "tls", "port": str(port)}, replace(PLACE, tls=mine))
    assert list(await source.read(max_messages=1, wait_ms=1)) == []
    files = authority.files(authority.give("sender"))
    far = RsyslogSender(tmp_path / "sender", port, tls=files)
    await far.start()
    await far.send(b'{"n": 1}')
    (found,) = await taken(source, 1)
    assert (found.payload, found.properties["app"]) == (b'{"n": 1}', "kit")
    await far.stop()
    trusting = ssl.create_default_context(cafile=str(authority.file))
    reader, writer = await asyncio.open_connection(HOST, port, ssl=trusting)
    with contextlib.suppress(OSError):
        writer.write(b"1 a")
        assert await reader.read() == b""
    writer.close()
    assert list(await source.read(max_messages=1, wait_ms=100)) == []
    await source.close()

    server = RsyslogServer(tmp_path / "server", authority.files(authority.give("server")))
    await server.start()
    shown = authority.give("client")
    tls = {
        "tls.ca.file": str(authority.file), "tls.certificate.file": str(shown.certificate),
        "tls.key.file": str(shown.key),
    }  # fmt: skip
    sink = SyslogSink({"url": f"tls://{HOST}:{server.port}", **tls})
    await sink.send(message(1))
    assert [one.text for one in await there(server, 1)] == ['{"n":1}']
    await sink.close()
    stranger = SyslogSink({"url": f"tls://{HOST}:{server.port}"})
    with pytest.raises(OSError, match="certificate verify failed"):
        await stranger.send(message(1))
    await stranger.close()
    await server.stop()


async def test_a_source_over_tls_needs_the_settings_certificate() -> None:
    """It says so, and takes nothing plainly."""
    source = opened(transport="tls", port=str(free_port()))
    with pytest.raises(OSError, match=r"receiver\.sources_tls"):
        await source.read(max_messages=1, wait_ms=1)
    await source.close()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
async def test_a_port_that_is_taken_is_told(transport: str) -> None:
    """By an error, which is tried again."""
    port = str(free_port())
    first, second = (opened(transport=transport, port=port) for _ in range(2))
    await first.read(max_messages=1, wait_ms=1)
    with pytest.raises(OSError, match="in use"):
        await second.read(max_messages=1, wait_ms=1)
    await first.close()
    assert list(await second.read(max_messages=1, wait_ms=1)) == []
    await second.close()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
async def test_long_messages_are_cut_and_say_so(transport: str) -> None:
    """To `max.message.bytes`; the next one is whole. What has come is given when it is closed."""
    port = free_port()
    source = opened(transport=transport, port=str(port), max_message_bytes="20")
    await source.read(max_messages=1, wait_ms=1)
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    end = b"" if transport == "udp" else b"\n"
    with socket.socket(socket.AF_INET, kind) as far:
        far.connect((HOST, port))
        for text in (b"<13>" + b"x" * 50, b"<13>" + b"y" * 16):
            far.sendall(text + end)
        found = await taken(source, 2)
        assert [(one.payload, one.properties["truncated"]) for one in found] == [
            (b"x" * 16, "true"), (b"y" * 16, "false"),
        ]  # fmt: skip
        far.sendall(b"<13>z" + end)
        if transport == "tcp":
            await asyncio.sleep(0.2)  # it is read as it comes
    assert [one.payload for one in await source.close()] == [b"z"]
    assert list(await source.close()) == []


async def test_connections_over_the_limit_are_hung_up() -> None:
    """Who is there already goes on; another one gets in when one of them has gone."""
    port = free_port()
    source = opened(transport="tcp", port=str(port), max_connections="1")
    await source.read(max_messages=1, wait_ms=1)
    _, first = await asyncio.open_connection(HOST, port)
    first.write(b"<13>a\n")
    assert [one.payload for one in await taken(source, 1)] == [b"a"]
    reader, second = await asyncio.open_connection(HOST, port)
    assert await reader.read() == b""
    second.close()
    first.write(b"<13>b\n")
    assert [one.payload for one in await taken(source, 1)] == [b"b"]
    first.close()
    await first.wait_closed()
    async with asyncio.timeout(WAIT_MS / 1000):
        while True:
            reader, third = await asyncio.open_connection(HOST, port)
            third.write(b"<13>c\n")
            if found := await source.read(max_messages=1, wait_ms=200):
                break
    assert [one.payload for one in found] == [b"c"]
    third.close()
    await source.close()


async def test_a_stream_that_makes_no_sense_is_hung_up(caplog: pytest.LogCaptureFixture) -> None:
    """Behind what made sense; it is logged."""
    port = free_port()
    source = opened(transport="tcp", port=str(port), framing="octet.counting")
    await source.read(max_messages=1, wait_ms=1)
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(b"5 <13>a<13>b\n")
    assert await reader.read() == b""
    assert [one.payload for one in await taken(source, 1)] == [b"a"]
    assert "begins with no count" in caplog.text
    writer.close()
    await source.close()


async def test_a_slow_log_makes_a_sender_over_tcp_wait() -> None:
    """Nothing of what it has sent is lost then."""
    port, count = free_port(), 40_000
    source = opened(transport="tcp", port=str(port))
    await source.read(max_messages=1, wait_ms=1)
    _, writer = await asyncio.open_connection(HOST, port)
    text = b"x" * 500
    for number in range(count):
        writer.write(b"<13>%d %b\n" % (number, text))
    sending = asyncio.ensure_future(writer.drain())
    done, _ = await asyncio.wait([sending], timeout=1)
    assert not done, "it waits"
    found: list[int] = []
    while len(found) < count:
        some = await source.read(max_messages=1_000, wait_ms=WAIT_MS)
        found += [int(one.payload.split(b" ")[0]) for one in some]
    assert found == list(range(count))
    await sending
    writer.close()
    await source.close()


async def test_what_the_system_drops_over_udp_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It has room for some while nobody reads."""
    port, count = free_port(), 500
    source = opened(transport="udp", port=str(port), receive_buffer_bytes="4096")
    await source.read(max_messages=1, wait_ms=1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
        far.connect((HOST, port))
        for number in range(count):
            far.send(b"<13>%d" % number)
        found = list(await source.read(max_messages=count, wait_ms=1))
        assert 0 < len(found) < count
        assert [one.payload for one in found] == [b"%d" % number for number in range(len(found))]
        far.send(b"<13>last")
        assert [one.payload for one in await taken(source, 1)] == [b"last"]
    dropped = count - len(found)
    assert f"the system dropped {dropped} messages of syslog at UDP port {port}" in caplog.text
    await source.close()


async def _sent_often(sink: SyslogSink) -> None:
    for _ in range(50):
        await sink.send(message(1))


async def test_a_server_that_is_away_is_told(tmp_path: Path) -> None:
    """Over TCP at once, over UDP with the next message: the first one is lost."""
    port = free_port()
    sink = SyslogSink({"url": f"tcp://{HOST}:{port}"})
    with pytest.raises(ConnectionRefusedError):
        await sink.send(message(1))
    datagrams = SyslogSink({"url": f"udp://{HOST}:{port}"})
    with pytest.raises(ConnectionRefusedError):
        await _sent_often(datagrams)
    server = RsyslogServer(tmp_path)
    await server.start()
    await reachable(server.port)
    for each in (sink, datagrams):
        await each.close()
    again = SyslogSink({"url": f"udp://{HOST}:{server.port}"})
    await again.send(message(2))
    assert [one.text for one in await there(server, 1)] == ['{"n":2}']
    await again.close()
    await server.stop()
