"""Pending timers of realms."""

from __future__ import annotations

import numpy as np

from lockstep.windows.timers import Timers


def pending(timers: Timers) -> list[list[int]]:
    """(due, number, owner) in order."""
    return sorted(timers.heap[: timers.counts[0]].tolist())


def test_the_next_one_is_due_first() -> None:
    """Whatever the order of the requests; the last number is remembered."""
    assert Timers().due_ms is None
    timers = Timers()
    for number, due in enumerate((50, 20, 70, 10), start=1):
        timers.ask(due, number, owner=number)
    assert timers.due_ms == 10
    assert timers.counts.tolist() == [4, 4]


def test_unwanted_ones_are_forgotten() -> None:
    """The rest is in order still."""
    timers = Timers()
    for number, due in enumerate((50, 20, 70, 10), start=1):
        timers.ask(due, number, owner=number)
    timers.keep(timers.heap[: timers.counts[0], 0] != 10)
    assert timers.due_ms == 20
    assert pending(timers) == [[20, 2, 2], [50, 1, 1], [70, 3, 3]]


def test_owners_get_new_numbers() -> None:
    """Two neighbours move together."""
    timers = Timers()
    timers.ask(5, 1, owner=4)
    timers.ask(6, 2, owner=5)
    timers.rename(np.array([-1, -1, 0]) * 2, of_each=2)
    assert pending(timers) == [[5, 1, 0], [6, 2, 1]]
