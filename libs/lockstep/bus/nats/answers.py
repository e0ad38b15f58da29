"""Who waits for what comes to an inbox of ours; all learn at once when the connection is lost."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nats.aio.msg import Msg

from lockstep.bus.nats.errors import translated

E = TypeVar("E", bound=Exception)
Send = Callable[[str], Awaitable[None]]


class Answers:
    """`take` hears everything below `inbox`, which has to be set first."""

    def __init__(self) -> None:
        self.inbox = ""
        self.refusal: Callable[[], Exception] | None = None
        """Set while nothing can come: why."""
        self._tokens = itertools.count()
        self._waiting: dict[str, tuple[str, asyncio.Future[Msg]]] = {}

    @property
    def pattern(self) -> str:
        """What `take` has to be subscribed to."""
        return f"{self.inbox}.*"

    async def exchange(self, where: str, send: Send, *, timeout_ms: int) -> Msg:
        """The first message to the subject that `send` is given; UnavailableError."""
        if self.refusal is not None:
            raise self.refusal()
        token = str(next(self._tokens))
        answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[token] = where, answer
        try:
            with translated(where):
                async with asyncio.timeout(timeout_ms / 1000):
                    await send(f"{self.inbox}.{token}")
                    return await answer
        finally:
            self._waiting.pop(token, None)

    async def take(self, message: Msg) -> None:
        """A message has come."""
        _, answer = self._waiting.get(message.subject.rpartition(".")[2], ("", None))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def refused(self, subject: str, error: Callable[[str], E]) -> E | None:
        """Nothing was taken that was sent to a subject, which is given in small letters: whoever
        waits for an answer from there is told. The last one's error."""
        last = None
        for token, (where, answer) in self._waiting.items():
            sent = (where, f"{self.inbox}.{token}")
            to = next((one for one in sent if one.casefold() == subject), None)
            if to is not None and not answer.done():
                last = error(to)
                answer.set_exception(last)
        return last

    def lost(self, error: Callable[[], Exception]) -> None:
        """Nothing comes any more for those who wait now: each is told."""
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error())
