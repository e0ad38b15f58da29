"""A mailbox in memory: at most once, shared by name."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from lockstep.bus.contract import Mail
from lockstep.bus.subjects import ID_HEADER
from lockstep.clock import Clock


class MemoryMailbox:
    """One reader. Over its limit the newest message is lost, as in every live subscription."""

    def __init__(self, clock: Clock, limit_messages: int, on_close: Callable[[], object]) -> None:
        self._clock = clock
        self._limit_messages = limit_messages
        self._on_close = on_close
        self._waiting: deque[Mail] = deque()
        self._arrived = asyncio.Event()

    def offer(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> None:
        """A message came."""
        if len(self._waiting) < self._limit_messages:
            given = dict(headers)
            self._waiting.append(Mail(subject, payload, given, given.get(ID_HEADER), _nothing))
            self._arrived.set()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        if not self._waiting:
            self._arrived.clear()
            arriving = asyncio.ensure_future(self._arrived.wait())
            waiting = asyncio.ensure_future(self._clock.sleep_ms(wait_ms))
            try:
                await asyncio.wait({arriving, waiting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                arriving.cancel()
                waiting.cancel()
        count = min(max_messages, len(self._waiting))
        return [self._waiting.popleft() for _ in range(count)]

    async def close(self) -> Sequence[Mail]:
        self._on_close()
        left = list(self._waiting)
        self._waiting.clear()
        return left


async def _nothing() -> None:
    """Nobody waits to hear of it."""
