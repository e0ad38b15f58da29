"""@source and @sink of type tcp against each other's wire, and what that wire cannot promise."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.tcp.frames import HEAD_BYTES, FrameError, body_bytes, frame, parsed
from lockstep.connectors.tcp.sink import TcpSink
from lockstep.connectors.tcp.source import TcpSource
from lockstep.sources import Place
from lockstep.testing.connectors import keeps_sink, keeps_source, promise_of
from tests.contract.connectors.brokers import free_port

LIMIT_BYTES = 1_000
SINK, SOURCE = promise_of("sink", "tcp"), promise_of("source", "tcp")


class FrameServer:
    """Reads frames; ended at once, with all connections."""

    def __init__(self) -> None:
        self.port = free_port()
        self.got: list[tuple[str, bytes]] = []
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def stop(self) -> None:
        await asyncio.sleep(0.05)  # what has been sent is read: only what comes later finds nobody
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def received(self) -> Sequence[bytes]:
        return [message for _, message in self.got]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                length = body_bytes(await reader.readexactly(HEAD_BYTES), LIMIT_BYTES)
                self.got.append(parsed(await reader.readexactly(length)))


class FrameClient:
    """Sends frames to a context, over a connection that `stop` breaks."""

    def __init__(self, port: int, context: str) -> None:
        self._port, self._context = port, context
        self._writer: asyncio.StreamWriter | None = None

    async def start(self) -> None:
        self._writer = None

    async def stop(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    async def send(self, payload: bytes) -> None:
        if self._writer is None:
            _, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(frame(self._context, payload))
        await self._writer.drain()


async def test_a_sink_sends_in_order_and_goes_on_with_a_server_that_comes_back() -> None:
    """The protocol has no answer: nothing is sent twice."""
    server = FrameServer()
    options = {"url": f"tcp://127.0.0.1:{server.port}/alerts"}
    tally = await keeps_sink(SINK, lambda: TcpSink(options), server)
    await server.stop()
    assert (tally.duplicated, tally.reordered) == (0, 0)
    assert tally.lost <= 1, "the one that was written before the connection was seen to be dead"
    assert {context for context, _ in server.got} == {"alerts"}


async def test_a_source_takes_frames_in_order_over_broken_connections() -> None:
    """What was taken and not yet in the log when its receiver dies is lost: at most once."""
    port = free_port()
    place = Place("App", "In", 0, "127.0.0.1", SystemClock())
    tally = await keeps_source(
        SOURCE,
        lambda: TcpSource({"context": "readings", "port": str(port)}, place),
        FrameClient(port, "readings"),
    )
    assert (tally.lost, tally.duplicated, tally.reordered) == (0, 0, 0)
    assert not tally.identified


async def test_sources_share_a_port_by_context() -> None:
    """Each gets its own; a frame for nobody ends the connection, so the sender learns it."""
    port = free_port()
    one, other = (
        TcpSource({"port": str(port)}, Place("App", stream, 0, "127.0.0.1", SystemClock()))
        for stream in ("A", "B")
    )
    assert await one.read(max_messages=1, wait_ms=1) == ()
    assert await other.read(max_messages=1, wait_ms=1) == ()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame("App/B", b"b") + frame("App/A", b"a") + frame("App/C", b"c"))
    assert [each.payload for each in await one.read(max_messages=9, wait_ms=5_000)] == [b"a"]
    assert [each.payload for each in await other.read(max_messages=9, wait_ms=5_000)] == [b"b"]
    assert await reader.read() == b""
    await one.close()
    await other.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_sender_that_waits_learns_that_its_source_has_ended() -> None:
    """Paused, or deployed anew, while another source of the port goes on: the sender's message
    waits for room in an inbox that nobody reads any more."""
    port = free_port()
    one, other = (
        TcpSource({"port": str(port)}, Place("App", stream, 0, "127.0.0.1", SystemClock()))
        for stream in ("A", "B")
    )
    for source in (one, other):
        assert await source.read(max_messages=1, wait_ms=1) == ()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send() -> None:
        while True:
            writer.write(frame("App/A", b"x" * 1_000))
            await writer.drain()

    sending = asyncio.ensure_future(send())
    sent_before_the_inbox_is_full = await one.read(max_messages=1, wait_ms=5_000)
    await asyncio.sleep(0.5)
    assert not sending.done()
    left = await one.close()
    async with asyncio.timeout(1):
        with pytest.raises(ConnectionError):
            await sending
    assert (len(sent_before_the_inbox_is_full), len(left)) == (1, 1_024)
    with contextlib.suppress(ConnectionError):
        assert await reader.read() == b""
    again = TcpSource({"port": str(port)}, Place("App", "A", 0, "127.0.0.1", SystemClock()))
    assert await again.read(max_messages=1, wait_ms=1) == ()
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame("App/A", b"a"))
    assert [each.payload for each in await again.read(max_messages=9, wait_ms=5_000)] == [b"a"]
    writer.close()
    await again.close()
    await other.close()


@pytest.mark.parametrize("data", [b"\x01\0\0\0\x04", b"\x02\x7f\0\0\0", b"\x02\xff\xff\xff\xff"])
def test_what_is_no_frame_is_refused_before_it_is_read(data: bytes) -> None:
    """Another protocol, a length beyond the limit, a negative one."""
    with pytest.raises(FrameError):
        body_bytes(data, LIMIT_BYTES)
