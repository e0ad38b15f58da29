"""A port that senders connect to, for sources that read a protocol of their own from it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Reads one connection until it ends or sends what cannot be read; then the connection is closed.
It ends as well with any OSError, with the end of what comes, and with a line over the limit."""

LINE_MAX_BYTES: Final = 65_536


class Listening:
    """One listening port. `start` may be called again and again, by several sources."""

    def __init__(self, talk: Talk, *, line_max_bytes: int = LINE_MAX_BYTES) -> None:
        self._talk = talk
        self._line_max_bytes = line_max_bytes
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        """Listens; OSError."""
        async with self._starting:
            if self._server is None:
                self._server = await asyncio.start_server(
                    self._accept, host, port, limit=self._line_max_bytes, ssl=tls
                )

    async def stop(self) -> None:
        """Hangs up."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in list(self._connections):
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        with contextlib.suppress(
            asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, OSError
        ):
            await self._talk(reader, writer)
        writer.close()
