"""A live subscription over any carrier: a bounded queue between the carrier and one reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable


class QueuedSubscription:
    """Carriers `offer`, one reader iterates. Over its limit the newest message is lost and counted:
    topics are at most once, and a reader that lags must not hold up the carrier."""

    def __init__(self, limit_messages: int, on_close: Callable[[], Awaitable[None]]) -> None:
        self._queue: asyncio.Queue[tuple[str, bytes] | None] = asyncio.Queue(limit_messages + 1)
        self._limit_messages = limit_messages
        self._on_close = on_close
        self._closed = False
        self.lost = 0

    def offer(self, subject: str, payload: bytes) -> None:
        """A message came."""
        if self._closed or self._queue.qsize() >= self._limit_messages:
            self.lost += 1
            return
        self._queue.put_nowait((subject, payload))

    async def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        """(subject, payload) pairs; ends when closed, after what had come before."""
        while (message := await self._queue.get()) is not None:
            yield message

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._queue.put_nowait(None)
            await self._on_close()
