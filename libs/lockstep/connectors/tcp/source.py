"""@source(type='tcp'): one server for a port of this process, shared by the contexts of all apps.

The protocol knows no answer: what was read and is not yet in the log is lost with the process, at
most `MAX_MESSAGES` of each source. A full inbox stops reading, so senders wait.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from lockstep.connectors.tcp.frames import HEAD_BYTES, FrameError, body_bytes, parsed
from lockstep.sources import Inbox, Place, Received, Source

PORT: Final = 9892
MAX_FRAME_BYTES: Final = 64 * 1024 * 1024


class _Server:
    """One listening port; frames for contexts that nobody reads end the connection."""

    def __init__(self) -> None:
        self.inboxes: dict[str, Inbox] = {}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()

    async def start(self, host: str, port: int) -> None:
        async with self._starting:
            if self._server is None:
                self._server = await asyncio.start_server(self._accept, host, port)

    async def stop(self) -> None:
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
            asyncio.IncompleteReadError, asyncio.CancelledError, FrameError, OSError
        ):
            while True:
                length = body_bytes(await reader.readexactly(HEAD_BYTES), MAX_FRAME_BYTES)
                context, message = parsed(await reader.readexactly(length))
                inbox = self.inboxes.get(context)
                if inbox is None:
                    break  # the sender learns that nobody is there
                await inbox.put(Received(message))
        writer.close()


_SERVERS: Final[dict[tuple[str, int], _Server]] = {}


class TcpSource(Source):
    """Options: `context` (<app>/<stream>), `port` (9892)."""

    shared: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._context = options.get("context", f"{place.app}/{place.stream}").strip("/")
        self._address = (place.host, int(options.get("port", PORT)))
        self._inbox = Inbox()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        server = _SERVERS.setdefault(self._address, _Server())
        if server.inboxes.setdefault(self._context, self._inbox) is not self._inbox:
            raise OSError(f"the context {self._context!r} belongs to another source")
        await server.start(*self._address)
        return await self._inbox.take(max_messages, wait_ms)

    async def close(self) -> Sequence[Received]:
        server = _SERVERS.get(self._address)
        if server is not None and server.inboxes.get(self._context) is self._inbox:
            del server.inboxes[self._context]
            if not server.inboxes:
                del _SERVERS[self._address]
                await server.stop()
        return self._inbox.left()
