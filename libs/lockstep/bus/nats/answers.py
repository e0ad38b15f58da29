"""Who waits for what comes to an inbox of ours; all learn at once when the connection is lost."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg

from lockstep.bus.nats.errors import translated

Send = Callable[[str], Awaitable[None]]


class Answers:
    """`take` hears everything below `inbox`, which has to be set first."""

    def __init__(self) -> None:
        self.inbox = ""
        self._tokens = itertools.count()
        self._waiting: dict[str, asyncio.Future[Msg]] = {}

    async def exchange(self, where: str, send: Send, *, timeout_ms: int) -> Msg:
        """The first message to the subject that `send` is given; UnavailableError."""
        token = str(next(self._tokens))
        answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[token] = answer
        try:
            with translated(where):
                async with asyncio.timeout(timeout_ms / 1000):
                    await send(f"{self.inbox}.{token}")
                    return await answer
        finally:
            self._waiting.pop(token, None)

    async def take(self, message: Msg) -> None:
        """A message has come."""
        answer = self._waiting.get(message.subject.rpartition(".")[2])
        if answer is not None and not answer.done():
            answer.set_result(message)

    def lost(self, error: Callable[[], Exception]) -> None:
        """Nothing comes any more for those who wait now: each is told."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error())
