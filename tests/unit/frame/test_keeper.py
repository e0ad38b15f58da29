"""Keeping a lease: one holder, taken over when it is lost, given back on leaving."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame import HolderWatch, LeaseKeeper, Tasks
from lockstep.leader import Lease, Leases
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics, get_logger

SETTINGS = load_settings({}).leader


class CutLeases(MemoryLeases):
    """A way to the lease server that can be cut."""

    is_cut = False

    async def renew(self, lease: Lease) -> Lease | None:
        """Unless it is."""
        if self.is_cut:
            raise UnavailableError("the way is cut")
        return await super().renew(lease)


def keeper(table: LeaseTable, clock: VirtualClock, holder: str) -> LeaseKeeper:
    """A keeper of one lease."""
    leases = MemoryLeases(table, clock, SeededRandomness(ord(holder)))
    return keeping(leases, holder, clock)


def keeping(
    leases: Leases,
    holder: str,
    clock: VirtualClock,
    outlives: Callable[[], bool] = lambda: False,
    holders: HolderWatch | None = None,
) -> LeaseKeeper:
    """A keeper that hears of no deaths, unless `holders` is run."""
    holders = holders or HolderWatch(leases, clock, SETTINGS, Metrics(), get_logger())
    return LeaseKeeper(
        leases, holders, "thing", holder, clock, SETTINGS, Metrics(), get_logger(),
        outlives=outlives,
    )  # fmt: skip


def holds(one: LeaseKeeper) -> bool:
    """Asked anew each time, as the type checker does not know that it changes by itself."""
    return one.held


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


@pytest.mark.parametrize("outlives", [True, False])
async def test_who_cannot_renew_goes_on_only_where_that_is_wanted(*, outlives: bool) -> None:
    """And no longer than until somebody else is known to have it, or the server says so."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    leases = CutLeases(table, clock, SeededRandomness(1))
    may_go_on = outlives
    first = keeping(leases, "a", clock, lambda: may_go_on)
    tasks = Tasks(clock, get_logger())
    tasks.supervise("first", first.run)
    await clock.advance_ms(10)
    assert holds(first)
    leases.is_cut = True
    await clock.advance_ms(60_000)
    assert holds(first) == outlives
    may_go_on = False
    assert not holds(first)
    may_go_on = outlives
    second = keeper(table, clock, "b")
    tasks.supervise("second", second.run)
    await clock.advance_ms(SETTINGS.renew_ms)
    assert holds(second)
    leases.is_cut = False
    await clock.advance_ms(2 * SETTINGS.renew_ms)
    assert (first.held, second.held) == (False, True)
    await tasks.stop_all()


async def test_a_process_that_was_stopped_does_not_go_on_by_itself() -> None:
    """Its lease ran out while nobody knew of the server: that is not the server's being away."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    leases = MemoryLeases(table, clock, SeededRandomness(1))
    first = keeping(leases, "a", clock, lambda: True)
    tasks = Tasks(clock, get_logger())
    tasks.supervise("first", first.run)
    await clock.advance_ms(10)
    await tasks.stop_all()
    await clock.advance_ms(SETTINGS.lease_ttl_ms)
    assert not first.held


async def test_a_server_that_is_away_is_told_of_once() -> None:
    """And once that it is back; not four times a second."""
    clock = VirtualClock()
    leases = CutLeases(LeaseTable(clock), clock, SeededRandomness(1))
    with capture_logs() as told:
        first = keeping(leases, "a", clock)
        tasks = Tasks(clock, get_logger())
        tasks.supervise("first", first.run)
        await clock.advance_ms(10)
        leases.is_cut = True
        await clock.advance_ms(60_000)
        leases.is_cut = False
        await clock.advance_ms(2 * SETTINGS.renew_ms)
        await tasks.stop_all()
    lines = [line["event"] for line in told]
    assert lines.count("the lease server is away") == 1
    assert lines.count("the lease server is back") == 1


async def test_the_lease_of_a_process_that_dies_is_taken_at_once() -> None:
    """Long before it runs out; that of one that only falls silent is not."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    tasks, leases = Tasks(clock, get_logger()), {}
    keepers: dict[str, LeaseKeeper] = {}
    for name in "ab":
        leases[name] = MemoryLeases(table, clock, SeededRandomness(ord(name)))
        holders = HolderWatch(leases[name], clock, SETTINGS, Metrics(), get_logger())
        keepers[name] = keeping(leases[name], name, clock, holders=holders)
        tasks.supervise(f"{name} holders", holders.run)
        tasks.supervise(name, keepers[name].run)
        await clock.advance_ms(10)
    await clock.advance_ms(2 * SETTINGS.renew_ms)
    assert (holds(keepers["a"]), holds(keepers["b"])) == (True, False)
    await tasks.stop("a")  # still connected, it renews no more
    await clock.advance_ms(SETTINGS.renew_ms)
    assert not holds(keepers["b"])
    await tasks.stop("a holders")
    await clock.advance_ms(2 * SETTINGS.watch_ms + SETTINGS.grace_ms)
    assert holds(keepers["b"])
    await tasks.stop_all()
