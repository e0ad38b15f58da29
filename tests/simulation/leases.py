"""A host's leases: the memory adapter at the far end of the simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import structs

from lockstep.clock import Clock, Randomness
from lockstep.events import UnavailableError
from lockstep.leader import Held, Lease, Renewal
from lockstep.leader.memory import LeaseTable, MemoryLeases
from tests.simulation.loop import Host
from tests.simulation.network import Network, at_once, serving

LEASES: Final = "leases"
TIMEOUT_MS: Final = 250


@dataclass
class RecordedTable(LeaseTable):
    """Notes who lost a lease that had not ended to somebody else, while being connected."""

    robbed: list[tuple[str, str]] = field(default_factory=list)

    def hold(self, resource: str, held: Held, ttl_ms: int) -> None:
        """See LeaseTable."""
        before = self.present(resource)
        is_other = before is not None and before.token not in ("", held.token)
        if before is not None and is_other and before.process in self.connections:
            self.robbed.append((resource, before.holder))
        super().hold(resource, held, ttl_ms)


class SimLeases:
    """See the contract. An expiry counts from before the request was sent.

    `aside` is the network with a randomness of its own, for what is asked all the time.
    """

    def __init__(
        self,
        network: Network,
        aside: Network,
        host: Host,
        table: LeaseTable,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._network = network
        self._aside = aside
        self._table = table
        self._host = host
        self._clock = clock
        self._there = MemoryLeases(table, clock, randomness)

    @property
    def process(self) -> str:
        """See the contract."""
        return self._there.process

    async def acquire(
        self, resource: str, holder: str, *, ttl_ms: int, instead_of: Held | None = None
    ) -> Lease | Held:
        """See the contract."""
        started_ms = self._clock.monotonic_ms()
        found: Lease | Held = await self._ask(
            "acquire", resource, holder, ttl_ms=ttl_ms, instead_of=instead_of
        )
        if isinstance(found, Held):
            return found
        return structs.replace(found, expires_at_monotonic_ms=started_ms + ttl_ms)

    async def appear(self) -> None:
        """See the contract. A cut does not close a connection, the server's going down does."""
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        serve = serving(lambda: self._table.connect(self.process, closed))
        try:
            await self._aside.call(self._host, LEASES, serve, timeout_ms=TIMEOUT_MS)
            await closed
        finally:
            self._table.disconnect(self.process, closed)
        raise UnavailableError("the connection was closed", where=LEASES)

    async def connected(self, processes: Collection[str]) -> frozenset[str]:
        """See the contract."""
        serve = serving(lambda: at_once(self._there.connected(processes)))
        found: frozenset[str] = await self._aside.call(
            self._host, LEASES, serve, timeout_ms=TIMEOUT_MS
        )
        return found

    async def renew(self, lease: Lease) -> Lease | None:
        """See the contract."""
        started_ms = self._clock.monotonic_ms()
        renewed: Lease | None = await self._ask("renew", lease)
        return renewed and structs.replace(
            renewed, expires_at_monotonic_ms=started_ms + lease.ttl_ms
        )

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        """See the contract."""
        expires_ms = self._clock.monotonic_ms() + ttl_ms
        wanted = [structs.replace(lease, ttl_ms=ttl_ms) for lease in leases]
        lost = [one.resource for one in wanted if await self.renew(one) is None]
        return Renewal(expires_ms, frozenset(lost))

    async def holders(self, resources: Sequence[str]) -> dict[str, Held]:
        """See the contract."""
        serve = serving(lambda: at_once(self._there.holders(resources)))
        found: dict[str, Held] = await self._aside.call(
            self._host, LEASES, serve, timeout_ms=TIMEOUT_MS
        )
        return found

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

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        """See the contract."""
        found: str = await self._ask("owner", suite, instead_of=instead_of)
        return found

    async def healthy(self) -> bool:
        """See the contract."""
        return True

    async def close(self) -> None:
        """See the contract."""

    async def _ask(self, name: str, *args: object, **more: object) -> Any:
        work = getattr(self._there, name)
        serve = serving(lambda: at_once(work(*args, **more)))
        return await self._network.call(self._host, LEASES, serve, timeout_ms=TIMEOUT_MS)
