"""A mailbox on live topics: at most once, shared by name."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from lockstep.bus.contract import Mail
from lockstep.bus.kafka.live import Message
from lockstep.bus.subjects import ID_HEADER
from lockstep.telemetry import get_logger


class KafkaMailbox:
    """One reader. Over its limit the newest message is lost and told."""

    def __init__(self, limit_messages: int) -> None:
        self._limit_messages = limit_messages
        self._waiting: deque[Mail] = deque()
        self._arrived = asyncio.Event()
        self.leave: list[Callable[[], Awaitable[None]]] = []
        self._log = get_logger()

    def take(self, message: Message) -> None:
        """It is for this reader."""
        if len(self._waiting) >= self._limit_messages:
            self._log.warning("a message was lost: its reader lags", subject=message.subject)
            return
        headers = dict(message.headers)
        self._waiting.append(
            Mail(message.subject, message.payload, headers, headers.get(ID_HEADER), _nothing)
        )
        self._arrived.set()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        if not self._waiting:
            self._arrived.clear()
            try:
                async with asyncio.timeout(wait_ms / 1000):
                    await self._arrived.wait()
            except TimeoutError:
                return ()
        return [self._waiting.popleft() for _ in range(min(max_messages, len(self._waiting)))]

    async def close(self) -> Sequence[Mail]:
        leaving, self.leave = self.leave, []
        await asyncio.gather(*(leave() for leave in leaving))
        left = list(self._waiting)
        self._waiting.clear()
        return left


async def _nothing() -> None:
    """Nobody waits to hear of it."""
