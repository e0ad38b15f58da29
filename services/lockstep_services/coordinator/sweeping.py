"""The leading coordinator's sweep: what purged apps have left behind goes, whoever began to purge
them and whatever services that were cut off have made since; and it says whose logs were lost.
"""

from __future__ import annotations

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.frame import LeaseKeeper
from lockstep.telemetry import Logger
from lockstep_services.coordinator.app_logs import AppLogs

HELD_WAIT_MS = 1_000


class Sweeper:
    """`run` in a supervised task."""

    def __init__(
        self, logs: AppLogs, keeper: LeaseKeeper, clock: Clock, log: Logger, *, interval_ms: int
    ) -> None:
        self._logs = logs
        self._keeper = keeper
        self._clock = clock
        self._log = log
        self._interval_ms = interval_ms

    async def run(self) -> None:
        """As soon as the lease is held, and then from time to time; until cancelled."""
        while True:
            if not await self._keeper.wait_held(HELD_WAIT_MS):
                continue
            try:
                await self._logs.sweep()
                await self._logs.tell_lost()
            except UnavailableError as error:
                self._log.warning("logs are looked after later", error=str(error))
            await self._clock.sleep_ms(self._interval_ms)
