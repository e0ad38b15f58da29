"""Whether the bus still answers this replica.

A leader that can renew its lease but cannot reach the output log would keep everybody waiting: it
has to notice, and give the lead away. One that only cannot reach the lease server is stopped by the
log itself as soon as another one has claimed it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from lockstep.clock import Clock

POLL_MS: Final = 100


class LogHearing:
    """`run` in one task. Asks the bus only while nothing else has shown that it answers.

    It is asked after a third of `patience_ms` of silence, and counts as out of reach (`is_deaf`)
    after all of it, until it answers again.
    """

    def __init__(
        self, healthy: Callable[[], Awaitable[bool]], clock: Clock, *, patience_ms: int
    ) -> None:
        self._healthy = healthy
        self._clock = clock
        self._patience_ms = patience_ms
        self._heard_ms = clock.monotonic_ms()
        self.is_deaf = False

    @property
    def silent_ms(self) -> int:
        """For how long nothing has been heard."""
        return self._clock.monotonic_ms() - self._heard_ms

    def heard(self) -> None:
        """The log has answered just now, whatever it said."""
        self._heard_ms = self._clock.monotonic_ms()
        self.is_deaf = False

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if self.silent_ms >= self._patience_ms // 3:
                if await self._healthy():
                    self.heard()
                else:
                    self.is_deaf = self.silent_ms >= self._patience_ms
            await self._clock.sleep_ms(POLL_MS)
