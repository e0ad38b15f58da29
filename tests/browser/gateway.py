"""A gateway in front of a service, as proxies are: it passes on, refuses, or says nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

BAD_GATEWAY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
READ_BYTES = 65_536


class Gateway:
    """What it does is a matter of the moment."""

    def __init__(self, behind: str) -> None:
        parts = urlsplit(behind)
        self._behind = parts.hostname, parts.port
        self._tasks: set[asyncio.Task[None]] = set()
        self._passing = asyncio.Event()
        self._passing.set()
        self._is_refusing = False
        self.asked = 0
        self.url = ""

    def refuse(self) -> None:
        """Cuts all connections, and answers 502 from now on."""
        self._is_refusing = True
        for task in self._tasks:
            task.cancel()

    def hold(self) -> None:
        """Nothing goes through any more, and nothing is cut."""
        self._passing.clear()

    def go_on(self) -> None:
        """Everything is as it was."""
        self._is_refusing = False
        self._passing.set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection; several requests may come on one."""
        self.asked += 1
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        try:
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await task
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_refusing:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(BAD_GATEWAY)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            return
        there, back = await asyncio.open_connection(*self._behind)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._copy(reader, back))
                both.create_task(self._copy(there, writer))
        finally:
            back.transport.abort()

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(READ_BYTES):
            await self._passing.wait()
            target.write(data)
            await target.drain()
        target.close()


@contextlib.asynccontextmanager
async def gateway(behind: str) -> AsyncIterator[Gateway]:
    """One that passes on at first."""
    made = Gateway(behind)
    server = await asyncio.start_server(made.take, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        made.refuse()
