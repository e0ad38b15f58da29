"""A connection to a server of events, and what outlives it: the pause to the next one, a token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import aiohttp

from lockstep.connectors.oauth import TOKEN_URL
from lockstep.connectors.oauth.token import AccessToken
from lockstep.connectors.sse.reached import Pause
from lockstep.connectors.tls import context_of
from lockstep.sinks import headers_of
from lockstep.sources import Place

RETRY_MS: Final = 1_000
IDLE_MS: Final = 90_000
CONNECT_S: Final = 10.0
BUFFER_BYTES: Final = 65_536
SHOWN_BYTES: Final = 200
OK: Final = 200
UNAUTHORIZED: Final = 401
STREAM: Final = "text/event-stream"


class Standing:
    """Of a source, while it tries to connect: each attempt is a source of its own."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)
        self.pause = Pause(int(options.get("retry.interval", RETRY_MS)))
        self.token = AccessToken(options) if TOKEN_URL in options else None


_STANDING: Final[dict[tuple[str, str, int], Standing]] = {}


def standing_of(place: Place, options: Mapping[str, str]) -> Standing:
    """What the source before left; nothing of one with other options."""
    key = (place.app, place.stream, place.number)
    found = _STANDING.get(key)
    if found is None or found.options != options:
        found = _STANDING[key] = Standing(options)
    return found


def forget(place: Place) -> None:
    """It is connected, or nobody wants it to be."""
    _STANDING.pop((place.app, place.stream, place.number), None)


class Connection:
    """Errors: OSError, aiohttp.ClientError; UnavailableError of the server that gives tokens."""

    def __init__(self, options: Mapping[str, str], token: AccessToken | None) -> None:
        self._options = options
        self._token = token
        self._session: aiohttp.ClientSession | None = None
        self._response: aiohttp.ClientResponse | None = None
        self._reading: asyncio.Task[bytes] | None = None

    async def open(self, last_id: str) -> None:
        """Asks for what comes behind that event; for what the server gives where it is empty."""
        idle_s = int(self._options.get("idle.timeout", IDLE_MS)) / 1000
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=idle_s),
            connector=aiohttp.TCPConnector(ssl=context_of(self._options) or True),
            read_bufsize=BUFFER_BYTES,
        )
        response = await self._asked(self._session, last_id)
        if response.status != OK or response.content_type != STREAM:
            shown = (await response.content.read(SHOWN_BYTES)).decode(errors="replace")
            if 300 <= response.status < 400:
                there = response.headers.get("Location", "")[:SHOWN_BYTES]
                raise OSError(f"it answered {response.status} and leads to '{there}': name that")
            raise OSError(f"it answered {response.status}, {response.content_type}: {shown}")
        self._response = response

    async def _asked(self, session: aiohttp.ClientSession, last_id: str) -> aiohttp.ClientResponse:
        options, url = self._options, self._options["receiver.url"]
        headers = {"Accept": STREAM, "Cache-Control": "no-store"}
        headers |= headers_of(options.get("headers", ""))
        if "basic.auth.username" in options:
            headers["Authorization"] = aiohttp.encode_basic_auth(
                options["basic.auth.username"], options.get("basic.auth.password", "")
            )
        if last_id:
            headers["Last-Event-ID"] = last_id
        if self._token is not None:
            headers["Authorization"] = await self._token.header(session)
        # Following a redirect would show these headers to another server.
        response = await session.get(url, headers=headers, allow_redirects=False)
        if response.status == UNAUTHORIZED and self._token is not None:
            # The token's time is over: another one, once.
            response.close()
            headers["Authorization"] = await self._token.header(session, headers["Authorization"])
            response = await session.get(url, headers=headers, allow_redirects=False)
        return response

    async def more(self, wait_ms: int) -> bytes | None:
        """What has come next; None when nothing has by then. An OSError at the end."""
        assert self._response is not None
        self._reading = self._reading or asyncio.ensure_future(self._response.content.readany())
        done, _ = await asyncio.wait([self._reading], timeout=wait_ms / 1000)
        if not done:
            return None
        chunk, self._reading = self._reading.result(), None
        if not chunk:
            raise OSError("the server has ended the stream")
        return chunk

    async def close(self) -> None:
        """Idempotent."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])
        session, self._session, self._response = self._session, None, None
        if session is not None:
            await session.close()
