"""An encrypted connection to NATS: what it listens to, and how much it holds unread."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import urlparse

import pytest

from lockstep.bus.nats.transport import WatchedTransport
from lockstep.tls import calling, serving
from tests.tls.certificates import Authority

HOST = "127.0.0.1"
FORGED = b"PING\r\n"
MEANT = b"+OK\r\n"
MANY_BYTES = 16 * 1_048_576
WAIT_S = 5.0

Told = Callable[[asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def connected(folder: Path, tell: Told) -> AsyncIterator[WatchedTransport]:
    """To a server that says something plainly, is encrypted, and then says what `tell` does."""
    authority = Authority(folder)
    files = authority.files(authority.give("both"))
    context, own = calling(files), serving(files)
    assert context is not None
    assert own is not None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"INFO {}\r\n" + FORGED)
        with contextlib.suppress(ConnectionError):
            await writer.start_tls(own)
            await tell(writer)
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    transport = WatchedTransport(1_000, wants_tls=True)
    try:
        await transport.connect(urlparse(f"nats://{HOST}:{port}"), 32_768, 2)
        assert await transport.readline() == b"INFO {}\r\n"  # type: ignore[no-untyped-call]
        await transport.connect_tls(HOST, context, 32_768, 2)
        yield transport
    finally:
        transport.close()  # type: ignore[no-untyped-call]
        server.close()


async def test_what_was_said_before_the_encryption_is_not_listened_to(tmp_path: Path) -> None:
    """Whoever stands between could have said it."""

    async def tell(writer: asyncio.StreamWriter) -> None:
        writer.write(MEANT)

    async with connected(tmp_path, tell) as transport, asyncio.timeout(WAIT_S):
        assert await transport.read(32_768) == MEANT


async def test_a_server_waits_for_who_does_not_read(tmp_path: Path) -> None:
    """What has come is held up to a limit, and all of it comes in the end."""
    sent = asyncio.Event()

    async def tell(writer: asyncio.StreamWriter) -> None:
        for _ in range(16):
            writer.write(b"x" * (MANY_BYTES // 16))
            await writer.drain()
        sent.set()

    async with connected(tmp_path, tell) as transport, asyncio.timeout(12 * WAIT_S):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(sent.wait(), 1.0)
        got = 0
        while got < MANY_BYTES:
            got += len(await transport.read(32_768))
        await sent.wait()
    assert got == MANY_BYTES
