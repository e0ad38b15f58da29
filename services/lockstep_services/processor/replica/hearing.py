"""Whether the bus still answers this replica.

A leader that can renew its lease but cannot reach the output log would keep everybody waiting: it
has to notice, and give the lead away. One that only cannot reach the lease server is stopped by the
log itself as soon as another one has claimed it.

How soon is a matter of speed alone: the log refuses whoever was replaced, at any patience. Too
early, and the lead moves whenever the bus stumbles for everybody; too late, and nobody publishes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from lockstep.clock import Clock
from lockstep_services.processor.replica.standby import WARM

POLL_MS: Final = 100
WARM_PATIENCE_TTLS: Final = 3


def patience_ms(standby: str, lease_ttl_ms: int) -> int:
    """For how long a silent bus is waited for before the lead is given away.

    A hot standby goes on within milliseconds, so a lead that moves for nothing costs nothing: half
    a lease's life beyond what a dead leader's lease takes to run out, in which a connection can
    move to another server. A warm one has to restore and fold first, which has to be worth it.
    """
    return WARM_PATIENCE_TTLS * lease_ttl_ms if standby == WARM else 3 * lease_ttl_ms // 2


class LogHearing:
    """Of a process; `run` in one task. Asks the bus only while nothing else has shown that it
    answers.

    It is asked after `ask_after_ms` of silence. It counts as out of reach for whoever has waited
    for `patience_ms` without an answer, until it answers again. `watch`ers are called whenever it
    did not answer. While this process itself is held up it hears nobody: that is no silence of the
    bus. Else a machine that is too busy for a second would give a thousand leads away at a time,
    which is more work for it.
    """

    def __init__(
        self,
        healthy: Callable[[], Awaitable[bool]],
        clock: Clock,
        *,
        ask_after_ms: int,
    ) -> None:
        self._healthy = healthy
        self._clock = clock
        self._ask_after_ms = ask_after_ms
        self._heard_ms = clock.monotonic_ms()
        self._has_failed = False
        self._watchers: set[Callable[[], None]] = set()

    def watch(self, on_silence: Callable[[], None]) -> Callable[[], None]:
        """Gives what ends it."""
        self._watchers.add(on_silence)
        return lambda: self._watchers.discard(on_silence)

    def is_deaf(self, patience_ms: int) -> bool:
        """It was asked and did not answer, and nothing was heard for so long."""
        return self._has_failed and self.silent_ms >= patience_ms

    @property
    def silent_ms(self) -> int:
        """For how long nothing has been heard."""
        return self._clock.monotonic_ms() - self._heard_ms

    def heard(self) -> None:
        """The log has answered just now, whatever it said."""
        self._heard_ms = self._clock.monotonic_ms()
        self._has_failed = False

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if self.silent_ms >= self._ask_after_ms:
                if await self._healthy():
                    self.heard()
                else:
                    self._has_failed = True
                    for each in list(self._watchers):
                        each()
            due_ms = self._clock.monotonic_ms() + POLL_MS
            await self._clock.sleep_ms(POLL_MS)
            self._excuse(self._clock.monotonic_ms() - due_ms)

    def _excuse(self, late_ms: int) -> None:
        """This process goes on so much later than it wanted to."""
        if late_ms >= POLL_MS:
            self._heard_ms = min(self._heard_ms + late_ms, self._clock.monotonic_ms())
