"""Whether this process reaches anybody who decides where units run.

One that reaches neither the lease server nor a coordinator for `processor.isolation_timeout_ms` is
cut off: its units run elsewhere by then, or will. One of the two is enough to go on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from lockstep.clock import Clock
from lockstep.telemetry import Logger

LOOKS_PER_LIMIT: Final = 10

Step = Callable[[], Awaitable[None]]


class Contact:
    """`run` in a supervised task. `on_lost` and `on_back` are called in turn, when it changes."""

    def __init__(
        self,
        reaches: Callable[[], Awaitable[bool]],
        clock: Clock,
        log: Logger,
        *,
        limit_ms: int,
        on_lost: Step,
        on_back: Step,
    ) -> None:
        self._reaches = reaches
        self._clock = clock
        self._log = log
        self._limit_ms = limit_ms
        self._on_lost = on_lost
        self._on_back = on_back
        self._reached_ms = clock.monotonic_ms()
        self.is_lost = False

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep_ms(max(1, self._limit_ms // LOOKS_PER_LIMIT))

    async def look(self) -> None:
        """Asks once, and tells what has changed."""
        asked_ms = self._clock.monotonic_ms()
        if await self._reaches():
            self._reached_ms = self._clock.monotonic_ms()
            if self.is_lost:
                self.is_lost = False
                self._log.info("in contact again")
                await self._on_back()
        elif not self.is_lost and asked_ms - self._reached_ms > self._limit_ms:
            self.is_lost = True
            silent_ms = asked_ms - self._reached_ms
            self._log.error("cut off from lease server and coordinators", silent_ms=silent_ms)
            await self._on_lost()
