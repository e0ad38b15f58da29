"""A mailbox in memory: at most once, shared by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.bus.contract import Mail
from lockstep.bus.live_mail import LiveMail
from lockstep.clock import Clock


class MemoryMailbox:
    """One reader. Over its limit the newest message is lost, as in every live subscription."""

    def __init__(self, clock: Clock, limit_messages: int, on_close: Callable[[], object]) -> None:
        self._mail = LiveMail(limit_messages, clock)
        self._on_close = on_close
        self.offer = self._mail.offer
        self.read = self._mail.read

    async def close(self) -> Sequence[Mail]:
        self._on_close()
        return self._mail.rest()
