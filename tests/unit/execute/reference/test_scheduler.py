"""Pending timers: order, merging, forgetting."""

from __future__ import annotations

from itertools import count

from lockstep.execute.reference.scheduler import Scheduler


class Sleeper:
    """Somebody who wants to be woken."""

    def __init__(self, rank: int = 0, *, is_rate: bool = False) -> None:
        self.rank = rank, not is_rate

    def on_timer(self, due_ms: int) -> None:
        """Nothing to do."""


def scheduler() -> Scheduler:
    """An empty one."""
    numbers = count()
    return Scheduler(lambda: next(numbers), lambda target: target.rank)  # type: ignore[attr-defined]


def test_due_time_then_request() -> None:
    """Earlier due times first; equal ones in order of the requests."""
    timers, one, two = scheduler(), Sleeper(), Sleeper()
    timers.add(one, 20)
    timers.add(two, 10)
    timers.add(one, 10)
    assert [(10, two), (10, one), (20, one)] == [timers.pop() for _ in range(3)]
    assert timers.head() is None


def test_owners_in_the_order_of_the_text() -> None:
    """Of two that are due at once the one of the lower rank comes first, whoever asked first."""
    timers, late, early = scheduler(), Sleeper(rank=2), Sleeper(rank=1)
    timers.add(late, 10)
    timers.add(early, 10)
    assert [early, late] == [timers.pop()[1] for _ in range(2)]


def test_an_output_rate_in_front_of_what_else_its_owner_has() -> None:
    """Whoever asked first: a window may have asked long ago, or just now."""
    timers, window, rate = scheduler(), Sleeper(), Sleeper(is_rate=True)
    timers.add(window, 10)
    timers.add(rate, 10)
    timers.add(rate, 20)
    timers.add(window, 20)
    assert [rate, window, rate, window] == [timers.pop()[1] for _ in range(4)]


def test_equal_requests_merge() -> None:
    """Asked twice for one time, woken once; afterwards it may be asked again."""
    timers, one = scheduler(), Sleeper()
    timers.add(one, 10)
    timers.add(one, 10)
    assert len(timers.pending()) == 1
    timers.pop()
    timers.add(one, 10)
    assert len(timers.pending()) == 1


def test_discarded_targets_are_not_woken() -> None:
    """Purged instances take their timers along."""
    timers, one, two = scheduler(), Sleeper(), Sleeper()
    timers.add(one, 10)
    timers.add(two, 20)
    timers.discard({id(one)})
    assert [(20, two)] == [(due, target) for due, _, target in timers.pending()]


def test_refilled_keeps_order() -> None:
    """What was pending is pending again, in the same order."""
    timers, one, two = scheduler(), Sleeper(), Sleeper()
    timers.add(one, 10)
    timers.add(two, 10)
    other = scheduler()
    other.refill(timers.pending())
    assert [one, two] == [other.pop()[1], other.pop()[1]]


def test_a_new_target_is_not_taken_for_one_that_is_gone() -> None:
    """Also where it has the id of an object that was discarded."""
    timers, one = scheduler(), Sleeper()
    timers.add(one, 10)
    timers.discard({id(one)})
    timers.add(one, 20)
    assert [(20, one)] == [(due, target) for due, _, target in timers.pending()]
    timers.discard({id(one)})
    timers.refill([(30, 1, one)])
    assert timers.head() == (30, one.rank)
