"""Who is inside the windows of a join whose pairs leave again, and the timers of its sides."""

from __future__ import annotations

import numpy as np

from lockstep.joins.columns.aggregating_kernel import (
    ask_with_number,
    grown_lines,
    meet,
    next_side,
    wake,
)
from lockstep.joins.columns.kernel import Chains, drop_oldest, take_in, take_in_all
from tests.unit.columns.flows import longs


class Windows:
    """Two sides with room for eight rows and three keys."""

    def __init__(self) -> None:
        self.times = np.zeros((2, 8), np.int64)
        self.ends = np.array([[-1, -1, 0], [-1, -1, 0]], np.int64)
        self.newer, self.same, self.keys = (np.full((2, 8), -1, np.int64) for _ in range(3))
        self.heads, self.tails = (np.full((2, 3), -1, np.int64) for _ in range(2))

    @property
    def chains(self) -> Chains:
        """As kernels take them."""
        return Chains(self.ends, self.newer, self.same, self.keys, self.heads, self.tails)

    def of_key(self, side: int, key: int) -> list[int]:
        """The places of a side's rows with a key, oldest first."""
        found, place = [], int(self.heads[side, key])
        while place != -1:
            found.append(place)
            place = int(self.same[side, place])
        return found


def test_rows_leave_in_the_order_in_which_they_came() -> None:
    """Each side by itself; a key without rows is as it was at first, a row without key meets
    nobody."""
    windows = Windows()
    for place, key in ((0, 1), (1, -1), (2, 1)):
        take_in(0, place, key, windows.chains)
    take_in(1, 5, 1, windows.chains)
    assert windows.of_key(0, 1) == [0, 2]
    assert [drop_oldest(0, windows.chains) for _ in range(2)] == [0, 1]
    assert windows.of_key(0, 1) == [2]
    assert drop_oldest(0, windows.chains) == 2
    assert windows.ends.tolist() == [[-1, -1, 0], [5, 5, 1]]
    assert (windows.heads[0, 1], windows.tails[0, 1]) == (-1, -1)
    take_in(0, 3, 1, windows.chains)
    assert windows.of_key(0, 1) == [3]


def test_what_is_loaded_enters_as_if_it_came() -> None:
    """Row by row; nobody leaves."""
    windows = Windows()
    take_in_all(1, longs(4, 2, 7), longs(0, -1, 0), windows.chains)
    assert windows.of_key(1, 0) == [4, 7]
    assert windows.ends.tolist() == [[-1, -1, 0], [4, 7, 3]]


def test_timers_of_the_sides() -> None:
    """One per due time; of those due at once the one that was asked for first."""
    waiting, counts = np.zeros((2, 3, 2), np.int64), np.zeros(3, np.int64)
    for due, side in ((300, 0), (100, 0), (300, 0), (100, 1), (50, 1)):
        ask_with_number(due, side, waiting, counts)
    assert counts.tolist() == [2, 2, 4]
    fired = []
    while (side := next_side(299, waiting, counts)) != -1:
        fired.append((side, wake(side, waiting, counts)))
    assert fired == [(1, 50), (0, 100), (1, 100)]
    assert next_side(300, waiting, counts) == 0


def test_lines_grow_and_keep_what_they_have() -> None:
    """Pairs of a long chain."""
    lines = np.zeros((1, 2), np.int64)
    pairs, count, may = meet(7, 0, longs(1, 2, -1), lines, 0, 9)
    assert (pairs[:count].tolist(), len(pairs)) == ([[7, 0], [7, 1], [7, 2]], 4)
    assert meet(7, -1, longs(), pairs, count, 9)[1:] == (3, 9)
    assert may == 6
    assert meet(7, 0, longs(1, 2, -1), pairs, 0, 1)[1:] == (2, -1)
    assert len(grown_lines(pairs, 4)) == 8
    assert grown_lines(pairs, 3) is not None
