"""Messages that come by themselves, until the receiver asks for them: bounded, so senders wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Final

from lockstep.sources.contract import Received

MAX_MESSAGES: Final = 1_024


class InboxEndedError(ConnectionError):
    """Nobody reads any more: what brings messages ends, so that its sender learns it."""


class Inbox:
    """`put` waits while it is full; `take` waits for the first. `fail` makes the next `take` raise
    when everything before has been taken. `end` makes each `put` raise, also one that waits."""

    def __init__(self, max_messages: int = MAX_MESSAGES) -> None:
        self._max_messages = max_messages
        self._waiting: deque[Received] = deque()
        self._changed = asyncio.Condition()
        self._error: Exception | None = None
        self._is_ended = False

    async def put(self, message: Received) -> None:
        """In order of the calls. InboxEndedError, an OSError: it was not put."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: self._is_ended or len(self._waiting) < self._max_messages
            )
            if self._is_ended:
                raise InboxEndedError("nobody reads these messages any more")
            self._waiting.append(message)
            self._changed.notify_all()

    async def fail(self, error: Exception) -> None:
        """Whoever reads has to begin again."""
        async with self._changed:
            self._error = error
            self._changed.notify_all()

    async def end(self) -> None:
        """Nothing more comes in; what is in it may still be taken. Idempotent."""
        async with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    async def take(self, max_messages: int, wait_ms: int) -> Sequence[Received]:
        """Up to so many; none when nothing came in time."""
        try:
            async with asyncio.timeout(wait_ms / 1000), self._changed:
                await self._changed.wait_for(lambda: self._waiting or self._error)
                if not self._waiting and self._error is not None:
                    error, self._error = self._error, None
                    raise error
                return self._some(max_messages)
        except TimeoutError:
            return ()

    def left(self) -> Sequence[Received]:
        """All that is in it, without waiting."""
        return self._some(len(self._waiting))

    def _some(self, count: int) -> list[Received]:
        found = [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]
        self._changed.notify_all() if self._changed.locked() else None
        return found
