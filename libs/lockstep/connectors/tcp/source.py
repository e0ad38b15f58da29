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
from lockstep.sources import Inbox, Listening, Place, Received, Source

PORT: Final = 9892
MAX_FRAME_BYTES: Final = 64 * 1024 * 1024


class _Server:
    """One listening port; frames for contexts that nobody reads end the connection."""

    def __init__(self) -> None:
        self.inboxes: dict[str, Inbox] = {}
        self.listening = Listening(self._talk)

    async def _talk(self, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(FrameError):
            while True:
                length = body_bytes(await reader.readexactly(HEAD_BYTES), MAX_FRAME_BYTES)
                context, message = parsed(await reader.readexactly(length))
                inbox = self.inboxes.get(context)
                if inbox is None:
                    break  # the sender learns that nobody is there
                await inbox.put(Received(message))


_SERVERS: Final[dict[tuple[str, int], _Server]] = {}


class TcpSource(Source):
    """Options: `context` (<app>/<stream>), `port` (9892)."""

    shared: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._context = options.get("context", f"{place.app}/{place.stream}").strip("/")
        self._address = (place.host, int(options.get("port", PORT)))
        self._tls = place.tls
        self._inbox = Inbox()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        server = _SERVERS.setdefault(self._address, _Server())
        if server.inboxes.setdefault(self._context, self._inbox) is not self._inbox:
            raise OSError(f"the context {self._context!r} belongs to another source")
        await server.listening.start(*self._address, self._tls)
        return await self._inbox.take(max_messages, wait_ms)

    async def close(self) -> Sequence[Received]:
        server = _SERVERS.get(self._address)
        if server is not None and server.inboxes.get(self._context) is self._inbox:
            del server.inboxes[self._context]
            if not server.inboxes:
                del _SERVERS[self._address]
                await server.listening.stop()
        await self._inbox.end()  # a connection that waits to put would wait for ever
        return self._inbox.left()
