"""Keeping one lease: take it when it is free, renew it in time, know at any moment whether it
holds.

For work that one of several equal services does; what must never happen twice is guarded where it
lands, not here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.frame.holders import HolderWatch
from lockstep.frame.waiting import wait_set
from lockstep.leader import Held, Lease, Leases
from lockstep.settings import LeaderSettings
from lockstep.telemetry import Logger, Metrics


class LeaseKeeper:
    """Holds `resource` for `holder` whenever nobody else does, or who does has died.

    A lease that cannot be renewed runs out. Where it only spares work, and nobody can take over
    without the lease server anyway, `outlives` says whether the holder goes on while that is away;
    the server's first answer decides again.
    """

    def __init__(
        self,
        leases: Leases,
        holders: HolderWatch,
        resource: str,
        holder: str,
        clock: Clock,
        settings: LeaderSettings,
        metrics: Metrics,
        log: Logger,
        *,
        outlives: Callable[[], bool] = lambda: False,
    ) -> None:
        self._leases = leases
        self._holders = holders
        self._resource = resource
        self._holder = holder
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._outlives = outlives
        self._is_away = False
        self._lease: Lease | None = None
        self._changed = asyncio.Event()
        self._is_stopping = False
        self._due = asyncio.Event()
        self._died: Held | None = None

    @property
    def held(self) -> bool:
        """The lease is ours and has not run out, or is outlived."""
        lease = self._lease
        if lease is None:
            return False
        if self._clock.monotonic_ms() < lease.expires_at_monotonic_ms:
            return True
        return self._is_away and self._outlives()

    async def wait_held(self, limit_ms: int) -> bool:
        """True as soon as it is held; False when the time is up."""
        if self.held:
            return True
        await wait_set(self._changed, self._clock, limit_ms)
        return self.held

    async def run(self) -> None:
        """Keeps the lease until `release`; never raises UnavailableError."""
        while not self._is_stopping:
            self._due.clear()
            try:
                await self._step()
                self._found_away(None)
            except UnavailableError as error:
                self._found_away(error)
            self._show()
            await wait_set(self._due, self._clock, self._settings.renew_ms)

    async def release(self) -> None:
        """Gives it back and takes it no more."""
        self._is_stopping = True
        self._due.set()
        self._holders.forget(self._resource)
        lease, self._lease = self._lease, None
        self._show()
        if lease is not None:
            try:
                await self._leases.release(lease)
            except UnavailableError as error:
                self._log.info("lease left to run out", resource=self._resource, error=str(error))

    async def _step(self) -> None:
        before = self._lease
        if before is not None:
            self._lease = await self._leases.renew(before)
            if self._lease is None:
                self._metrics.count("lockstep_lease_lost_total", resource=self._resource)
                self._log.warning("lease lost", resource=self._resource)
        if self._lease is None and not self._is_stopping:
            await self._acquire()
        if self._lease is not before:
            self._changed.set()
            self._changed = asyncio.Event()

    async def _acquire(self) -> None:
        died, self._died = self._died, None
        found = await self._leases.acquire(
            self._resource, self._holder, ttl_ms=self._settings.lease_ttl_ms, instead_of=died
        )
        if isinstance(found, Lease):
            self._lease = found
            self._holders.forget(self._resource)
            self._log.info("lease taken", resource=self._resource, instead_of=died and died.holder)
        elif not self._is_stopping:
            self._holders.mind(self._resource, found, self._hear_death)

    def _hear_death(self, held: Held) -> None:
        self._died = held
        self._due.set()

    def _found_away(self, error: UnavailableError | None) -> None:
        """Says once that the server is away, and once that it is back."""
        was_away, self._is_away = self._is_away, error is not None
        if error is not None and not was_away:
            self._log.warning("the lease server is away", resource=self._resource, error=str(error))
        if error is None and was_away:
            self._log.info("the lease server is back", resource=self._resource, held=self.held)

    def _show(self) -> None:
        self._metrics.set("lockstep_lease_held", 1 if self.held else 0, resource=self._resource)
