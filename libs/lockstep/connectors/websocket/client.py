"""WebSocket knows no acknowledgement: what is under way when a connection breaks is lost.

A source reads no faster than the log takes it, so the server waits. One connection is kept open.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.connectors.sse.connection import forget, standing_of
from lockstep.connectors.websocket.connection import Connection, TooLargeError
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep.sources import Place, Received, Source

FIRST_PAUSE_MS: Final = 200
STEADY_MS: Final = 10_000
"""A connection that stood for so long was a good one: the pause behind it is the first again."""
ANSWERS_WAIT_MS: Final = 1_000
_TEXTS: Final = frozenset(
    ("application/json", "application/xml", "application/x-www-form-urlencoded")
)
"""Content types of texts; `text/…`, `…+json` and `…+xml` are others."""


class WebSocketSource(Source):
    """Option: `url`."""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._url = options["url"]
        self._place = place
        self._connection = Connection(options)
        # As of sse: of all the sources that are made, one for each attempt.
        standing = standing_of(place, {**options, "retry.interval": str(FIRST_PAUSE_MS)})
        self._pause = standing.pause
        self._opened_ms: int | None = None
        self._error: OSError | None = None

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if self._opened_ms is None and not await self._opened(wait_ms):
            raise OSError(self._pause.reason)
        found = await self._come(max_messages, wait_ms)
        if not found and self._error is not None:
            self._failed(self._error)
            raise self._error
        return found

    async def _opened(self, wait_ms: int) -> bool:
        """False while the pause behind the last failure is not over."""
        clock = self._place.clock
        rest_ms = self._pause.rest_ms(clock.monotonic_ms())
        if rest_ms:
            await clock.sleep_ms(min(rest_ms, wait_ms))
            if self._pause.rest_ms(clock.monotonic_ms()):
                return False
        try:
            await self._connection.open(self._url)
        except OSError as error:
            self._failed(error)
            raise
        self._opened_ms, self._error = clock.monotonic_ms(), None
        return True

    def _failed(self, error: OSError) -> None:
        self._no_longer_open()
        self._pause.failed(self._place.clock.monotonic_ms(), str(error))

    def _no_longer_open(self) -> None:
        opened_ms, self._opened_ms = self._opened_ms, None
        if opened_ms is not None and self._place.clock.monotonic_ms() - opened_ms >= STEADY_MS:
            self._pause.connected()

    async def _come(self, max_messages: int, wait_ms: int) -> list[Received]:
        """What ends the connection is kept until all before it has been taken."""
        found: list[Received] = []
        while len(found) < max_messages and self._error is None:
            try:
                payload = await self._connection.heard(0 if found else wait_ms)
            except TooLargeError as error:
                found.append(Received(b"", refused=str(error)))
                self._error = OSError(f"{self._url}: {error}")
            except OSError as error:
                self._error = error
            else:
                if payload is None:
                    break
                found.append(Received(payload))
        return found

    async def close(self) -> Sequence[Received]:
        """What had come is not given again by anybody."""
        left: list[Received] = []
        while self._opened_ms is not None and (more := await self._come(len(left) + 1, 0)):
            left += more
        await self._connection.close()
        self._no_longer_open()
        if not self._pause.has_failed:
            forget(self._place)
        return left


class WebSocketSink(Sink):
    """Option: `url`. Text messages, or binary ones for a mapper that writes no text: all alike."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url = options["url"]
        self._connection = Connection(options)
        self._answers: asyncio.Task[None] | None = None

    async def send(self, message: Message) -> None:
        url = message.fill(self._url)
        if not self._connection.is_open(url):
            await self._open(url)
        # By the form: bytes of a binary one may happen to be a text.
        payload: str | bytes = message.payload
        if _is_text(message.content_type):
            # Not so of a form that has no content type of its own.
            with contextlib.suppress(UnicodeDecodeError):
                payload = message.payload.decode()
        await self._connection.send(payload)

    async def _open(self, url: str) -> None:
        await self.close()
        try:
            await self._connection.open(url)
        except ValueError as error:  # aiohttp.InvalidURL is one, too
            if "{{" in self._url:
                raise MessageRefusedError(f"{url[:200]!r} is no address") from error
            raise OSError(f"'url' is no address: {error}") from error
        self._answers = asyncio.ensure_future(self._drop_answers())

    async def _drop_answers(self) -> None:
        """Unread, they would fill the buffers, and the server would read no more."""
        try:
            while True:
                await self._connection.heard(ANSWERS_WAIT_MS)
        except OSError:
            # The next message opens another connection, which tells what is wrong.
            await self._connection.close()

    async def close(self) -> None:
        answers, self._answers = self._answers, None
        if answers is not None:
            answers.cancel()
            await asyncio.wait([answers])
        await self._connection.close()


def _is_text(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind.startswith("text/") or kind.endswith(("+json", "+xml")) or kind in _TEXTS
