"""@sink(type='http'): rows as requests with their identity as Idempotency-Key: at least once."""

from __future__ import annotations

from typing import Final

import aiohttp

from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.siddhiql import ast
from lockstep.store import Cursors
from services.publisher.contract import (
    Batch,
    RefusedRow,
    RowsRefusedError,
    SinkPlace,
    SinkSetupError,
)
from services.publisher.payload import Payload, event_of
from services.publisher.sinks.cursor import StoredCursor

TIMEOUT_MS: Final = 6_000
RETRYABLE: Final = frozenset({408, 425, 429})
SHOWN_CHARACTERS: Final = 200


class HttpSink(StoredCursor):
    """Options: `publisher.url`, `method` (POST), `headers`, `socket.idle.timeout`,
    `basic.auth.username`, `basic.auth.password`."""

    def __init__(self, place: SinkPlace, annotation: ast.Annotation, cursors: Cursors) -> None:
        super().__init__(place, cursors)
        url = annotation.get("publisher.url")
        if not url or not url.startswith(("http://", "https://", "{{")):
            raise SinkSetupError("an http sink needs a publisher.url", where=place.key)
        self._payload = payload = Payload(place.schema, annotation, place.key)
        self._url = payload.template(url)
        self._method = payload.template(annotation.get("method") or "POST")
        given = parse_headers(annotation.get("headers") or "")
        self._headers = {name: payload.template(value) for name, value in given.items()}
        user = annotation.get("basic.auth.username")
        password = annotation.get("basic.auth.password") or ""
        self._auth = None if user is None else aiohttp.BasicAuth(user, password)
        self._timeout_ms = int(annotation.get("socket.idle.timeout") or TIMEOUT_MS)
        self._session: aiohttp.ClientSession | None = None
        self._sent: OutputId | None = None

    async def send(self, batch: Batch) -> None:
        """One request a row, in order."""
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=self._timeout_ms / 1000)
            self._session = aiohttp.ClientSession(timeout=timeout, auth=self._auth)
        for row in batch.rows:
            # A batch tried again goes on where it stopped.
            if self._sent is None or row.id > self._sent:
                await self._send_row(self._session, row)
                self._sent = row.id

    async def close(self) -> None:
        """Closes connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _send_row(self, session: aiohttp.ClientSession, row: OutputRow) -> None:
        event = event_of(row)
        headers = {
            "Content-Type": self._payload.content_type,
            "Idempotency-Key": self.place.row_id(row),
            **{name: value.fill(event) for name, value in self._headers.items()},
        }
        url, method = self._url.fill(event), self._method.fill(event)
        body = self._payload.render(row)
        try:
            async with session.request(method, url, data=body, headers=headers) as response:
                text = (await response.text(errors="replace"))[:SHOWN_CHARACTERS]
                status = response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UnavailableError(f"{url}: {type(error).__name__}: {error}") from error
        if status >= 500 or status in RETRYABLE:
            raise UnavailableError(f"{url} answered {status}: {text}")
        if status >= 400:
            reason = f"{url} answered {status}: {text}"
            raise RowsRefusedError([RefusedRow(row, reason)], where=self.place.key)


def parse_headers(text: str) -> dict[str, str]:
    """`'Key:value','Key2:value'` as a mapping."""
    found = {}
    for part in text.split(","):
        name, colon, value = part.strip().strip("'\"").partition(":")
        if colon:
            found[name.strip()] = value.strip()
    return found
