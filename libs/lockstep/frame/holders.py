"""Watching the processes that hold the leases which this one waits for; being watched itself.

One connection and one question for the whole process, however many leases there are. Who holds one
and dies is noticed by its closed connection, before its lease runs out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NoReturn

from lockstep.clock import Clock, wait_set
from lockstep.events import UnavailableError
from lockstep.frame.tasks import run_side_by_side
from lockstep.leader import Held, Leases
from lockstep.leader.vigil import Vigil
from lockstep.settings import LeaderSettings
from lockstep.telemetry import Logger, Metrics, Seldom

OnDeath = Callable[[Held], None]
REFUSED_PAUSE_MS: Final = 5_000
"""Behind a connection that the lease server refuses: its operator has to mend that first."""
_UNNOTICED: Final = "deaths are not noticed: the lease server takes no connection to watch"


class HolderWatch:
    """Of one process; `run` in one task. Never raises UnavailableError: without the lease server
    nobody can take a lease anyway."""

    def __init__(
        self,
        leases: Leases,
        clock: Clock,
        settings: LeaderSettings,
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._leases = leases
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._vigil = Vigil(leases.process, settings.grace_ms, settings.distrust_ms)
        self._minded: dict[str, tuple[Held, OnDeath]] = {}
        self._look_due = asyncio.Event()
        self._connection = 0
        self._overlooked = asyncio.Event()
        self._unseen_ms: int | None = None
        self._seldom = Seldom()

    def mind(self, resource: str, held: Held, on_death: OnDeath) -> None:
        """Calls `on_death` once, should the holder's process die. One holder for each resource."""
        if not held.process or held.process == self._leases.process:
            self.forget(resource)
            return
        if not self._minded:
            self._look_due.set()
        self._minded[resource] = held, on_death

    def forget(self, resource: str) -> None:
        """Nobody waits for it any more."""
        self._minded.pop(resource, None)

    async def run(self) -> None:
        """Until cancelled."""
        await run_side_by_side(self._keep_appearing, self._keep_looking)

    async def _keep_appearing(self) -> None:
        """After a connection that lasted the next one is tried at once."""
        while True:
            self._connection += 1
            self._heard(is_seen=True)
            began_ms = self._clock.monotonic_ms()
            try:
                await run_side_by_side(self._leases.appear, self._until_overlooked)
            except UnavailableError as error:
                lasted_ms = self._clock.monotonic_ms() - began_ms
                if lasted_ms < self._settings.lease_ttl_ms:
                    self._tell_unnoticed(error)
                    retry_ms = self._settings.retry_ms
                    await self._clock.sleep_ms(retry_ms if error.retryable else REFUSED_PAUSE_MS)
                    continue
                self._log.warning(
                    "the connection to the lease server closed: others may take its leases",
                    error=str(error), lasted_ms=lasted_ms,
                )  # fmt: skip

    def _tell_unnoticed(self, error: UnavailableError) -> None:
        """The first time, and every so often while it goes on."""
        if self._seldom.is_due(_UNNOTICED, self._clock.monotonic_ms()):
            self._log.warning(_UNNOTICED, error=str(error))

    async def _until_overlooked(self) -> NoReturn:
        """Raises when the lease server has said for long that it does not know of the
        connection. Only its answers count: a process that was held up has not asked, and closing a
        connection that is whole would make others take it for dead.
        """
        await self._overlooked.wait()
        raise UnavailableError("the lease server does not see this process any more")

    def _heard(self, *, is_seen: bool) -> None:
        """What the lease server says of our own connection; the best while it says nothing."""
        now_ms = self._clock.monotonic_ms()
        if is_seen:
            self._unseen_ms = None
            self._overlooked.clear()
        elif self._unseen_ms is None:
            self._unseen_ms = now_ms
        elif now_ms - self._unseen_ms >= 2 * self._settings.lease_ttl_ms:
            self._overlooked.set()

    async def _keep_looking(self) -> None:
        """Seldom while there is nobody to look for."""
        while True:
            self._look_due.clear()
            try:
                await self._look()
            except UnavailableError as error:
                self._heard(is_seen=True)
                self._log.debug("lease server away", error=str(error))
            pause_ms = self._settings.watch_ms if self._minded else self._settings.lease_ttl_ms
            await wait_set(self._look_due, self._clock, pause_ms)

    async def _look(self) -> None:
        connection = self._connection
        watched = {held.process for held, _ in self._minded.values()}
        connected = await self._leases.connected(self._vigil.asks_about(watched))
        if connection != self._connection:
            return
        now_ms = self._clock.monotonic_ms()
        self._heard(is_seen=self._leases.process in connected)
        observed = self._vigil.observe(now_ms, connection, watched, connected)
        for process in observed.newly_dead:
            self._metrics.count("lockstep_holder_deaths_total")
            self._log.warning("a holder of leases has died", process=process)
        for process in observed.returned:
            self._metrics.count("lockstep_holder_wrong_deaths_total")
            self._log.warning(
                "a holder that was taken for dead lives: its leases are left to run out for now",
                process=process, distrust_ms=self._settings.distrust_ms,
            )  # fmt: skip
        self._tell(observed.dead)

    def _tell(self, dead: frozenset[str]) -> None:
        for resource, (held, on_death) in list(self._minded.items()):
            if held.process in dead:
                del self._minded[resource]
                on_death(held)
