"""A mailbox on live topics: at most once, shared by name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from lockstep.bus.contract import Mail
from lockstep.bus.kafka.live import Message
from lockstep.bus.live_mail import LiveMail
from lockstep.clock import Clock


class KafkaMailbox:
    """One reader. Over its limit the newest message is lost and told."""

    def __init__(self, limit_messages: int, clock: Clock) -> None:
        self._mail = LiveMail(limit_messages, clock)
        self.leave: list[Callable[[], Awaitable[None]]] = []
        self.read = self._mail.read

    def take(self, message: Message) -> None:
        """It is for this reader."""
        self._mail.offer(message.subject, message.payload, message.headers)

    async def close(self) -> Sequence[Mail]:
        leaving, self.leave = self.leave, []
        await asyncio.gather(*(leave() for leave in leaving))
        return self._mail.rest()
