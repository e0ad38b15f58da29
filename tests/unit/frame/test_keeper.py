"""Keeping a lease: one holder, taken over when it is lost, given back on leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame import HolderWatch, LeaseKeeper, Tasks, run_side_by_side
from lockstep.leader import Held, Lease, Leases, Renewal
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.leader.roll import LeaseRoll
from lockstep.settings import load_settings
from lockstep.telemetry import Metrics, get_logger

SETTINGS = load_settings({}).leader


class CutLeases(MemoryLeases):
    """A way to the lease server that can be cut."""

    is_cut = False

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        """Unless it is."""
        if self.is_cut:
            raise UnavailableError("the way is cut")
        return await super().renew_all(leases, ttl_ms=ttl_ms)


class CountingLeases(MemoryLeases):
    """Counts what is asked of it."""

    renewals = acquisitions = 0

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        """Counted."""
        self.renewals += 1
        return await super().renew_all(leases, ttl_ms=ttl_ms)

    async def acquire(
        self, resource: str, holder: str, *, ttl_ms: int, instead_of: Held | None = None
    ) -> Lease | Held:
        """Counted."""
        self.acquisitions += 1
        return await super().acquire(resource, holder, ttl_ms=ttl_ms, instead_of=instead_of)


class Party:
    """A process that wants one lease: `run` keeps it, and hears of no deaths unless `holders` is
    run."""

    def __init__(
        self, leases: Leases, name: str, clock: VirtualClock, outlives: Callable[[], bool]
    ) -> None:
        log, rules = get_logger(), SETTINGS
        self.roll = LeaseRoll(
            leases, name, clock, log,
            ttl_ms=rules.lease_ttl_ms, ttl_max_ms=rules.lease_ttl_max_ms,
            renew_ms=rules.renew_ms, retry_ms=rules.retry_ms,
        )  # fmt: skip
        self.holders = HolderWatch(leases, clock, rules, Metrics(), log)
        self.metrics = Metrics()
        self.keeper = LeaseKeeper(
            self.roll, self.holders, "thing", clock, rules, self.metrics, log, outlives=outlives
        )

    async def run(self) -> None:
        """Until cancelled: then nothing is renewed any more."""
        await run_side_by_side(self.roll.run, self.keeper.run)

    @property
    def held(self) -> bool:
        """What the keeper says."""
        return self.keeper.held


def keeper(table: LeaseTable, clock: VirtualClock, holder: str) -> Party:
    """Of one lease."""
    leases = MemoryLeases(table, clock, SeededRandomness(ord(holder)))
    return keeping(leases, holder, clock)


def keeping(
    leases: Leases, holder: str, clock: VirtualClock, outlives: Callable[[], bool] = lambda: False
) -> Party:
    """Of one lease, over leases of its own."""
    return Party(leases, holder, clock, outlives)


def holds(one: Party) -> bool:
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
    assert b'lockstep_lease_held{resource="thing"} 1.0' in first.metrics.render()
    await first.keeper.release()
    await clock.advance_ms(SETTINGS.renew_ms)
    assert (first.held, second.held) == (False, True)
    assert b'resource="thing"' not in first.metrics.render()
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
    keepers: dict[str, Party] = {}
    for name in "ab":
        leases[name] = MemoryLeases(table, clock, SeededRandomness(ord(name)))
        keepers[name] = keeping(leases[name], name, clock)
        tasks.supervise(f"{name} holders", keepers[name].holders.run)
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


async def test_what_was_acquired_while_it_was_given_up_is_given_back() -> None:
    """Nobody would renew it on purpose, and nobody else could have it."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    first = keeper(table, clock, "a")
    running = asyncio.ensure_future(first.keeper.run())
    await asyncio.sleep(0)
    await first.keeper.release()
    await clock.advance_ms(10)
    await running
    assert not first.held
    assert b'resource="thing"' not in first.metrics.render()
    assert isinstance(await keeper(table, clock, "b").roll.acquire("thing"), Lease)


async def test_any_number_of_keepers_renews_in_one_request() -> None:
    """A publisher of a thousand apps costs the lease server little more than one of one."""
    clock = VirtualClock()
    leases = CountingLeases(LeaseTable(clock), clock, SeededRandomness(1))
    one = keeping(leases, "a", clock)
    tasks = Tasks(clock, get_logger())
    tasks.supervise("roll", one.roll.run)
    keepers = [
        LeaseKeeper(
            one.roll, one.holders, f"app {number}", clock, SETTINGS, Metrics(), get_logger()
        )
        for number in range(20)
    ]
    for number, each in enumerate(keepers):
        tasks.supervise(f"keeper {number}", each.run)
    await clock.advance_ms(10 * SETTINGS.lease_ttl_ms)
    assert all(each.held for each in keepers)
    assert leases.acquisitions == len(keepers)
    assert leases.renewals <= 10 * SETTINGS.lease_ttl_ms // SETTINGS.renew_ms + 1
    await tasks.stop_all()


async def test_who_works_with_a_lease_is_told_that_it_is_lost() -> None:
    """At once, and not only when the wait is over."""
    clock = VirtualClock()
    table = LeaseTable(clock)
    first = keeper(table, clock, "a")
    tasks = Tasks(clock, get_logger())
    tasks.supervise("first", first.run)
    await clock.advance_ms(10)
    waiting = asyncio.ensure_future(first.keeper.wait_lost(60_000))
    await clock.advance_ms(SETTINGS.lease_ttl_ms)
    assert not waiting.done()
    del table.entries["thing"]
    await keeper(table, clock, "b").roll.acquire("thing")
    await clock.advance_ms(2 * SETTINGS.renew_ms)
    assert await waiting
    await tasks.stop_all()
