"""What becomes of a lease that is handed over."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lockstep.bus import LogName
from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.leader import Held, Lease
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.leader.protocol import facts
from lockstep.leader.protocol import instructions as todo
from lockstep.leader.roll import LeaseRoll
from lockstep.telemetry import get_logger
from lockstep_services.processor.lead.leasing import Leasing


class Holders:
    """Whose deaths are waited for."""

    def __init__(self) -> None:
        self.minded: dict[str, Held] = {}

    def mind(self, resource: str, held: Held, _: Callable[[Held], None]) -> None:
        """From now on."""
        self.minded[resource] = held

    def forget(self, resource: str) -> None:
        """No more."""
        self.minded.pop(resource, None)


class Topics:
    """Nobody listens."""

    async def publish(self, subject: str, payload: bytes) -> None:
        """To nobody."""


def leasing_of(node: str, table: LeaseTable, clock: VirtualClock, seed: int) -> Leasing:
    """A process of its own."""
    roll = LeaseRoll(
        MemoryLeases(table, clock, SeededRandomness(seed)), node, clock, get_logger(part="test"),
        ttl_ms=1_000, ttl_max_ms=1_000, renew_ms=250, retry_ms=100,
    )  # fmt: skip
    site: Any = SimpleNamespace(
        name=LogName("A"), leases=roll, holders=Holders(), unit="A", log=get_logger(part="test"),
        world=SimpleNamespace(bus=SimpleNamespace(topics=Topics())),
    )  # fmt: skip
    nothing: Callable[..., None] = lambda *_: None  # noqa: E731
    return Leasing(site, on_death=nothing, on_lost=nothing, on_vacant=nothing)


async def test_who_hands_over_does_not_take_it_back() -> None:
    """Although it hears, as all do, that the lease may be free, and asks again before the other
    one does: a reservation has no process that could have died."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    one, two = (leasing_of(f"n{at}", table, clock, at) for at in (1, 2))
    assert await one.carry_out(todo.AcquireLease()) == facts.LeaseAcquired()
    await one.carry_out(todo.HandOverLease("n2"))
    for _ in range(2):
        one.doubt()
        assert await one.carry_out(todo.AcquireLease()) == facts.LeaseRefused()
    assert await two.carry_out(todo.AcquireLease()) == facts.LeaseAcquired()


async def test_who_is_dead_is_replaced() -> None:
    """By whoever names the acquisition that it was refused for."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    dead = MemoryLeases(table, clock, SeededRandomness(1))
    two = leasing_of("n2", table, clock, 2)
    lease = await dead.acquire(two.resource, "n1", ttl_ms=1_000)
    assert isinstance(lease, Lease)
    assert await two.carry_out(todo.AcquireLease()) == facts.LeaseRefused()
    assert await two.carry_out(todo.AcquireLease(lease.token)) == facts.LeaseAcquired()
