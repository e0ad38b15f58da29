"""Leases in a table that lives in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from lockstep.clock import Clock, Randomness
from lockstep.events import UnavailableError
from lockstep.leader.contract import PROCESS_ENDS, Held, Lease, Renewal


@dataclass(frozen=True, slots=True)
class _Entry:
    held: Held
    until_ms: int


@dataclass
class LeaseTable:
    """What the lease server would hold, on a clock of its own. `connections`: of processes that
    live; each is told by its future when it is closed."""

    clock: Clock
    entries: dict[str, _Entry] = field(default_factory=dict)
    connections: dict[str, asyncio.Future[None]] = field(default_factory=dict)
    owner: str = ""

    def present(self, resource: str) -> Held | None:
        """Who holds the resource now."""
        entry = self.entries.get(resource)
        if entry is None or entry.until_ms <= self.clock.monotonic_ms():
            self.entries.pop(resource, None)
            return None
        return entry.held

    def has(self, lease: Lease) -> bool:
        """It has not ended, and is of this acquisition."""
        return self.present(lease.resource) == _held(lease)

    def hold(self, resource: str, held: Held, ttl_ms: int) -> None:
        """From now on, for as long."""
        self.entries[resource] = _Entry(held, self.clock.monotonic_ms() + ttl_ms)

    def may_replace(self, held: Held, instead_of: Held | None) -> bool:
        """The holder is the one that is meant, and its process is not connected."""
        is_meant = held == instead_of and bool(held.process)
        return is_meant and held.process not in self.connections

    def flush(self) -> None:
        """Forgets everything, as a server that lost its data."""
        self.entries.clear()
        self.owner = ""

    def connect(self, process: str, closed: asyncio.Future[None]) -> None:
        """In place of the connection that there may be."""
        self.hang_up(process)
        self.connections[process] = closed

    def disconnect(self, process: str, closed: asyncio.Future[None]) -> None:
        """That connection ends from the other side."""
        if self.connections.get(process) is closed:
            del self.connections[process]

    def hang_up(self, process: str) -> None:
        """Closes the connection of a process, if there is one."""
        closed = self.connections.pop(process, None)
        if closed is not None and not closed.done():
            closed.set_result(None)


class MemoryLeases:
    """See `lockstep.leader.Leases`. `reachable` and `answers_to_lose` are for tests."""

    def __init__(self, table: LeaseTable, clock: Clock, randomness: Randomness) -> None:
        self._table = table
        self._clock = clock
        self._randomness = randomness
        self.process = randomness.uuid_hex()
        self.reachable = True
        self.answers_to_lose = 0

    async def acquire(
        self, resource: str, holder: str, *, ttl_ms: int, instead_of: Held | None = None
    ) -> Lease | Held:
        self._send()
        started_ms = self._clock.monotonic_ms()
        held = self._table.present(resource)
        free = held is None or held == Held(holder, "")
        if held is not None and not free and not self._table.may_replace(held, instead_of):
            self._answer()
            return held
        token = f"{self.process}{PROCESS_ENDS}{self._randomness.uuid_hex()}"
        self._table.hold(resource, Held(holder, token), ttl_ms)
        self._answer()
        return Lease(resource, holder, token, ttl_ms, started_ms + ttl_ms)

    async def appear(self) -> None:
        self._send()
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._table.connect(self.process, closed)
        try:
            await closed
        finally:
            self._table.disconnect(self.process, closed)
        raise UnavailableError("the connection was closed", where="memory")

    async def connected(self, processes: Collection[str]) -> frozenset[str]:
        self._send()
        return frozenset(self._table.connections.keys() & set(processes))

    async def renew(self, lease: Lease) -> Lease | None:
        return self._renewed(lease, again=False)

    def _renewed(self, lease: Lease, *, again: bool) -> Lease | None:
        self._send()
        started_ms = self._clock.monotonic_ms()
        ours = self._table.has(lease) or (again and self._table.present(lease.resource) is None)
        if ours:
            self._table.hold(lease.resource, _held(lease), lease.ttl_ms)
        self._answer()
        expires_ms = started_ms + lease.ttl_ms
        return structs.replace(lease, expires_at_monotonic_ms=expires_ms) if ours else None

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        expires_ms = self._clock.monotonic_ms() + ttl_ms
        wanted = [structs.replace(lease, ttl_ms=ttl_ms) for lease in leases]
        lost = [one.resource for one in wanted if self._renewed(one, again=True) is None]
        return Renewal(expires_ms, frozenset(lost))

    async def holders(self, resources: Sequence[str]) -> dict[str, Held]:
        self._send()
        found = {each: self._table.present(each) for each in resources}
        self._answer()
        return {each: held for each, held in found.items() if held is not None}

    async def release(self, lease: Lease) -> bool:
        self._send()
        ours = self._table.has(lease)
        if ours:
            del self._table.entries[lease.resource]
        self._answer()
        return ours

    async def holder(self, resource: str) -> str | None:
        self._send()
        held = self._table.present(resource)
        return None if held is None else held.holder

    async def hand_over(self, lease: Lease, to: str) -> bool:
        self._send()
        ours = self._table.has(lease)
        if ours:
            entry = self._table.entries[lease.resource]
            self._table.entries[lease.resource] = replace(entry, held=Held(to, ""))
        self._answer()
        return ours

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        self._send()
        if self._table.owner in ("", instead_of):
            self._table.owner = suite
        self._answer()
        return self._table.owner

    async def healthy(self) -> bool:
        return self.reachable

    async def close(self) -> None:
        self.reachable = False

    def _send(self) -> None:
        if not self.reachable:
            raise UnavailableError("the lease server cannot be reached", where="memory")

    def _answer(self) -> None:
        self._send()
        if self.answers_to_lose > 0:
            self.answers_to_lose -= 1
            raise UnavailableError("the lease server did not answer", where="memory")


def _held(lease: Lease) -> Held:
    return Held(lease.holder, lease.token)
