"""WebSocket servers that answer, read nothing, hang up at once, or send too much."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from typing import Final

import pytest
from aiohttp import web

from lockstep.clock import SystemClock
from lockstep.connectors.websocket import connection
from lockstep.connectors.websocket.client import WebSocketSink, WebSocketSource
from lockstep.sources import Place, Received
from lockstep.testing.connectors import message

Talk = Callable[[web.WebSocketResponse], Awaitable[None]]
MESSAGES: Final = 12_000
PATIENCE_S: Final = 60.0


def place(stream: str) -> Place:
    """Of a stream of its own, as what outlives a connection is kept by stream."""
    return Place("App", stream, 0, "127.0.0.1", SystemClock())


@contextlib.asynccontextmanager
async def serving(talk: Talk) -> AsyncIterator[str]:
    """The address of a server that talks so with each client."""

    async def accept(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        with contextlib.suppress(ConnectionError):
            await talk(socket)
        return socket

    app = web.Application()
    app.router.add_get("/", accept)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"ws://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def test_a_server_that_answers_each_message_gets_them_all() -> None:
    """Nobody wants the answers, so they are read and dropped: unread, they would fill the buffers
    of both sides, and the server would read no more."""
    got: list[bytes] = []

    async def acknowledge(socket: web.WebSocketResponse) -> None:
        async for one in socket:
            got.append(one.data)
            await socket.send_str("received " + "y" * 1_500)

    async with serving(acknowledge) as url, asyncio.timeout(PATIENCE_S):
        sink = WebSocketSink({"url": url})
        for number in range(MESSAGES):
            await sink.send(message(number, "application/protobuf", b"%d" % number + b"z" * 1_500))
        while len(got) < MESSAGES:
            await asyncio.sleep(0.01)
        await sink.close()
    assert [int(one.rstrip(b"z")) for one in got] == list(range(MESSAGES))


async def test_what_was_sent_before_the_end_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink that is closed waits for a server that is behind."""
    monkeypatch.setattr(connection, "END_S", PATIENCE_S)  # machines that test are busy
    got: list[bytes] = []

    async def read_late(socket: web.WebSocketResponse) -> None:
        await asyncio.sleep(0.2)
        got.extend([one.data async for one in socket])

    async with serving(read_late) as url, asyncio.timeout(PATIENCE_S):
        sink = WebSocketSink({"url": url})
        for number in range(100):
            await sink.send(message(number, "application/protobuf", b"%d" % number + b"z" * 30_000))
        await sink.close()
        assert len(got) == 100


async def test_a_server_that_reads_no_more_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an error within the limit, so that the publisher tries again and tells why; and the
    connection is given back."""
    monkeypatch.setattr(connection, "SEND_S", 0.5)
    ended = asyncio.Event()

    async def read_nothing(socket: web.WebSocketResponse) -> None:
        await ended.wait()

    async with serving(read_nothing) as url:
        before = len(os.listdir("/proc/self/fd"))
        sink = WebSocketSink({"url": url})

        async def send() -> None:
            while True:
                await sink.send(message(1, "application/protobuf", b"x" * 1_000_000))

        with pytest.raises(OSError, match=r"has read nothing for 0\.5 s"):
            await asyncio.wait_for(send(), PATIENCE_S)
        begun_s = time.monotonic()
        await sink.close()
        assert time.monotonic() - begun_s < 5
        ended.set()
        async with asyncio.timeout(PATIENCE_S):
            while len(os.listdir("/proc/self/fd")) > before:
                await asyncio.sleep(0.01)


async def test_the_next_message_opens_another_connection_where_the_server_has_ended_one() -> None:
    """The end is seen when it comes, not with the message that is lost by it."""
    got: list[bytes] = []

    async def take_one(socket: web.WebSocketResponse) -> None:
        got.append((await socket.receive()).data)
        await socket.close()

    async with serving(take_one) as url, asyncio.timeout(PATIENCE_S):
        sink = WebSocketSink({"url": url})
        for number in range(3):
            await sink.send(message(number, "application/protobuf", b"%d" % number))
            await asyncio.sleep(0.2)
        await sink.close()
    assert got == [b"0", b"1", b"2"]


async def taken(url: str, stream: str, for_s: float) -> tuple[list[Received], list[str]]:
    """What sources take in that time, one made after the other as the receiver does; errors."""
    found: list[Received] = []
    errors: list[str] = []
    until_s = time.monotonic() + for_s
    while time.monotonic() < until_s:
        source = WebSocketSource({"url": url}, place(stream))
        try:
            while time.monotonic() < until_s:
                found += await source.read(max_messages=256, wait_ms=100)
        except OSError as error:
            errors.append(str(error))
        found += await source.close()
    return found, errors


async def test_a_server_that_hangs_up_at_once_is_asked_after_growing_pauses() -> None:
    """And what it said is told: a limit of connections would be overrun for ever."""
    connected: list[float] = []

    async def refuse(socket: web.WebSocketResponse) -> None:
        connected.append(time.monotonic())
        await socket.send_str("too many requests")
        await socket.close(code=1008, message=b"slow down")

    async with serving(refuse) as url:
        found, errors = await taken(url, "Refused", 3.5)
    pauses = [after - before for before, after in pairwise(connected)]
    assert len(pauses) >= 2
    assert all(pause_s > 0.15 * 2**number for number, pause_s in enumerate(pauses)), pauses
    assert len(found) == len(connected)
    assert all(each.endswith("has ended the connection: 1008 slow down") for each in errors)


async def test_a_message_that_is_too_large_is_refused() -> None:
    """It becomes a dead letter. The protocol has no way to read on behind it on that connection."""
    number = 0

    async def send(socket: web.WebSocketResponse) -> None:
        nonlocal number
        number += 1
        if number > 1:
            await socket.send_str("next")
        else:
            await socket.send_str("before")
            await socket.send_bytes(b"x" * (17 * 1024 * 1024))
        await socket.receive()

    async with serving(send) as url:
        found, errors = await taken(url, "Large", 3)
    assert [(each.payload, each.refused) for each in found] == [
        (b"before", ""), (b"", "the message has more than 16777216 bytes"), (b"next", ""),
    ]  # fmt: skip
    assert "more than 16777216 bytes" in errors[0]


async def test_a_source_that_is_not_read_keeps_its_connection_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server waits: an answer to a ping cannot be seen while what stands before it is not
    read, so its absence says nothing."""
    monkeypatch.setattr(connection, "PING_MS", 300, raising=False)
    monkeypatch.setattr(connection, "PONG_MS", 300, raising=False)
    sent, connections, enough = 0, 0, asyncio.Event()

    async def flood(socket: web.WebSocketResponse) -> None:
        nonlocal sent, connections
        connections += 1
        answering = asyncio.ensure_future(socket.receive())
        while not enough.is_set():
            await socket.send_str(f"{sent} " + "x" * 20_000)
            sent += 1
            await asyncio.sleep(0.001)
        await answering

    async with serving(flood) as url, asyncio.timeout(PATIENCE_S):
        source = WebSocketSource({"url": url}, place("Unread"))
        found = list(await source.read(max_messages=1, wait_ms=5_000))
        await asyncio.sleep(2)
        enough.set()
        while not sent or len(found) < sent:
            found += await source.read(max_messages=256, wait_ms=1_000)
        await source.close()
    assert [int(each.payload.split()[0]) for each in found] == list(range(sent))
    assert connections == 1


async def test_a_server_that_answers_no_ping_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be gone without a word. One that answers stays, however little it says."""
    monkeypatch.setattr(connection, "PING_MS", 200)
    monkeypatch.setattr(connection, "PONG_MS", 400)

    async def read_nothing(socket: web.WebSocketResponse) -> None:
        await asyncio.sleep(PATIENCE_S)

    async def read(socket: web.WebSocketResponse) -> None:
        await socket.receive()

    async def look(source: WebSocketSource) -> None:
        for _ in range(20):
            assert list(await source.read(max_messages=1, wait_ms=100)) == []

    async with serving(read_nothing) as url:
        source = WebSocketSource({"url": url}, place("Mute"))
        with pytest.raises(OSError, match="has not answered a ping for 400 ms"):
            await look(source)
        await source.close()
    async with serving(read) as url:
        source = WebSocketSource({"url": url}, place("Quiet"))
        await look(source)
        await source.close()


async def test_pings_of_the_server_do_not_keep_a_read_from_its_end() -> None:
    """Whoever reads looks in between whether it still may, however often the server pings."""
    pinged = 0

    async def ping(socket: web.WebSocketResponse) -> None:
        nonlocal pinged
        while True:
            await socket.ping()
            pinged += 1
            await asyncio.sleep(0.02)

    async with serving(ping) as url, asyncio.timeout(PATIENCE_S):
        source = WebSocketSource({"url": url}, place("Pings"))
        for _ in range(3):
            assert list(await source.read(max_messages=10, wait_ms=100)) == []
        await source.close()
    assert pinged > 3
