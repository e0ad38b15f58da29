"""A port of sources: so many connections at a time, and no place is taken by who has gone."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.hl7.mllp import Hl7Source
from lockstep.connectors.tcp.source import TcpSource
from lockstep.sources import Listening, Place, listening
from lockstep.sources.listening import CONNECTIONS_MAX

HOST = "127.0.0.1"
WAIT_S = 10.0


def free_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the other side ends, or sends what nobody expects."""
    while data := await reader.read(1):
        if data == b"!":
            raise RuntimeError("what nobody expects")
        writer.write(data)


class Far:
    """The other ends."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: list[asyncio.StreamWriter] = []

    async def is_taken(self, said: bytes = b"x") -> bool:
        """Another connection, and whether it is answered; then it stays open."""
        reader, writer = await asyncio.open_connection(HOST, self._port)
        writer.write(said)
        async with asyncio.timeout(WAIT_S):
            try:
                is_answered = await reader.read(1) == said
            except ConnectionError:
                is_answered = False
        if is_answered:
            self._writers.append(writer)
        else:
            writer.close()
        return is_answered

    async def leave(self) -> None:
        """The first one goes."""
        writer = self._writers.pop(0)
        writer.close()
        await writer.wait_closed()

    async def close(self) -> None:
        """All go."""
        for writer in self._writers:
            writer.close()


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    """Of a port that takes two connections."""
    port = free_port()
    server = Listening(echo, connections_max=2)
    await server.start(HOST, port)
    found = Far(port)
    yield found
    await found.close()
    await server.stop()


async def test_a_connection_over_the_limit_is_hung_up(far: Far) -> None:
    """And one that goes leaves its place to another."""
    assert [await far.is_taken() for _ in range(4)] == [True, True, False, False]
    await far.leave()
    async with asyncio.timeout(WAIT_S):
        while not await far.is_taken():
            pass


async def test_who_fails_leaves_its_place(far: Far) -> None:
    """Whatever the error is."""
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    assert not await far.is_taken(b"!")
    assert not await far.is_taken(b"!")
    assert await far.is_taken()


async def test_hanging_up_is_told_now_and_then(
    far: Far, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with a line for each."""
    monkeypatch.setattr(listening, "TOLD_EACH_S", 0.2)
    assert [await far.is_taken() for _ in range(2)] == [True, True]
    refused = 0
    while len(caplog.records) < 2:
        assert not await far.is_taken()
        refused += 1
    told = [re.search(r"(\d+) more were hung up", one.getMessage()) for one in caplog.records]
    assert [int(one[1]) for one in told if one] == [1, refused - 1]


@pytest.mark.parametrize("kind", ["tcp", "hl7"])
async def test_ports_of_sources_take_so_many(kind: str) -> None:
    """Of sources that have no option for it."""
    port = free_port()
    options, place = {"port": str(port)}, Place("App", "In", 0, HOST, SystemClock())
    source = TcpSource(options, place) if kind == "tcp" else Hl7Source(options, place)
    await source.read(max_messages=1, wait_ms=1)
    opened = [await asyncio.open_connection(HOST, port) for _ in range(CONNECTIONS_MAX + 1)]
    async with asyncio.timeout(WAIT_S):
        assert await opened[-1][0].read() == b""
    assert not any(reader.at_eof() for reader, _ in opened[:-1])
    for _, writer in opened:
        writer.close()
    await source.close()
