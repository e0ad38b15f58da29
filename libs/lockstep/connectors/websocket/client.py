"""WebSocket knows no acknowledgement: what is under way when a connection breaks is lost.

A source reads no faster than the log takes it, so the server waits. One connection is kept open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import aiohttp

from lockstep.connectors.tls import context_of
from lockstep.sinks import Message, MessageRefusedError, Sink, headers_of
from lockstep.sources import Place, Received, Source

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
PING_S: Final = 15.0
_TEXTS: Final = frozenset(
    ("application/json", "application/xml", "application/x-www-form-urlencoded")
)
"""Content types of texts; `text/…`, `…+json` and `…+xml` are others."""


class _Connection:
    """One connection, opened at first use. Errors: OSError."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        protocols = options.get("sub.protocol", "")
        self._protocols = [one.strip() for one in protocols.split(",") if one.strip()]
        self._headers = headers_of(options.get("headers", ""))
        self._session: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._url = ""

    async def socket(self, url: str) -> aiohttp.ClientWebSocketResponse:
        if self._socket is not None and (self._socket.closed or self._url != url):
            await self.close()
        if self._socket is None:
            connector = aiohttp.TCPConnector(ssl=context_of(self._options) or True)
            self._session = aiohttp.ClientSession(connector=connector)
            try:
                self._socket = await self._session.ws_connect(
                    url, protocols=self._protocols, headers=self._headers, heartbeat=PING_S,
                    max_msg_size=MAX_MESSAGE_BYTES,
                )  # fmt: skip
            except ValueError:  # aiohttp.InvalidURL is one, too
                await self.close()
                raise
            except aiohttp.ClientError as error:
                await self.close()
                raise OSError(f"{url}: {error}") from error
            self._url = url
        return self._socket

    @property
    def open(self) -> aiohttp.ClientWebSocketResponse | None:
        """The one that is there."""
        return self._socket

    async def close(self) -> None:
        session, self._session, self._socket = self._session, None, None
        if session is not None:
            await session.close()


class WebSocketSource(Source):
    """Option: `url`."""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._url = options["url"]
        self._connection = _Connection(options)
        self._next: asyncio.Task[aiohttp.WSMessage] | None = None

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        socket = await self._connection.socket(self._url)
        found: list[Received] = []
        while len(found) < max_messages:
            message = await self._received(socket, 0 if found else wait_ms)
            if message is None:
                return found
            payload = _payload(message)
            if payload is not None:
                found.append(Received(payload))
            elif found:
                return found  # the next read tells that the connection has ended
            else:
                raise OSError(f"{self._url} has ended the connection")
        return found

    async def close(self) -> Sequence[Received]:
        """What had come is not given again by anybody."""
        left: list[Received] = []
        socket = self._connection.open
        while socket is not None and (message := await self._received(socket, 0)) is not None:
            payload = _payload(message)
            if payload is None:
                break
            left.append(Received(payload))
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting.cancel()
        await self._connection.close()
        return left

    async def _received(
        self, socket: aiohttp.ClientWebSocketResponse, wait_ms: int
    ) -> aiohttp.WSMessage | None:
        """None where nothing has come by then."""
        self._next = self._next or asyncio.ensure_future(socket.receive())
        done, _ = await asyncio.wait([self._next], timeout=wait_ms / 1000)
        if not done:
            return None
        message, self._next = self._next.result(), None
        return message


def _payload(message: aiohttp.WSMessage) -> bytes | None:
    """None for what ends a connection."""
    if message.type is aiohttp.WSMsgType.TEXT:
        return str(message.data).encode()
    return bytes(message.data) if message.type is aiohttp.WSMsgType.BINARY else None


class WebSocketSink(Sink):
    """Option: `url`. Text messages, or binary ones for a mapper that writes no text: all alike."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url = options["url"]
        self._connection = _Connection(options)

    async def send(self, message: Message) -> None:
        url = message.fill(self._url)
        try:
            socket = await self._connection.socket(url)
        except ValueError as error:  # aiohttp.InvalidURL is one, too
            if "{{" in self._url:
                raise MessageRefusedError(f"{url[:200]!r} is no address") from error
            raise OSError(f"'url' is no address: {error}") from error
        # By the form: bytes of a binary one may happen to be a text.
        if not _is_text(message.content_type):
            await socket.send_bytes(message.payload)
            return
        try:
            text = message.payload.decode()
        except UnicodeDecodeError:  # of a form that has no content type of its own
            await socket.send_bytes(message.payload)
        else:
            await socket.send_str(text)

    async def close(self) -> None:
        await self._connection.close()


def _is_text(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind.endswith(("+json", "+xml")) or kind in _TEXTS
