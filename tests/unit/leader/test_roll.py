"""The leases of a process together: kept, lost, watched, given back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from lockstep.clock import SeededRandomness
from lockstep.events import UnavailableError
from lockstep.leader import Held, Lease, Renewal
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.leader.roll import LeaseRoll
from lockstep.telemetry import get_logger
from tests.unit.busy_clock import BusyClock

TTL_MS, LONGEST_MS, RENEW_MS, RETRY_MS = 1_000, 8_000, 250, 100


class Counting(MemoryLeases):
    """Counts the requests for many leases."""

    renewals = looks = 0

    def __init__(self, table: LeaseTable, clock: BusyClock, randomness: SeededRandomness) -> None:
        super().__init__(table, clock, randomness)
        self.renewed: list[tuple[Lease, ...]] = []

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        """Counted."""
        self.renewals += 1
        self.renewed.append(leases)
        return await super().renew_all(leases, ttl_ms=ttl_ms)

    async def holders(self, resources: Sequence[str]) -> dict[str, Held]:
        """Counted."""
        self.looks += 1
        return await super().holders(resources)


class Told:
    """Remembers what the roll told of one resource."""

    def __init__(self, resource: str, world: World) -> None:
        self._resource, self._world = resource, world

    def lost(self) -> None:
        """See the contract."""
        self._world.lost.append(self._resource)

    def vacant(self) -> None:
        """See the contract."""
        self._world.vacant.append(self._resource)

    def taken(self, held: Held) -> None:
        """See the contract."""
        self._world.taken.append(held.holder)


class World:
    """A roll over a table, and what it told."""

    def __init__(self) -> None:
        self.clock = BusyClock()
        self.table = LeaseTable(self.clock)
        self.leases = Counting(self.table, self.clock, SeededRandomness(1))
        self.others = MemoryLeases(self.table, self.clock, SeededRandomness(2))
        self.roll = LeaseRoll(
            self.leases, "me", self.clock, get_logger(),
            ttl_ms=TTL_MS, ttl_max_ms=LONGEST_MS, renew_ms=RENEW_MS, retry_ms=RETRY_MS,
        )  # fmt: skip
        self.lost: list[str] = []
        self.vacant: list[str] = []
        self.taken: list[str] = []

    def watch(self, resource: str) -> None:
        """Hears of it."""
        self.roll.watch(resource, Told(resource, self))


@asynccontextmanager
async def running() -> AsyncIterator[World]:
    """A roll that runs."""
    world = World()
    task = asyncio.create_task(world.roll.run())
    await asyncio.sleep(0)
    try:
        yield world
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_any_number_of_leases_is_one_request_each_time() -> None:
    """They are held for as long as the roll runs."""
    async with running() as world:
        for number in range(100):
            assert isinstance(await world.roll.acquire(f"r{number}"), Lease)
        await world.clock.advance_ms(10 * TTL_MS)
        assert [await world.others.holder(f"r{number}") for number in (0, 99)] == ["me", "me"]
        assert 10 * TTL_MS // RENEW_MS - 4 <= world.leases.renewals <= 10 * TTL_MS // RENEW_MS + 1


async def test_the_same_leases_are_the_same_tuple_until_one_comes_or_goes() -> None:
    """Which costs the way to the server least; each lease tells until when it lasts."""
    async with running() as world:
        for resource in ("a", "b"):
            await world.roll.acquire(resource)
        await world.clock.advance_ms(2 * TTL_MS)
        same = world.leases.renewed[-1]
        assert all(one is same for one in world.leases.renewed[-4:])
        kept = world.roll.lease("a")
        assert kept is not None
        assert kept.expires_at_monotonic_ms > world.clock.monotonic_ms() + TTL_MS - 2 * RENEW_MS
        acquired = await world.roll.acquire("c")
        assert world.roll.lease("c") is acquired
        await world.clock.advance_ms(2 * RENEW_MS)
        assert [one.resource for one in world.leases.renewed[-1]] == ["a", "b", "c"]
        await world.roll.release("a")
        await world.clock.advance_ms(2 * RENEW_MS)
        assert [one.resource for one in world.leases.renewed[-1]] == ["b", "c"]


async def test_a_lease_that_is_not_renewed_runs_out_here_too() -> None:
    """Its holder sees that it has, though nobody has told."""
    async with running() as world:
        await world.roll.acquire("a")
        await world.clock.advance_ms(TTL_MS)
        before = world.roll.lease("a")
        world.leases.reachable = False
        await world.clock.advance_ms(2 * TTL_MS)
        kept = world.roll.lease("a")
        assert before is not None
        assert kept is not None
        assert kept.expires_at_monotonic_ms <= before.expires_at_monotonic_ms + RENEW_MS
        assert kept.expires_at_monotonic_ms < world.clock.monotonic_ms()


async def test_a_lease_that_is_lost_is_told_once() -> None:
    """The others are kept."""
    async with running() as world:
        for resource in ("a", "b"):
            world.watch(resource)
            await world.roll.acquire(resource)
        del world.table.entries["a"]
        await world.others.acquire("a", "other", ttl_ms=60_000)
        await world.clock.advance_ms(2 * TTL_MS)
        assert world.lost == ["a"]
        assert world.roll.lease("a") is None
        assert world.roll.lease("b") is not None
        assert not await world.roll.renew("a")
        assert await world.roll.renew("b")


async def test_what_becomes_vacant_is_told() -> None:
    """Not before, and again and again until it is taken."""
    async with running() as world:
        lease = await world.others.acquire("a", "other", ttl_ms=60_000)
        world.watch("a")
        await world.clock.advance_ms(TTL_MS)
        assert (world.vacant, world.taken) == ([], ["other"])
        assert isinstance(lease, Lease)
        await world.others.hand_over(lease, "me")
        await world.clock.advance_ms(3 * RETRY_MS)
        assert len(world.vacant) >= 2
        assert isinstance(await world.roll.acquire("a"), Lease)
        before = len(world.vacant), world.leases.looks
        await world.clock.advance_ms(TTL_MS)
        assert (len(world.vacant), world.leases.looks) == before


async def test_what_is_forgotten_is_given_back_and_watched_no_more() -> None:
    """Somebody else can have it at once."""
    async with running() as world:
        world.watch("a")
        await world.roll.acquire("a")
        await world.roll.forget("a")
        assert isinstance(await world.others.acquire("a", "other", ttl_ms=100), Lease)
        await world.clock.advance_ms(TTL_MS)
        assert world.vacant == []
        assert world.lost == []


async def test_a_lease_server_that_is_away_is_asked_again() -> None:
    """Leases run out there meanwhile. When it is back, what nobody has taken is held again, and
    what somebody has is told."""
    async with running() as world:
        for resource in ("a", "b"):
            world.watch(resource)
            await world.roll.acquire(resource)
        contact_ms = world.roll.contact_ms
        world.leases.reachable = False
        await world.clock.advance_ms(2 * TTL_MS)
        assert world.roll.contact_ms <= contact_ms + RENEW_MS
        assert world.lost == []
        with pytest.raises(UnavailableError):
            await world.roll.acquire("c")
        await world.others.acquire("b", "other", ttl_ms=60_000)
        world.leases.reachable = True
        await world.clock.advance_ms(2 * RETRY_MS)
        assert world.lost == ["b"]
        assert world.vacant == []
        assert await world.others.holder("a") == "me"


async def test_what_is_given_back_is_not_renewed_any_more() -> None:
    """A renewal that is under way has its answer before: it could take the lease again."""
    async with running() as world:
        await world.roll.acquire("a")
        for _ in range(20):
            await world.clock.advance_ms(RENEW_MS // 3)
        await world.roll.release("a")
        assert await world.others.holder("a") is None
        await world.clock.advance_ms(4 * RENEW_MS)
        assert await world.others.holder("a") is None


async def test_who_holds_a_lease_is_known_without_asking() -> None:
    """As long as looks succeed, and until it is doubted: it may have become free just now."""
    async with running() as world:
        await world.others.acquire("a", "other", ttl_ms=60_000)
        assert world.roll.other("a") is None
        world.watch("a")
        await world.clock.advance_ms(2 * RETRY_MS)
        held = world.roll.other("a")
        assert held is not None
        assert held.holder == "other"
        world.roll.doubt("a")
        assert world.roll.other("a") is None
        await world.clock.advance_ms(2 * RETRY_MS)
        assert world.roll.other("a") == held
    await world.clock.advance_ms(TTL_MS)
    assert world.roll.other("a") is None


async def test_the_leases_of_a_process_that_is_held_up_time_and_again_live_longer() -> None:
    """It is late by more than a lease's life each time, and nobody else gets what it holds."""
    async with running() as world:
        lease = await world.roll.acquire("r")
        assert isinstance(lease, Lease)
        assert lease.ttl_ms == TTL_MS
        world.clock.late_ms = TTL_MS // 2
        await world.clock.advance_ms(4 * TTL_MS)
        world.clock.late_ms = 2 * TTL_MS - 100
        for _ in range(20):
            await world.clock.advance_ms(TTL_MS // 2)
            assert await world.others.holder("r") == "me"
        world.clock.late_ms = 0
        await world.clock.advance_ms(60_000)
        kept = world.roll.lease("r")
        assert kept is not None
        assert kept.ttl_ms == TTL_MS
        assert not world.lost


async def test_one_hold_up_alone_changes_nothing() -> None:
    """A process that was stopped for a while may fall silent for good next."""
    async with running() as world:
        await world.roll.acquire("r")
        world.clock.late_ms = 5 * TTL_MS
        await world.clock.advance_ms(100)
        world.clock.late_ms = 0
        await world.clock.advance_ms(6 * TTL_MS)
        kept = world.roll.lease("r")
        assert kept is not None
        assert kept.ttl_ms == TTL_MS
