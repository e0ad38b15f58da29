"""Who is taken for dead: a process whose connection is closed, and not one that was held up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame import HolderWatch, Tasks
from lockstep.frame.holders import REFUSED_PAUSE_MS
from lockstep.leader import Held
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics, get_logger
from lockstep.telemetry.seldom import MINUTE_MS

SETTINGS = load_settings({}).leader
HOPS = 5
"""So often other tasks run until an answer is there."""


class FarLeases(MemoryLeases):
    """An answer takes a while. `is_overlooked`: the server has lost this process's connection, and
    nobody has told the process."""

    is_overlooked = False
    appearances = 0

    async def appear(self) -> None:
        """Counted."""
        self.appearances += 1
        self.is_overlooked = False
        await super().appear()

    async def connected(self, processes: Collection[str]) -> frozenset[str]:
        """Later."""
        for _ in range(HOPS):
            await asyncio.sleep(0)
        found = await super().connected(processes)
        return found - {self.process} if self.is_overlooked else found


class Observed:
    """One process holds a lease, another one minds its death."""

    def __init__(self, clock: VirtualClock) -> None:
        table = LeaseTable(clock)
        self.holder = FarLeases(table, clock, SeededRandomness(1))
        self.observer = FarLeases(table, clock, SeededRandomness(2))
        self.table = table
        self.died: list[Held] = []
        self.watches = [
            HolderWatch(leases, clock, SETTINGS, Metrics(), get_logger())
            for leases in (self.holder, self.observer)
        ]

    def mind(self) -> None:
        """From now on."""
        held = Held("holder", f"{self.holder.process}.1")
        self.watches[1].mind("thing", held, self.died.append)


@asynccontextmanager
async def observed(clock: VirtualClock) -> AsyncIterator[Observed]:
    """Both run, and the observer has seen the holder."""
    both, tasks = Observed(clock), Tasks(clock, get_logger())
    for number, watch in enumerate(both.watches):
        tasks.supervise(f"watch {number}", watch.run)
        await clock.advance_ms(SETTINGS.lease_ttl_ms // 3)  # they do not look at the same moments
    both.mind()
    await clock.advance_ms(3 * SETTINGS.lease_ttl_ms)
    yield both
    await tasks.stop_all()


async def test_who_was_held_up_keeps_its_connection_and_lives() -> None:
    """Nothing ran for many lives of a lease: neither its own looks nor the observer's."""
    clock = VirtualClock()
    async with observed(clock) as both:
        for _ in range(3):
            clock.set_ms(clock.now_ms() + 10 * SETTINGS.lease_ttl_ms)
            await clock.advance_ms(5 * SETTINGS.lease_ttl_ms)
        assert (both.holder.appearances, both.observer.appearances) == (1, 1)
        assert both.died == []


async def test_who_is_overlooked_connects_again() -> None:
    """The server answers for long that it does not know of the connection."""
    clock = VirtualClock()
    async with observed(clock) as both:
        both.holder.is_overlooked = True
        await clock.advance_ms(SETTINGS.lease_ttl_ms)
        assert both.holder.appearances == 1
        await clock.advance_ms(4 * SETTINGS.lease_ttl_ms)
        assert (both.holder.appearances, both.holder.is_overlooked) == (2, False)


async def test_who_hangs_up_is_dead() -> None:
    """And the observer hears of it."""
    clock = VirtualClock()
    async with observed(clock) as both:
        both.holder.reachable = False  # it cannot come back
        both.table.hang_up(both.holder.process)
        await clock.advance_ms(SETTINGS.grace_ms + 3 * SETTINGS.watch_ms)
        assert [one.holder for one in both.died] == ["holder"]


class RefusedLeases(FarLeases):
    """The lease server takes no connection to be seen by."""

    refusal = UnavailableError("away")

    async def appear(self) -> None:
        """Refused."""
        self.appearances += 1
        raise self.refusal


@pytest.mark.parametrize("is_passing", [True, False])
async def test_who_is_not_let_in_says_so_once_a_minute(is_passing: bool) -> None:
    """And knocks seldom where somebody has to mend that; a server that is away may soon be back."""
    clock = VirtualClock()
    leases = RefusedLeases(LeaseTable(clock), clock, SeededRandomness(1))
    leases.refusal.retryable = is_passing
    watch = HolderWatch(leases, clock, SETTINGS, Metrics(), get_logger())
    tasks = Tasks(clock, get_logger())
    with capture_logs() as logs:
        tasks.supervise("watch", watch.run)
        for _ in range(MINUTE_MS // REFUSED_PAUSE_MS + 1):
            await clock.advance_ms(REFUSED_PAUSE_MS)
        await tasks.stop_all()
    told = [line["event"] for line in logs if line["log_level"] == "warning"]
    assert len(told) == 2
    assert all(line.startswith("deaths are not noticed") for line in told)
    pause_ms = SETTINGS.retry_ms if is_passing else REFUSED_PAUSE_MS
    assert leases.appearances <= (MINUTE_MS + REFUSED_PAUSE_MS) // pause_ms + 1
    assert leases.appearances > MINUTE_MS // pause_ms // 2
