"""Keeping one lease: take it when it is free, renew it in time, know at any moment whether it
holds.

For work that one of several equal services does; what must never happen twice is guarded where it
lands, not here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lockstep.clock import Clock, wait_set
from lockstep.events import UnavailableError
from lockstep.frame.holders import HolderWatch
from lockstep.leader import Held, Lease
from lockstep.leader.roll import LeaseRoll
from lockstep.settings import LeaderSettings
from lockstep.telemetry import Logger, Metrics

LOOK_TTLS: Final = 10
"""In so many lives of a lease a keeper looks by itself: else it is told."""


class LeaseKeeper:
    """Holds `resource` whenever nobody else does, or who does has died. The roll of the process
    renews it until `release`.

    A lease that cannot be renewed runs out. Where it only spares work, and nobody can take over
    without the lease server anyway, `outlives` says whether the holder goes on while that is away;
    the server's first answer decides again.
    """

    def __init__(
        self,
        roll: LeaseRoll,
        holders: HolderWatch,
        resource: str,
        clock: Clock,
        settings: LeaderSettings,
        metrics: Metrics,
        log: Logger,
        *,
        outlives: Callable[[], bool] = lambda: False,
    ) -> None:
        self._roll = roll
        self._holders = holders
        self._resource = resource
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._outlives = outlives
        self._changed = asyncio.Event()
        self._is_stopping = False
        self._due = asyncio.Event()
        self._died: Held | None = None

    @property
    def held(self) -> bool:
        """The lease is ours and has not run out, or is outlived."""
        lease = self._roll.lease(self._resource)
        if lease is None:
            return False
        if self._clock.monotonic_ms() < lease.expires_at_monotonic_ms:
            return True
        return self._roll.is_away and self._outlives()

    async def wait_held(self, limit_ms: int) -> bool:
        """True as soon as it is held; False when the time is up."""
        if self.held:
            return True
        await wait_set(self._changed, self._clock, limit_ms)
        return self.held

    async def wait_lost(self, limit_ms: int) -> bool:
        """True as soon as it is known to be lost; False when the time is up and it is held."""
        if self.held:
            await wait_set(self._changed, self._clock, limit_ms)
        return not self.held

    async def run(self) -> None:
        """Keeps the lease until `release`; never raises UnavailableError."""
        if not self._is_stopping:
            self._roll.watch(self._resource, self)
        while not self._is_stopping:
            self._due.clear()
            pause_ms = LOOK_TTLS * self._settings.lease_ttl_ms
            try:
                if self._roll.lease(self._resource) is None:
                    await self._acquire()
            except UnavailableError:
                pause_ms = self._settings.renew_ms
            self._show()
            await wait_set(self._due, self._clock, pause_ms)

    async def release(self) -> None:
        """Gives it back and takes it no more."""
        self._is_stopping = True
        self._due.set()
        self._holders.forget(self._resource)
        try:
            await self._roll.forget(self._resource)
        except UnavailableError as error:
            self._log.info("lease left to run out", resource=self._resource, error=str(error))
        self._change()

    def lost(self) -> None:
        """See the roll's `Watcher`."""
        self._metrics.count("lockstep_lease_lost_total", resource=self._resource)
        self._log.warning("lease lost", resource=self._resource)
        self._change()
        self._due.set()

    def vacant(self) -> None:
        """See the roll's `Watcher`."""
        self._due.set()

    def taken(self, held: Held) -> None:
        """See the roll's `Watcher`."""
        self._holders.mind(self._resource, held, self._hear_death)

    async def _acquire(self) -> None:
        died, self._died = self._died, None
        found = await self._roll.acquire(self._resource, instead_of=died)
        if self._is_stopping:
            await self._roll.forget(self._resource)
        elif isinstance(found, Lease):
            self._holders.forget(self._resource)
            self._log.info("lease taken", resource=self._resource, instead_of=died and died.holder)
            self._change()
        else:
            self.taken(found)

    def _hear_death(self, held: Held) -> None:
        self._died = held
        self._due.set()

    def _change(self) -> None:
        self._show()
        self._changed.set()
        self._changed = asyncio.Event()

    def _show(self) -> None:
        if self._is_stopping:  # it is nobody's business here any more
            self._metrics.forget("lockstep_lease_held", resource=self._resource)
            self._metrics.forget("lockstep_lease_lost_total", resource=self._resource)
            return
        self._metrics.set("lockstep_lease_held", 1 if self.held else 0, resource=self._resource)
