"""Messages of live topics that wait for the reader of a mailbox: at most once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from lockstep.bus.contract import Mail
from lockstep.bus.losses import Losses
from lockstep.bus.subjects import ID_HEADER
from lockstep.clock import Clock, wait_set


class LiveMail:
    """At most `limit_messages`. Over it the newest is lost, and told."""

    def __init__(self, limit_messages: int, clock: Clock) -> None:
        self._clock = clock
        self._limit_messages = limit_messages
        self._waiting: deque[Mail] = deque()
        self._arrived = asyncio.Event()
        self._losses = Losses(clock)

    def offer(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> None:
        """A message came."""
        if len(self._waiting) >= self._limit_messages:
            self._losses.lost(subject, "its reader lags")
            return
        self._losses.passed()
        given = dict(headers)
        self._waiting.append(Mail(subject, payload, given, given.get(ID_HEADER), _nothing))
        self._arrived.set()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        """What has come; waits for the first."""
        if not self._waiting:
            self._arrived.clear()
            await wait_set(self._arrived, self._clock, wait_ms)
        return [self._waiting.popleft() for _ in range(min(max_messages, len(self._waiting)))]

    def rest(self) -> Sequence[Mail]:
        """All that nobody has read."""
        left = list(self._waiting)
        self._waiting.clear()
        return left


async def _nothing() -> None:
    """Nobody waits to hear of it."""
