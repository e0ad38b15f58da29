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
    """`on_death` is told of the holder who refused us, should its process die; `on_lost` and
    `on_vacant` what the lease server says of itself."""

    def __init__(
        self,
        site: Site,
        *,
        on_death: Callable[[Held], None],
        on_lost: Callable[[], None],
        on_vacant: Callable[[], None],
    ) -> None:
        self._site = site
        self._on_death, self._on_lost, self._on_vacant = on_death, on_lost, on_vacant
        self._leases, self._holders = site.leases, site.holders
        self._holder: Held | None = None

    @property
    def resource(self) -> str:
        """What the lease is about."""
        name = self._site.name
        return f"processor/{name.app}/{name.group}/{name.partition}"

    @property
    def is_kept(self) -> bool:
        """It is ours, and renewed with the others of this process."""
        return self._leases.lease(self.resource) is not None

    def watch(self) -> None:
        """Until `abandon`."""
        self._leases.watch(self.resource, self)

    def lost(self) -> None:
        """See the roll's `Watcher`."""
        self._site.metrics.count("lockstep_lease_lost_total", resource=self.resource)
        self._on_lost()

    def vacant(self) -> None:
        """See the roll's `Watcher`."""
        self._on_vacant()

    def taken(self, held: Held) -> None:
        """See the roll's `Watcher`: its death is waited for."""
        self._holder = held
        self._holders.mind(self.resource, held, self._on_death)

    async def carry_out(self, instruction: AboutLease) -> facts.Fact:
        """UnavailableError where the server did not answer."""
        match instruction:
            case todo.AcquireLease(instead_of):
                return await self._acquire(instead_of)
            case todo.RenewLease():
                if await self._leases.renew(self.resource):
                    return facts.LeaseRenewed()
                self._site.metrics.count("lockstep_lease_lost_total", resource=self.resource)
                return facts.LeaseLost()
            case todo.ReleaseLease():
                await self._leases.release(self.resource)
            case todo.HandOverLease(to):
                handed = await self._leases.hand_over(self.resource, to)
                self._site.log.info("handed over", to=to, handed=handed)
                topics, unit = self._site.world.bus.topics, self._site.unit
                await topics.publish(LEASE_NUDGE, unit.encode())
        return facts.LeaseGivenBack()

    async def abandon(self) -> None:
        """Gives it back if that is possible."""
        try:
            await self._leases.forget(self.resource)
        except UnavailableError as error:
            self._site.log.info("lease left to run out", error=str(error))

    def doubt(self) -> None:
        """Whoever held it may have given it back."""
        self._leases.doubt(self.resource)

    def forget_holder(self) -> None:
        """Nobody waits for its death any more."""
        self._holders.forget(self.resource)

    async def _acquire(self, instead_of: str) -> facts.Fact:
        if not instead_of and self._leases.other(self.resource) is not None:
            # Known from the look at all leases that this process waits for.
            return facts.LeaseRefused()
        holder = None
        if instead_of and self._holder and self._holder.token == instead_of:
            holder = self._holder
        found = await self._leases.acquire(self.resource, instead_of=holder)
        if isinstance(found, Lease):
            self._holder = None
            self.forget_holder()
            if holder is not None:
                self._site.log.info("lease taken from the dead", holder=holder.holder)
            return facts.LeaseAcquired()
        self.taken(found)
        return facts.LeaseRefused()
