"""A host's leases: the memory adapter at the far end of the simulated network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from lockstep.clock import Clock, Randomness
from lockstep.leader import Lease
from lockstep.leader.memory import LeaseTable, MemoryLeases
from tests.simulation.loop import Host
from tests.simulation.network import Network, at_once, serving

LEASES: Final = "leases"
TIMEOUT_MS: Final = 250


class SimLeases:
    """See the contract. An expiry counts from before the request was sent."""

    def __init__(
        self,
        network: Network,
        host: Host,
        table: LeaseTable,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._network = network
        self._host = host
        self._clock = clock
        self._there = MemoryLeases(table, clock, randomness)

    async def acquire(self, resource: str, holder: str, *, ttl_ms: int) -> Lease | None:
        """See the contract."""
        started_ms = self._clock.monotonic_ms()
        lease: Lease | None = await self._ask("acquire", resource, holder, ttl_ms=ttl_ms)
        return lease and replace(lease, expires_at_monotonic_ms=started_ms + ttl_ms)

    async def renew(self, lease: Lease) -> Lease | None:
        """See the contract."""
        started_ms = self._clock.monotonic_ms()
        renewed: Lease | None = await self._ask("renew", lease)
        return renewed and replace(renewed, expires_at_monotonic_ms=started_ms + lease.ttl_ms)

    async def release(self, lease: Lease) -> bool:
        """See the contract."""
        done: bool = await self._ask("release", lease)
        return done

    async def holder(self, resource: str) -> str | None:
        """See the contract."""
        found: str | None = await self._ask("holder", resource)
        return found

    async def hand_over(self, lease: Lease, to: str) -> bool:
        """See the contract."""
        done: bool = await self._ask("hand_over", lease, to)
        return done

    async def healthy(self) -> bool:
        """See the contract."""
        return True

    async def close(self) -> None:
        """See the contract."""

    async def _ask(self, name: str, *args: object, **more: object) -> Any:
        work = getattr(self._there, name)
        serve = serving(lambda: at_once(work(*args, **more)))
        return await self._network.call(self._host, LEASES, serve, timeout_ms=TIMEOUT_MS)
