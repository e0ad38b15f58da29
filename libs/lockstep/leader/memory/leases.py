"""Leases in a table that lives in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lockstep.clock import Clock, Randomness
from lockstep.events import UnavailableError
from lockstep.leader.contract import Lease


@dataclass(frozen=True, slots=True)
class _Held:
    holder: str
    token: str | None  # None: reserved for the holder, who has yet to come
    until_ms: int


@dataclass
class LeaseTable:
    """What the lease server would hold, on a clock of its own."""

    clock: Clock
    held: dict[str, _Held] = field(default_factory=dict)

    def present(self, resource: str) -> _Held | None:
        """Who holds the resource now."""
        held = self.held.get(resource)
        if held is None or held.until_ms <= self.clock.monotonic_ms():
            self.held.pop(resource, None)
            return None
        return held

    def flush(self) -> None:
        """Forgets everything, as a server that lost its data."""
        self.held.clear()


class MemoryLeases:
    """See `lockstep.leader.Leases`. `reachable` and `answers_to_lose` are for tests."""

    def __init__(self, table: LeaseTable, clock: Clock, randomness: Randomness) -> None:
        self._table = table
        self._clock = clock
        self._randomness = randomness
        self.reachable = True
        self.answers_to_lose = 0

    async def acquire(self, resource: str, holder: str, *, ttl_ms: int) -> Lease | None:
        self._send()
        started_ms = self._clock.monotonic_ms()
        held = self._table.present(resource)
        if held is not None and not (held.token is None and held.holder == holder):
            self._answer()
            return None
        lease = Lease(resource, holder, self._randomness.uuid_hex(), ttl_ms, started_ms + ttl_ms)
        self._hold(resource, holder, lease.token, ttl_ms)
        self._answer()
        return lease

    async def renew(self, lease: Lease) -> Lease | None:
        self._send()
        started_ms = self._clock.monotonic_ms()
        ours = self._is_ours(lease)
        if ours:
            self._hold(lease.resource, lease.holder, lease.token, lease.ttl_ms)
        self._answer()
        expires_ms = started_ms + lease.ttl_ms
        return replace(lease, expires_at_monotonic_ms=expires_ms) if ours else None

    async def release(self, lease: Lease) -> bool:
        self._send()
        ours = self._is_ours(lease)
        if ours:
            del self._table.held[lease.resource]
        self._answer()
        return ours

    async def holder(self, resource: str) -> str | None:
        self._send()
        held = self._table.present(resource)
        return None if held is None else held.holder

    async def hand_over(self, lease: Lease, to: str) -> bool:
        self._send()
        ours = self._is_ours(lease)
        if ours:
            until_ms = self._table.held[lease.resource].until_ms
            self._table.held[lease.resource] = _Held(to, None, until_ms)
        self._answer()
        return ours

    async def healthy(self) -> bool:
        return self.reachable

    async def close(self) -> None:
        self.reachable = False

    def _hold(self, resource: str, holder: str, token: str, ttl_ms: int) -> None:
        until_ms = self._table.clock.monotonic_ms() + ttl_ms
        self._table.held[resource] = _Held(holder, token, until_ms)

    def _is_ours(self, lease: Lease) -> bool:
        held = self._table.present(lease.resource)
        return held is not None and held.token == lease.token

    def _send(self) -> None:
        if not self.reachable:
            raise UnavailableError("the lease server cannot be reached", where="memory")

    def _answer(self) -> None:
        self._send()
        if self.answers_to_lose > 0:
            self.answers_to_lose -= 1
            raise UnavailableError("the lease server did not answer", where="memory")
