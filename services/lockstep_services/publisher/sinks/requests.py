"""Messages as HTTP requests, with their identity as Idempotency-Key; what `http` and `http-call`
share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp

from lockstep.connectors.endpoints import known_address_of
from lockstep.connectors.http import PORTS
from lockstep.connectors.logins import LOGIN_HINT, row_brings_login
from lockstep.connectors.oauth import TOKEN_URL
from lockstep.connectors.oauth.token import AccessToken
from lockstep.connectors.tls import context_of
from lockstep.events import UnavailableError
from lockstep.events.unreached import why_unreached
from lockstep.sinks import Message, MessageRefusedError, headers_of
from lockstep.telemetry import current_trace

TIMEOUT_MS: Final = 6_000
RETRYABLE: Final = frozenset({408, 425, 429})
UNAUTHORIZED: Final = 401
MOVED: Final = frozenset({307, 308})
"""The same request is good elsewhere: an Ingress says so to `http:` where it wants `https:`."""
TRACE_HEADER: Final = "traceparent"
"""Of traced deliveries: whoever is called goes on with the trace."""
SHOWN_CHARACTERS: Final = 200
MOST_BYTES: Final = 1_048_576
"""Of an answer that nobody wants, so that its connection can be used again."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a request was answered. `is_cut`: there was more than was wanted. `is_rows_login`: what
    it showed of who is calling may have come from the row."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool
    is_rows_login: bool = False

    def raise_if_bad(self) -> None:
        """UnavailableError, MessageRefusedError; what is below 300 is good."""
        if self.status >= 500 or self.status in RETRYABLE:
            raise UnavailableError(str(self))
        if self.status == UNAUTHORIZED and not self.is_rows_login:
            # No row's fault: somebody may be changing the password just now.
            raise UnavailableError(str(self), hint=LOGIN_HINT)
        if self.status >= 400:
            raise MessageRefusedError(str(self))
        if self.status >= 300:
            # Following it may lose the message (a 301 asks for a GET) and show headers elsewhere.
            there = _cut(self.headers.get("Location", ""))
            raise (UnavailableError if self.status in MOVED else MessageRefusedError)(
                f"{self.url} answered {self.status} and leads to '{there}', which is not followed",
                hint="write the new address into 'publisher.url'",
            )

    def __str__(self) -> str:
        shown = _cut(self.body[: SHOWN_CHARACTERS * 4 + 4].decode(errors="replace"))
        return f"{self.url} answered {self.status}: {shown}"


def _cut(text: str) -> str:
    """Of a text for people its beginning, with a mark where it was cut: `Hidden` looks in front of
    it for the beginning of a secret."""
    is_short = len(text) <= SHOWN_CHARACTERS
    return text if is_short else f"{text[:SHOWN_CHARACTERS]}…"


class Requests:
    """Options: `publisher.url`, `method` (POST), `headers`, `socket.idle.timeout`,
    `basic.auth.username`, `basic.auth.password`, `tls.ca.file` …; with `token.url` those of
    OAuth."""

    def __init__(self, options: Mapping[str, str], most_bytes: int = MOST_BYTES) -> None:
        self._options = options
        self._most_bytes = most_bytes
        self._url = options["publisher.url"]
        self._method = options.get("method", "POST")
        self._headers = headers_of(options.get("headers", ""))
        user = options.get("basic.auth.username")
        password = options.get("basic.auth.password", "")
        if user is not None:
            self._headers["Authorization"] = aiohttp.encode_basic_auth(user, password)
        self._token = AccessToken(options) if TOKEN_URL in options else None
        self._is_rows_login = (user is None and self._token is None) and row_brings_login(
            options.get("headers", ""), self._url
        )
        self._timeout_ms = int(options.get("socket.idle.timeout", TIMEOUT_MS))
        self._session: aiohttp.ClientSession | None = None

    async def send(self, message: Message) -> Answered:
        """Whatever comes back. Errors: UnavailableError, MessageRefusedError when the message makes
        no request."""
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout_ms / 1000)
            connector = aiohttp.TCPConnector(ssl=context_of(self._options) or True)
            self._session = aiohttp.ClientSession(timeout=timeout, connector=connector)
        headers = {
            "Content-Type": message.content_type,
            "Idempotency-Key": message.id,
            **({TRACE_HEADER: trace} if (trace := current_trace()) else {}),
            **{name: message.fill(value) for name, value in self._headers.items()},
        }
        url, method = message.fill(self._url), message.fill(self._method)
        if self._token is not None:
            headers["Authorization"] = await self._token.header(self._session)
        answered = await self._asked(method, url, message.payload, headers)
        if answered.status == UNAUTHORIZED and self._token is not None:
            # The token's time is over: another one, once.
            used = headers["Authorization"]
            headers["Authorization"] = await self._token.header(self._session, used)
            answered = await self._asked(method, url, message.payload, headers)
        return answered

    async def _asked(
        self, method: str, url: str, payload: bytes, headers: Mapping[str, str]
    ) -> Answered:
        assert self._session is not None
        try:
            async with self._session.request(
                method, url, data=payload, headers=headers, allow_redirects=False
            ) as response:
                body = bytearray()
                async for part in response.content.iter_any():
                    body += part
                    if len(body) > self._most_bytes:
                        break
                is_cut = len(body) > self._most_bytes
                return Answered(
                    url, response.status, response.headers, bytes(body), is_cut, self._is_rows_login
                )
        except (aiohttp.InvalidURL, ValueError) as error:
            raise self._refusal(url, error) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UnavailableError(f"{url}: {why_unreached(error)}") from error

    def _refusal(self, url: str, error: Exception) -> UnavailableError | MessageRefusedError:
        """What the event brought makes no address, method or header, unless the address is the
        app's own: then no row pays for it."""
        if "{{" not in self._url:
            try:
                known_address_of("publisher.url", url, PORTS)
            except ValueError as wrong:
                return UnavailableError(str(wrong))
        return MessageRefusedError(f"{_cut(url)}: {error}")

    def begin_again(self) -> None:
        """Nothing is kept by identity."""

    async def close(self) -> None:
        """Closes connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
