"""@sink(type='http'): each message a request with its identity as Idempotency-Key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import aiohttp

from lockstep.events import UnavailableError
from lockstep.events.unreached import why_unreached
from lockstep.sinks import Message, MessageRefusedError, Sink

TIMEOUT_MS: Final = 6_000
RETRYABLE: Final = frozenset({408, 425, 429})
SHOWN_CHARACTERS: Final = 200


class HttpSink(Sink):
    """Options: `publisher.url`, `method` (POST), `headers`, `socket.idle.timeout`,
    `basic.auth.username`, `basic.auth.password`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url = options["publisher.url"]
        self._method = options.get("method", "POST")
        self._headers = parse_headers(options.get("headers", ""))
        user = options.get("basic.auth.username")
        password = options.get("basic.auth.password", "")
        self._auth = None if user is None else aiohttp.BasicAuth(user, password)
        self._timeout_ms = int(options.get("socket.idle.timeout", TIMEOUT_MS))
        self._session: aiohttp.ClientSession | None = None

    async def send(self, message: Message) -> None:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout_ms / 1000)
            self._session = aiohttp.ClientSession(timeout=timeout, auth=self._auth)
        headers = {
            "Content-Type": message.content_type,
            "Idempotency-Key": message.id,
            **{name: message.fill(value) for name, value in self._headers.items()},
        }
        url, method = message.fill(self._url), message.fill(self._method)
        try:
            async with self._session.request(
                method, url, data=message.payload, headers=headers
            ) as response:
                text = (await response.text(errors="replace"))[:SHOWN_CHARACTERS]
                status = response.status
        except (aiohttp.InvalidURL, ValueError) as error:
            # What the event brought makes no address, method or header.
            raise MessageRefusedError(f"{url[:SHOWN_CHARACTERS]}: {error}") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UnavailableError(f"{url}: {why_unreached(error)}") from error
        if status >= 500 or status in RETRYABLE:
            raise UnavailableError(f"{url} answered {status}: {text}")
        if status >= 400:
            raise MessageRefusedError(f"{url} answered {status}: {text}")

    async def close(self) -> None:
        """Closes connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def parse_headers(text: str) -> dict[str, str]:
    """`'Key:value','Key2:value'` as a mapping."""
    found = {}
    for part in text.split(","):
        name, colon, value = part.strip().strip("'\"").partition(":")
        if colon:
            found[name.strip()] = value.strip()
    return found
