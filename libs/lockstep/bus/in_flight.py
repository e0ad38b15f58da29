"""How much may be on its way to the server at once; first come, first sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from lockstep.events import UnavailableError


class InFlight:
    """Lets a message pass when there is room; one alone always passes, whatever its size.

    Who gets no room within `timeout_ms` is told UnavailableError.
    """

    def __init__(self, max_messages: int, max_bytes: int, timeout_ms: int) -> None:
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._timeout_ms = timeout_ms
        self._messages = 0
        self._bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @contextlib.asynccontextmanager
    async def passing(self, size_bytes: int) -> AsyncIterator[None]:
        """Holds the message's share of the room until its end."""
        if self._waiting or not self._fits(size_bytes):
            admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((size_bytes, admitted))
            try:
                async with asyncio.timeout(self._timeout_ms / 1000):
                    await admitted
            except (asyncio.CancelledError, TimeoutError) as error:
                if admitted.done() and not admitted.cancelled():
                    self._leave(size_bytes)
                if isinstance(error, TimeoutError):
                    raise UnavailableError("what was sent before is still under way") from error
                raise
        else:
            self._enter(size_bytes)
        try:
            yield
        finally:
            self._leave(size_bytes)

    def _fits(self, size_bytes: int) -> bool:
        room = self._messages < self._max_messages and self._bytes + size_bytes <= self._max_bytes
        return room or self._messages == 0

    def _enter(self, size_bytes: int) -> None:
        self._messages += 1
        self._bytes += size_bytes

    def _leave(self, size_bytes: int) -> None:
        self._messages -= 1
        self._bytes -= size_bytes
        while self._waiting:
            size_bytes, admitted = self._waiting[0]
            if admitted.done():  # cancelled while it waited
                self._waiting.popleft()
            elif self._fits(size_bytes):
                self._waiting.popleft()
                self._enter(size_bytes)
                admitted.set_result(None)
            else:
                return
