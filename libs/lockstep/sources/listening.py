"""A port that senders connect to, for sources that read a protocol of their own from it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Reads one connection until it ends or sends what cannot be read; then the connection is closed.
It ends as well with any OSError, with the end of what comes, and with a line over the limit."""

LINE_MAX_BYTES: Final = 65_536
CONNECTIONS_MAX: Final = 256
"""Of a port at a time: each may hold a message that is half there."""
TOLD_EACH_S: Final = 10.0

_LOG: Final = logging.getLogger(__name__)


class Listening:
    """One listening port. `start` may be called again and again, by several sources. A connection
    over `connections_max` is hung up, so its sender learns it."""

    def __init__(
        self,
        talk: Talk,
        *,
        line_max_bytes: int = LINE_MAX_BYTES,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._talk = talk
        self._line_max_bytes = line_max_bytes
        self._connections_max = connections_max
        self._port = 0
        self._untold = 0
        self._told_next_s = 0.0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        """Listens; OSError."""
        async with self._starting:
            if self._server is None:
                self._port = port
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
        if len(self._connections) >= self._connections_max:
            self._hang_up(writer)
            return
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        try:
            with contextlib.suppress(
                asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError,
                OSError,
            ):  # fmt: skip
                # A sender that has vanished without a word would have its place for ever.
                own: socket.socket = writer.get_extra_info("socket")
                own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                await self._talk(reader, writer)
        finally:
            writer.close()

    def _hang_up(self, writer: asyncio.StreamWriter) -> None:
        """The first one is told at once. Those behind it are counted, and told together."""
        writer.transport.abort()
        self._untold += 1
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._told_next_s:
            _LOG.warning(
                "port %d has %d connections, as many as it takes: %d more were hung up",
                self._port, self._connections_max, self._untold,
            )  # fmt: skip
            self._untold, self._told_next_s = 0, now_s + TOLD_EACH_S
