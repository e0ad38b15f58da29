"""Who sends to a source: numbers from 0 on, as the protocol asks it of a careful sender.

A sender that is told what was taken repeats until it is told; others send once and go on.
"""

from __future__ import annotations

import asyncio
import json
from typing import Final

import aiohttp

from lockstep.clock import SystemClock

CLOCK: Final = SystemClock()
RATE: Final = 1.5
"""Numbers a second, of each sender."""
PAUSE_MS: Final = 100
ANSWER_S: Final = 5.0
AGAIN: Final = (OSError, aiohttp.ClientError, asyncio.IncompleteReadError, TimeoutError)
UNREADABLE: Final = b"this is nothing {"


def body(number: int) -> bytes:
    """A message in the plain form; a negative number makes one that cannot be read."""
    return UNREADABLE if number < 0 else json.dumps({"event": {"n": number}}).encode()


class Sender:
    """Numbers 0, 1, 2, … `rate` a second. `send` raises one of AGAIN, or what it names itself."""

    again: tuple[type[Exception], ...] = AGAIN
    is_told = False
    """What cannot be read is refused in the answer, and is no dead letter."""

    def __init__(self, rate: float = RATE) -> None:
        self._every_ms = round(1_000 / rate)
        self.sent = 0
        self.poisoned = 0
        self.refused = 0
        """Of the poisoned ones, where the sender is told so at once."""
        self._poison = 0
        self.done = asyncio.Event()

    async def run(self) -> None:
        """Until `done` is set; all of them are taken then, if anybody says so."""
        while not self.done.is_set():
            await self._sent(self.sent)
            self.sent += 1
            if self._poison:
                self._poison -= 1
                await self._sent(-1 - self.poisoned)
                self.poisoned += 1
            await CLOCK.sleep_ms(self._every_ms)
        await self.close()

    def poison(self) -> None:
        """The next message but one cannot be read."""
        self._poison += 1

    async def _sent(self, number: int) -> None:
        while True:
            try:
                return await self.send(number)
            except self.again:
                await CLOCK.sleep_ms(PAUSE_MS)

    async def send(self, number: int) -> None:
        """A negative number: one that cannot be read."""
        raise NotImplementedError

    async def close(self) -> None:
        """Gives connections back."""
