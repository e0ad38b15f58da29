"""@sink(type='http'): each message a request with its identity as Idempotency-Key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import aiohttp

from lockstep.connectors.tls import context_of
from lockstep.events import UnavailableError
from lockstep.events.unreached import why_unreached
from lockstep.sinks import Message, MessageRefusedError, Sink, headers_of
from lockstep_services.publisher.sinks.oauth import TOKEN_URL, AccessToken

TIMEOUT_MS: Final = 6_000
RETRYABLE: Final = frozenset({408, 425, 429})
UNAUTHORIZED: Final = 401
SHOWN_CHARACTERS: Final = 200


class HttpSink(Sink):
    """Options: `publisher.url`, `method` (POST), `headers`, `socket.idle.timeout`,
    `basic.auth.username`, `basic.auth.password`, `tls.ca.file` …; with `token.url` those of
    OAuth."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._url = options["publisher.url"]
        self._method = options.get("method", "POST")
        self._headers = headers_of(options.get("headers", ""))
        user = options.get("basic.auth.username")
        password = options.get("basic.auth.password", "")
        if user is not None:
            self._headers["Authorization"] = aiohttp.encode_basic_auth(user, password)
        self._token = AccessToken(options) if TOKEN_URL in options else None
        self._timeout_ms = int(options.get("socket.idle.timeout", TIMEOUT_MS))
        self._session: aiohttp.ClientSession | None = None

    async def send(self, message: Message) -> None:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout_ms / 1000)
            connector = aiohttp.TCPConnector(ssl=context_of(self._options) or True)
            self._session = aiohttp.ClientSession(timeout=timeout, connector=connector)
        headers = {
            "Content-Type": message.content_type,
            "Idempotency-Key": message.id,
            **{name: message.fill(value) for name, value in self._headers.items()},
        }
        url, method = message.fill(self._url), message.fill(self._method)
        if self._token is not None:
            headers["Authorization"] = await self._token.header(self._session)
        status, text = await self._asked(method, url, message.payload, headers)
        if status == UNAUTHORIZED and self._token is not None:
            # The token's time is over: another one, once.
            used = headers["Authorization"]
            headers["Authorization"] = await self._token.header(self._session, used)
            status, text = await self._asked(method, url, message.payload, headers)
        if status >= 500 or status in RETRYABLE:
            raise UnavailableError(f"{url} answered {status}: {text}")
        if status >= 400:
            raise MessageRefusedError(f"{url} answered {status}: {text}")

    async def _asked(
        self, method: str, url: str, payload: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str]:
        """Status and the beginning of the answer."""
        assert self._session is not None
        try:
            async with self._session.request(
                method, url, data=payload, headers=headers
            ) as response:
                text = (await response.text(errors="replace"))[:SHOWN_CHARACTERS]
                return response.status, text
        except (aiohttp.InvalidURL, ValueError) as error:
            # What the event brought makes no address, method or header.
            raise MessageRefusedError(f"{url[:SHOWN_CHARACTERS]}: {error}") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UnavailableError(f"{url}: {why_unreached(error)}") from error

    async def close(self) -> None:
        """Closes connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
