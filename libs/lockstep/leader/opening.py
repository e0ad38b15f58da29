"""Opens the leases that the settings name."""

from __future__ import annotations

from lockstep.clock import Clock, Randomness
from lockstep.leader.contract import Leases
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.leader.redis import RedisLeases
from lockstep.settings import LeaderSettings


def open_leases(settings: LeaderSettings, clock: Clock, randomness: Randomness) -> Leases:
    """Not yet connected: the server may come later. Leases in memory compete with nobody else's."""
    if settings.kind == "memory":
        return MemoryLeases(LeaseTable(clock), clock, randomness)
    url = settings.url.get_secret_value()
    timeout_ms = max(1, min(settings.renew_ms, settings.lease_ttl_ms // 3))
    return RedisLeases(url, clock, randomness, timeout_ms=timeout_ms)
