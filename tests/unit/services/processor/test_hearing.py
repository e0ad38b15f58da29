"""When a replica counts as out of the bus's reach."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lockstep.clock import VirtualClock
from lockstep_services.processor.replica.hearing import LogHearing, patience_ms
from lockstep_services.processor.replica.standby import HOT, WARM
from tests.unit.busy_clock import BusyClock

TTL_MS = 1_000
PATIENCE_MS = patience_ms(HOT, TTL_MS)


class Bus:
    """Answers as told; counts how often it was asked."""

    def __init__(self) -> None:
        self.answers = True
        self.asked = 0

    async def healthy(self) -> bool:
        """As told."""
        self.asked += 1
        return self.answers


@asynccontextmanager
async def _hearing(bus: Bus, clock: VirtualClock) -> AsyncIterator[LogHearing]:
    hearing = LogHearing(bus.healthy, clock, ask_after_ms=TTL_MS)
    running = asyncio.create_task(hearing.run())
    await asyncio.sleep(0)
    try:
        yield hearing
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _deaf(hearing: LogHearing) -> bool:
    """Asked anew each time, as the type checker does not know that it changes by itself."""
    return hearing.is_deaf(PATIENCE_MS)


async def test_a_bus_that_answers_is_heard_however_quiet_the_log_is() -> None:
    """A minute without an append; it is asked about once a second."""
    bus, clock = Bus(), VirtualClock()
    async with _hearing(bus, clock) as hearing:
        await clock.advance_ms(60_000)
        assert not _deaf(hearing)
        assert 30 <= bus.asked <= 60


async def test_nobody_asks_a_bus_that_is_heard_anyway() -> None:
    """Appends are answer enough."""
    bus, clock = Bus(), VirtualClock()
    async with _hearing(bus, clock) as hearing:
        for _ in range(50):
            await clock.advance_ms(200)
            hearing.heard()
        assert bus.asked == 0


async def test_a_silent_bus_is_out_of_reach_after_the_patience_and_not_before() -> None:
    """And in reach again with its first answer."""
    bus, clock = Bus(), VirtualClock()
    async with _hearing(bus, clock) as hearing:
        bus.answers = False
        await clock.advance_ms(PATIENCE_MS - 100)
        assert not _deaf(hearing)
        await clock.advance_ms(200)
        assert _deaf(hearing)
        await clock.advance_ms(60_000)
        assert _deaf(hearing)
        bus.answers = True
        await clock.advance_ms(200)
        assert not _deaf(hearing)


async def test_an_answer_of_the_log_counts_at_once() -> None:
    """Whoever hears it says so."""
    bus, clock = Bus(), VirtualClock()
    bus.answers = False
    async with _hearing(bus, clock) as hearing:
        await clock.advance_ms(2 * PATIENCE_MS)
        assert _deaf(hearing)
        hearing.heard()
        assert not _deaf(hearing)
        assert hearing.silent_ms == 0


async def test_a_process_that_is_held_up_does_not_take_that_for_silence() -> None:
    """It gives the bus as much time to answer as it takes itself; a bus that is away while the
    process has time is noticed as before."""
    bus, clock = Bus(), BusyClock()
    async with _hearing(bus, clock) as hearing:
        clock.late_ms, bus.answers = 3 * PATIENCE_MS, False
        await clock.advance_ms(10 * PATIENCE_MS)
        assert bus.asked == 0
        assert not _deaf(hearing)
        clock.late_ms = 0
        await clock.advance_ms(3 * PATIENCE_MS + 2 * TTL_MS)
        assert bus.asked > 0
        assert _deaf(hearing)


def test_a_hot_standby_is_given_the_lead_sooner_than_a_warm_one() -> None:
    """Not before a dead leader's lease would have run out, and within what a killed one takes
    twice; a warm one has to restore first."""
    assert TTL_MS < patience_ms(HOT, TTL_MS) <= 2 * TTL_MS
    assert patience_ms(WARM, TTL_MS) == 3 * TTL_MS


async def test_a_connection_that_moves_to_another_server_in_time_keeps_the_lead() -> None:
    """It takes about a second to notice a dead one; then the next answers."""
    bus, clock = Bus(), VirtualClock()
    async with _hearing(bus, clock) as hearing:
        bus.answers = False
        await clock.advance_ms(TTL_MS + 300)
        assert not _deaf(hearing)
        bus.answers = True
        await clock.advance_ms(200)
        assert not _deaf(hearing)
        assert hearing.silent_ms <= 200
