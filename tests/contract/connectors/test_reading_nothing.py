"""Sinks over TCP to servers that accept connections and read nothing, or read late."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

import pytest

from lockstep.connectors.syslog.sink import SyslogSink
from lockstep.connectors.tcp import sending
from lockstep.connectors.tcp.sink import TcpSink
from lockstep.sinks import Sink
from lockstep.testing.connectors import message

LARGE: Final = b"x" * 1_000_000
LIMIT: Final = "1048576"
ROUNDS: Final = 3
PATIENCE_S: Final = 30.0


def tcp(port: int) -> Sink:
    """The sink `tcp`."""
    return TcpSink({"url": f"tcp://127.0.0.1:{port}/context"})


def syslog(port: int) -> Sink:
    """The sink `syslog`, which takes long messages."""
    return SyslogSink({"url": f"tcp://127.0.0.1:{port}", "max.message.bytes": LIMIT})


def connections() -> int:
    """Of this process, and whatever else it has open."""
    return len(os.listdir("/proc/self/fd"))


@contextlib.asynccontextmanager
async def accepting() -> AsyncIterator[tuple[int, list[asyncio.StreamReader]]]:
    """A port, and what comes in there, until somebody reads it."""
    readers: list[asyncio.StreamReader] = []
    writers: list[asyncio.StreamWriter] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        readers.append(reader)
        writers.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], readers
    server.close()
    for writer in writers:
        writer.transport.abort()


async def send_all(sink: Sink) -> None:
    """More than all buffers take."""
    for number in range(1_000):
        await sink.send(message(number, payload=LARGE))


@pytest.mark.parametrize("make", [tcp, syslog])
async def test_a_sink_leaves_a_server_that_reads_nothing(
    make: Callable[[int], Sink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an error within the limit, and it gives the connection back, however often."""
    monkeypatch.setattr(sending, "TAKEN_S", 0.3)
    async with accepting() as (port, theirs):
        sink = make(port)
        before = connections()
        for _ in range(ROUNDS):
            with pytest.raises(OSError, match=r"has read nothing for 0\.3 s"):
                await asyncio.wait_for(send_all(sink), PATIENCE_S)
        await sink.close()
        await until_there_are(before + len(theirs))
        assert len(theirs) == ROUNDS


@pytest.mark.parametrize("make", [tcp, syslog])
async def test_a_sink_that_is_closed_while_it_sends_gives_its_connection_back(
    make: Callable[[int], Sink],
) -> None:
    """As of an app that is undeployed: what the server has not read after a second is dropped."""
    async with accepting() as (port, theirs):
        before = connections()
        for _ in range(ROUNDS):
            sink = make(port)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(send_all(sink), 0.3)
            begun_s = time.monotonic()
            await sink.close()
            assert time.monotonic() - begun_s < 5
        await until_there_are(before + len(theirs))
        assert len(theirs) == ROUNDS


@pytest.mark.parametrize("make", [tcp, syslog])
async def test_what_was_sent_before_the_end_is_read(
    make: Callable[[int], Sink], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is behind, but reads, gets all of it."""
    monkeypatch.setattr(sending, "END_S", PATIENCE_S)  # machines that test are busy
    async with accepting() as (port, theirs):
        sink = make(port)
        for number in range(4):
            await sink.send(message(number, payload=LARGE))
        closing = asyncio.ensure_future(sink.close())
        await asyncio.sleep(0.2)
        got = await asyncio.wait_for(theirs[0].read(), PATIENCE_S)
        await closing
    assert got.count(LARGE) == 4


async def until_there_are(count: int) -> None:
    """So many connections, or fewer."""
    async with asyncio.timeout(PATIENCE_S):
        while connections() > count:
            await asyncio.sleep(0.01)


async def test_a_server_that_reads_slowly_gets_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One message takes many times the limit; something of it is taken all the time."""
    monkeypatch.setattr(sending, "TAKEN_S", 0.4)
    async with accepting() as (port, theirs):
        sink = tcp(port)
        sent = asyncio.create_task(sink.send(message(1, payload=b"x" * 30_000_000)))
        async with asyncio.timeout(PATIENCE_S):
            while not theirs:
                await asyncio.sleep(0.01)
            while not sent.done():
                await theirs[0].read(400_000)
                await asyncio.sleep(0.02)
        await sent
        assert len(theirs) == 1
        await sink.close()
