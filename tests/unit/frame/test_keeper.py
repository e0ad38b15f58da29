"""Keeping a lease: one holder, taken over when it is lost, given back on leaving."""

from __future__ import annotations

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.frame import LeaseKeeper, Tasks
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics, get_logger

SETTINGS = load_settings({}).leader


def keeper(table: LeaseTable, clock: VirtualClock, holder: str) -> LeaseKeeper:
    """A keeper of one lease."""
    leases = MemoryLeases(table, clock, SeededRandomness(hash(holder) % 100))
    return LeaseKeeper(leases, "thing", holder, clock, SETTINGS, Metrics(), get_logger())


async def test_one_holds_it_and_the_other_follows() -> None:
    """Released: the other has it after its next look. Gone: after the lease's life."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    first, second = keeper(table, clock, "a"), keeper(table, clock, "b")
    tasks = Tasks(clock, get_logger())
    tasks.supervise("first", first.run)
    tasks.supervise("second", second.run)
    await clock.advance_ms(10)
    assert (first.held, second.held) == (True, False)
    await clock.advance_ms(10 * SETTINGS.lease_ttl_ms)
    assert (first.held, second.held) == (True, False)
    await first.release()
    await clock.advance_ms(SETTINGS.renew_ms)
    assert (first.held, second.held) == (False, True)
    await tasks.stop("second")
    third = keeper(table, clock, "c")
    tasks.supervise("third", third.run)
    await clock.advance_ms(SETTINGS.lease_ttl_ms + SETTINGS.renew_ms)
    assert (second.held, third.held) == (False, True)
    await tasks.stop_all()
