"""The lease of one replica: what asking for it, keeping it and giving it away come to, as the
protocol's facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lockstep.bus import control_subject
from lockstep.events import UnavailableError
from lockstep.leader import Held, Lease
from lockstep.leader.protocol import facts
from lockstep.leader.protocol import instructions as todo
from lockstep_services.processor.replica.site import Site

LEASE_NUDGE: Final = control_subject("lease")
"""Says which app's lease may have become free just now."""

AboutLease = todo.AcquireLease | todo.RenewLease | todo.ReleaseLease | todo.HandOverLease


class Leasing:
    """`on_death` is told of the holder who refused us, should its process die."""

    def __init__(self, site: Site, on_death: Callable[[Held], None]) -> None:
        self._site = site
        self._on_death = on_death
        self._leases, self._holders = site.world.leases, site.holders
        self._lease: Lease | None = None
        self._holder: Held | None = None

    @property
    def resource(self) -> str:
        """What the lease is about."""
        name = self._site.name
        return f"processor/{name.app}/{name.group}/{name.partition}"

    async def carry_out(self, instruction: AboutLease) -> facts.Fact:
        """UnavailableError where the server did not answer."""
        lease = self._lease
        match instruction:
            case todo.AcquireLease(instead_of):
                return await self._acquire(instead_of)
            case todo.RenewLease():
                self._lease = None if lease is None else await self._leases.renew(lease)
                if self._lease is not None:
                    return facts.LeaseRenewed()
                self._site.metrics.count("lockstep_lease_lost_total", resource=self.resource)
                return facts.LeaseLost()
            case todo.ReleaseLease():
                self._lease = None
                if lease is not None:
                    await self._leases.release(lease)
            case todo.HandOverLease(to):
                self._lease = None
                handed = lease is not None and await self._leases.hand_over(lease, to)
                self._site.log.info("handed over", to=to, handed=handed)
                topics, unit = self._site.world.bus.topics, self._site.unit
                await topics.publish(LEASE_NUDGE, unit.encode())
        return facts.LeaseGivenBack()

    async def abandon(self) -> None:
        """Gives it back if that is possible."""
        lease, self._lease = self._lease, None
        if lease is not None:
            try:
                await self._leases.release(lease)
            except UnavailableError as error:
                self._site.log.info("lease left to run out", error=str(error))

    def forget_holder(self) -> None:
        """Nobody waits for its death any more."""
        self._holders.forget(self.resource)

    async def _acquire(self, instead_of: str) -> facts.Fact:
        holder = self._holder if self._holder and self._holder.token == instead_of else None
        found = await self._leases.acquire(
            self.resource, self._site.node,
            ttl_ms=self._site.settings.leader.lease_ttl_ms, instead_of=holder,
        )  # fmt: skip
        if isinstance(found, Lease):
            self._lease, self._holder = found, None
            self.forget_holder()
            if holder is not None:
                self._site.log.info("lease taken from the dead", holder=holder.holder)
            return facts.LeaseAcquired()
        self._lease, self._holder = None, found
        self._holders.mind(self.resource, found, self._on_death)
        return facts.LeaseRefused()
