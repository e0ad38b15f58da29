"""A connection to a WebSocket server, which somebody reads for as long as it stands.

A server that says nothing is asked whether it is there. Only the time counts in which somebody
reads: the answer stands behind all that nobody has read yet.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, Final

import aiohttp

from lockstep.connectors.tcp.sending import while_taken
from lockstep.connectors.tls import context_of
from lockstep.events.unreached import why_unreached
from lockstep.sinks import headers_of

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
CONNECT_S: Final = 30.0
SEND_S: Final = 30.0
"""A server that takes nothing for so long is left."""
PING_MS: Final = 15_000
PONG_MS: Final = 15_000
END_S: Final = 1.0
"""So long a server has to read what was sent before the end."""
SHOWN_CHARACTERS: Final = 200


class TooLargeError(OSError):
    """A message over the limit. The protocol has no way to read on behind it."""


class _Socket(aiohttp.ClientWebSocketResponse):
    """Knows its transport, also when aiohttp has let go of it: one that waits for a server that
    reads nothing stays open for ever, unless somebody ends it."""

    def __init__(
        self, reader: Any, writer: Any, protocol: Any, response: aiohttp.ClientResponse,
        *rest: Any, **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(reader, writer, protocol, response, *rest, **more)
        connection = response.connection
        self.transport = None if connection is None else connection.transport


class Connection:
    """Opened at first use. `send` and `heard` may go on side by side. Errors: OSError."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        protocols = options.get("sub.protocol", "")
        self._protocols = [one.strip() for one in protocols.split(",") if one.strip()]
        self._headers = headers_of(options.get("headers", ""))
        self._session: aiohttp.ClientSession | None = None
        self._socket: _Socket | None = None
        self._url = ""
        self._next: asyncio.Task[aiohttp.WSMessage] | None = None
        self._quiet_ms = 0
        self._is_asked = False

    def is_open(self, url: str) -> bool:
        """Whether it leads to that address, and nobody has ended it."""
        socket = self._socket
        if socket is None or socket.closed or self._url != url:
            return False
        return socket.transport is not None and not socket.transport.is_closing()

    async def open(self, url: str) -> None:
        """Anew. ValueError for what is no address."""
        await self.close()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=context_of(self._options) or True),
            ws_response_class=_Socket,
        )
        try:
            async with asyncio.timeout(CONNECT_S):
                opened = await self._session.ws_connect(
                    url, protocols=self._protocols, headers=self._headers,
                    max_msg_size=MAX_MESSAGE_BYTES, autoping=False, autoclose=False,
                )  # fmt: skip
        except ValueError:  # aiohttp.InvalidURL is one, too
            await self.close()
            raise
        except (aiohttp.ClientError, OSError) as error:
            await self.close()
            told = why_unreached(error) if isinstance(error, TimeoutError) else str(error)
            raise OSError(f"{url}: {told}") from error
        assert isinstance(opened, _Socket)
        self._socket, self._url = opened, url
        self._quiet_ms, self._is_asked = 0, False

    async def send(self, payload: str | bytes) -> None:
        """Returns when the socket has taken it."""
        socket = self._socket
        if socket is None:
            raise OSError("the connection has been ended")
        if isinstance(payload, str):
            await self._within(socket, socket.send_str(payload))
        else:
            await self._within(socket, socket.send_bytes(payload))

    async def _within(self, socket: _Socket, sending: Coroutine[Any, Any, None]) -> None:
        """Otherwise nobody would ever learn that a server reads nothing."""
        transport = socket.transport
        if transport is None:
            sending.close()
            raise OSError(f"{self._url}: the connection has ended")
        try:
            await while_taken(transport, sending, SEND_S)
        except TimeoutError as error:
            self.abort()
            raise OSError(f"{self._url} has read nothing for {SEND_S:g} s") from error
        except aiohttp.ClientError as error:
            raise OSError(f"{self._url}: {error}") from error
        if not self.is_open(self._url):  # while it waited: what had not gone out was dropped
            raise OSError(f"{self._url}: the connection has ended")

    async def heard(self, wait_ms: int) -> bytes | None:
        """The next message; None where none has come by then. TooLargeError; OSError at the end,
        with what the server said."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + wait_ms / 1000
        while (socket := self._socket) is not None:
            self._next = self._next or asyncio.ensure_future(socket.receive())
            # Pings of the server are answered in that time, and do not begin it anew.
            done, _ = await asyncio.wait([self._next], timeout=max(0.0, until_s - loop.time()))
            if not done:
                await self._ask(socket, wait_ms)
                return None
            message, self._next = self._next.result(), None
            self._quiet_ms, self._is_asked = 0, False
            if message.type is aiohttp.WSMsgType.TEXT:
                return str(message.data).encode()
            if message.type is aiohttp.WSMsgType.BINARY:
                return bytes(message.data)
            if message.type is aiohttp.WSMsgType.PING:
                await self._within(socket, socket.pong(message.data))
            elif message.type is not aiohttp.WSMsgType.PONG:
                raise self._ended(message)
        raise OSError("the connection has been ended")

    async def _ask(self, socket: _Socket, waited_ms: int) -> None:
        self._quiet_ms += waited_ms
        if self._quiet_ms >= PING_MS + PONG_MS:
            self.abort()
            raise OSError(f"{self._url} has not answered a ping for {PONG_MS} ms")
        if self._quiet_ms >= PING_MS and not self._is_asked:
            self._is_asked = True
            await self._within(socket, socket.ping())

    def _ended(self, message: aiohttp.WSMessage) -> OSError:
        data = message.data
        if message.type is aiohttp.WSMsgType.CLOSE:
            said = f"{data} {message.extra or ''}".strip()[:SHOWN_CHARACTERS]
            return OSError(f"{self._url} has ended the connection: {said}")
        if isinstance(data, aiohttp.WebSocketError):
            if data.code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG:
                return TooLargeError(f"the message has more than {MAX_MESSAGE_BYTES} bytes")
            return OSError(f"{self._url} sends what is no WebSocket message: {data}")
        return OSError(f"{self._url} has ended the connection without a word")

    def abort(self) -> None:
        """What waits to be sent is dropped; whoever sends or reads gets an error."""
        transport = None if self._socket is None else self._socket.transport
        if transport is None:
            return
        if transport.get_write_buffer_size():
            transport.abort()
        else:
            transport.close()

    async def close(self) -> None:
        """What was sent arrives, if the server reads it at once; idempotent."""
        socket, session, waiting = self._socket, self._session, self._next
        self._session = self._next = None
        try:
            if socket is not None and self.is_open(self._url):
                with contextlib.suppress(OSError, aiohttp.ClientError):  # it is left anyway
                    async with asyncio.timeout(END_S):
                        await socket.close()
        finally:
            if waiting is not None:
                waiting.cancel()
            self.abort()
            self._socket = None
            if session is not None:
                await session.close()
