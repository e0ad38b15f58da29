"""Who is inside the windows of a join of which current rows are wanted, and whom an event meets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.joins.columns import queue_kernel as queues
from lockstep.joins.columns.kernel import EXTERNAL, LENGTH, NONE, TIME
from tests.unit.columns.flows import longs

Pair = tuple[int, int, int]
"""The side and the row of an event, and the number of the row that it met."""


class Run:
    """Rows of sides 0, 1, 0, 1, 1 with keys 0 but the last (1), at moments 1, 3, 5, 7, 9 and times
    100, 200, …. Room for so many lines and pairs."""

    def __init__(self, kinds: tuple[int, int], lengths: tuple[int, int], **given: Any) -> None:
        times = np.array([[100, 300, 0], [200, 400, 500]])
        none = np.full((2, 3), -1, np.int64)
        self.inside = queues.Inside(times, none, none.copy(), none.copy())
        self.sides = [
            queues.Coming(longs(1, 5), longs(1, 5), longs(0, 1, 2), longs(100, 300), longs(0, 0)),
            queues.Coming(
                longs(3, 7, 9), longs(3, 7, 9), longs(0, 1, 2, 3), longs(200, 400, 500),
                longs(0, 0, 1),
            ),
        ]  # fmt: skip
        self.windows = queues.Windows(
            longs(*kinds),
            longs(*lengths),
            np.array(given.get("triggers", (True, True))),
            np.array(given.get("listed", (False, False))),
        )
        self.moves = given.get("moves", (longs(), longs()))
        room = given.get("room", 9)
        self.found = queues.Found(*(np.full(room, -7, np.int64) for _ in queues.Found._fields))
        self.state = np.zeros(queues.SIZE, np.int64)
        self.state[[queues.OWN, queues.NEXT, queues.STEP]] = -1

    def go(self, least: int = 9) -> int:
        """On from where it stands."""
        return int(
            queues.meet(
                *self.sides, *self.moves, self.windows, self.inside, least, self.state, self.found
            )
        )

    @property
    def pairs(self) -> list[Pair]:
        """Those found so far."""
        count = self.state[queues.PAIRS]
        lines, met = self.found.line[:count], self.found.met[:count]
        found = self.found.side[lines], self.found.row[lines], met
        return list(zip(*(each.tolist() for each in found), strict=True))

    @property
    def lows(self) -> list[int]:
        """The oldest row inside, by side."""
        return list(self.state[queues.LOW : queues.LOW + 2].tolist())


@pytest.mark.parametrize(
    ("kinds", "lengths", "pairs", "lows"),
    [
        ((LENGTH, LENGTH), (9, 9), [(1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1)], [0, 0]),
        ((LENGTH, LENGTH), (1, 1), [(1, 0, 0), (0, 1, 0), (1, 1, 1)], [1, 2]),
        ((NONE, LENGTH), (0, 9), [(0, 1, 0)], [0, 0]),
        ((TIME, LENGTH), (200, 9), [(1, 0, 0), (0, 1, 0), (1, 1, 1)], [1, 0]),
        ((EXTERNAL, EXTERNAL), (150, 150), [(1, 0, 0), (0, 1, 0), (1, 1, 1)], [1, 1]),
    ],
)
def test_pairs(
    kinds: tuple[int, int], lengths: tuple[int, int], pairs: list[Pair], lows: list[int]
) -> None:
    """By length, by the clock, by an attribute, and against a side without a window."""
    run = Run(kinds, lengths)
    assert run.go() == queues.DONE
    assert (run.pairs, run.lows) == (pairs, lows)


def test_a_timer_drops_rows_in_front_of_the_other_sides_event() -> None:
    """A move of the clock looks at both sides; one behind all events, too."""
    run = Run((TIME, LENGTH), (200, 9), moves=(longs(6, 10), longs(350, 900)))
    assert run.go() == queues.DONE
    assert run.pairs == [(1, 0, 0), (0, 1, 0), (1, 1, 1)]
    assert run.lows == [2, 0]


def test_a_side_that_does_not_trigger_is_met_only() -> None:
    """Unidirectional joins."""
    run = Run((LENGTH, LENGTH), (9, 9), triggers=(True, False))
    assert run.go() == queues.DONE
    assert run.pairs == [(0, 1, 0)]


def test_who_meets_nobody_has_a_line_on_a_side_that_is_listed() -> None:
    """Outer joins ask for it."""
    run = Run((LENGTH, LENGTH), (9, 9), listed=(True, False))
    assert run.go() == queues.DONE
    lines = run.state[queues.LINES]
    assert run.found.side[:lines].tolist() == [0, 1, 0, 1]
    assert run.found.row[:lines].tolist() == [0, 0, 1, 1]
    assert run.found.chunk[:lines].tolist() == [0, 0, 1, 1]
    assert run.found.line[: run.state[queues.PAIRS]].tolist() == [1, 2, 3, 3]


def test_it_goes_on_where_there_was_no_room() -> None:
    """Also within what one event meets."""
    run = Run((LENGTH, LENGTH), (9, 9), room=3)
    assert run.go() == queues.FULL
    assert run.pairs == [(1, 0, 0), (0, 1, 0), (1, 1, 0)]
    run.found = queues.Found(*(np.append(each, each) for each in run.found))
    assert run.go() == queues.DONE
    assert run.pairs == [(1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1)]


def test_a_step_that_brings_more_than_it_may_is_asked_about() -> None:
    """It goes on when it may bring more."""
    run = Run((LENGTH, LENGTH), (9, 9))
    assert run.go(1) == queues.OVER
    assert run.state[queues.STEP] == 7
    run.state[queues.ALLOWED] = 2
    assert run.go(1) == queues.DONE
    assert len(run.pairs) == 4


def test_who_has_left_is_dropped_from_the_chain_of_a_key() -> None:
    """When somebody looks, or when another row of the key comes."""
    none = np.full((2, 4), -1, np.int64)
    inside = queues.Inside(np.zeros((2, 4), np.int64), none, none.copy(), none.copy())
    queues.enter_rows(0, 0, longs(1, -1, 1), inside)
    assert queues.first_of(0, 1, 0, inside) == 0
    assert queues.first_of(0, 1, 1, inside) == 2
    assert inside.heads[0, 1] == 2
    assert queues.first_of(0, 1, 3, inside) == -1
    queues.enter(0, 3, 1, 3, inside)
    assert queues.first_of(0, 1, 3, inside) == 3


def test_rows_move_to_the_front_with_their_chains() -> None:
    """The oldest one inside is the first of its key, also where nobody looked since others left."""
    none = np.full((2, 5), -1, np.int64)
    inside = queues.Inside(np.arange(10).reshape(2, 5), none, none.copy(), none.copy())
    places = np.arange(20, 30).reshape(2, 5)
    queues.enter_rows(1, 0, longs(1, 2, 1, 0, 1), inside)
    queues.to_front(1, 2, 5, places, inside)
    assert inside.clock[1, :3].tolist() == [7, 8, 9]
    assert places[1, :3].tolist() == [27, 28, 29]
    assert inside.heads[1, :3].tolist() == [1, 0, -1]
    assert inside.tails[1, :3].tolist() == [1, 2, -1]
    assert inside.same[1, :3].tolist() == [2, -1, -1]


def test_lines_of_a_chunk_belong_together_while_nothing_comes_between() -> None:
    """The other side, or another chunk."""
    side, chunk = longs(0, 0, 1, 0, 0, 0, 1), longs(3, 3, 3, 3, 4, 4, 4)
    run_of, runs = np.full(7, -7), queues.Runs(np.full(7, -7), np.full(7, -7))
    assert queues.runs_of(side, chunk, run_of, runs) == 5
    assert run_of.tolist() == [0, 0, 1, 2, 3, 3, 4]
    assert runs.side[:5].tolist() == [0, 1, 0, 0, 1]
    assert runs.chunk[:5].tolist() == [3, 3, 3, 4, 4]
    assert queues.runs_of(longs(), longs(), run_of, runs) == 0


def test_a_line_has_the_time_of_its_event() -> None:
    """Of its side."""
    times = np.full(3, -7)
    queues.times_of(longs(0, 1, 0), longs(1, 0, 0), longs(5, 6), longs(7), times)
    assert times.tolist() == [6, 7, 5]
