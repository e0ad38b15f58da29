"""Loops of windows over a few events: who leaves, and when batches and sessions end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.batching_kernel import (
    UNKNOWN,
    batches,
    boundary_behind,
    close_by_length,
)
from lockstep.windows.chained import Chained
from lockstep.windows.external_time_batch.kernel import close_by_attribute
from lockstep.windows.hopping.kernel import forget_batch, make_batch
from lockstep.windows.length_batch.kernel import pass_by_length
from lockstep.windows.session import kernel as session
from lockstep.windows.time.kernel import Clock, Events
from lockstep.windows.time_batch.kernel import Grid, pass_by_time
from tests.unit.columns.flows import chunks, keyed, longs, setup, step

NO = longs()


class Chain:
    """Rows of two keys in eight places."""

    def __init__(self) -> None:
        self.head, self.tail = longs(-1, -1), longs(-1, -1)
        self.count, self.newer = longs(0, 0), np.full(8, -1, np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As kernels take them."""
        return self.head, self.tail, self.count, self.newer

    def of(self, key: int) -> list[int]:
        """The places of a key, oldest first."""
        return sliding.follow(self.head[key], self.newer, self.count[key]).tolist()  # type: ignore[no-any-return]


def flow(made: Any) -> list[str]:
    """`+3` enters place 3, `-3@500` leaves it at 500; `|` begins a chunk."""
    kind, row, place, time, offsets = (each.tolist() for each in made)
    shown = []
    for n, (k, p) in enumerate(zip(kind, place, strict=True)):
        shown += ["|"] * offsets[:-1].count(n)
        shown.append(f"+{p}" if k == 0 else f"-{p}@{time[n]}")
        assert (row[n] == -1) == (k == 1)
    return shown


def test_a_length_of_one_and_of_none() -> None:
    """The oldest leaves in front of the new one; by key."""
    chain = Chain()
    events = longs(0, 2, 3), longs(100, 200), longs(0, 1), longs(5, 6, 7)
    assert flow(sliding.slide_by_length(*events, 1, *chain.arrays)) == [
        *("|", "+5", "-5@100", "+6"),
        *("|", "+7"),
    ]
    assert (chain.of(0), chain.of(1)) == ([6], [7])
    nothing = longs(0), longs(), longs(), longs()
    assert flow(sliding.slide_by_length(*nothing, 1, *chain.arrays)) == []
    assert chain.of(0) == [6]


def test_rows_that_pass_by_need_no_places() -> None:
    """Old ones leave from their places, those of the slice by their rows; some fit in before."""
    kind, row, place, time, offsets = sliding.pass_by_length(
        longs(0, 2, 4), longs(100, 200), longs(7), 1, 2
    )
    assert kind.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert row.tolist() == [0, -1, 1, 0, 2, 1, 3]
    assert place.tolist() == [-1, 7, -1, -1, -1, -1, -1]
    assert time[kind == 1].tolist() == [100, 200, 200]
    assert offsets.tolist() == [0, 3, 7]


def test_a_late_event_hides_nobody_behind_it() -> None:
    """By time rows leave from the oldest on, as long as they are out; `most` drops the rest."""
    chain, times = Chain(), longs(100, 500, 200, 0, 0, 0, 0, 0)
    events = longs(0, 1, 2, 3), longs(100, 500, 520), longs(0, 0, 0), longs(0, 1, 2)
    made = sliding.slide_by_time(*events, 100, -1, times, 0, *chain.arrays)
    assert flow(made) == ["|", "+0", "|", "-0@500", "+1", "|", "+2"]
    assert chain.of(0) == [1, 2]
    more = longs(0, 1), longs(560), longs(0), longs(3)
    made = sliding.slide_by_time(*more, 100, 1, times, 2, *chain.arrays)
    assert flow(made) == ["|", "-1@560", "-2@560", "+3"]


def test_by_an_attribute_time_may_run_backwards() -> None:
    """Nobody is out for a smaller value; rows bear the value at which they leave."""
    chain, values = Chain(), longs(100, 50, 250, 0, 0, 0, 0, 0)
    made = sliding.slide_by_attribute(
        longs(0, 3), longs(0), longs(0, 1, 2), 100, values[:3].copy(), values, 0, *chain.arrays
    )
    assert flow(made) == ["|", "+0", "+1", "-0@250", "-1@250", "+2"]


def test_sweeping_takes_out_of_every_key() -> None:
    """What is out by the clock, and no more."""
    chain, times = Chain(), longs(0, 10, 20, 30, 40, 50, 60, 70)
    sliding.slide_by_length(
        longs(0, 2, 4), longs(0, 0), longs(1, 0), longs(1, 6, 2, 3), 9, *chain.arrays
    )
    places, keys = sliding.sweep_by_time(20, times, *chain.arrays, 4)
    assert (places.tolist(), keys.tolist()) == ([2, 1], [0, 1])
    places, keys = sliding.sweep_by_time(99, times, *chain.arrays, 2)
    assert (places.tolist(), keys.tolist()) == ([3, 6], [0, 1])
    assert chain.tail.tolist() == [-1, -1]


def test_due_times_that_wait() -> None:
    """In order, each once."""
    pending, count = longs(0, 0, 0, 0), 0
    for due in (50, 20, 50, 30, 20):
        count = sliding.ask(due, pending, count)
    assert pending[:count].tolist() == [20, 30, 50]


def test_chains_of_many_keys() -> None:
    """Room for keys is made when they come; the others keep their rows."""
    window = Chained(setup(keyed=True))
    first, *_ = window.enter(step(keyed(chunks([1, 2]), 0)))
    sliding.slide_by_length(longs(0, 2), longs(0), longs(0), first, 9, *window.chain())
    window.enter(step(keyed(chunks([3]), 500)))
    assert window.inside(0).tolist() == first.tolist()
    assert window.inside(500).tolist() == window.inside(10_000).tolist() == []


def test_batches_by_length() -> None:
    """Those of a key are counted from slice to slice; a length of 0 closes with each event."""
    collected = longs(0, 1)
    events, closing = close_by_length(longs(0, 1, 0, 1), 2, collected)
    assert (events.tolist(), closing.tolist(), collected.tolist()) == ([1, 2], [1, 0], [0, 1])
    assert close_by_length(longs(0, 0), 0, longs(0))[0].tolist() == [0, 1]


def test_batches_by_an_attribute() -> None:
    """A late event closes none; one that skips periods closes one."""
    still, timers = Clock(NO, NO, 0, False), (np.zeros((1, 3), np.int64), longs(0, 0))
    state = np.array([[0, UNKNOWN, 0, 0, 0, 0, 0]], np.int64)
    chunk = (longs(0, 5), longs(1), longs(7), longs(0))
    values = longs(105, 199, 90, 205, 570)
    closed = close_by_attribute(*chunk, values, values, 100, 0, still, state, *timers)
    assert closed[:, :3].tolist() == [[3, 0, 205], [4, 0, 570]]
    assert state[0, :3].tolist() == [105, 605, 570]
    state[:] = [[0, UNKNOWN, 0, 0, 0, 0, 0]]
    chunk = (longs(0, 1), longs(1), longs(7), longs(0))
    close_by_attribute(*chunk, longs(105), longs(30), 100, 0, still, state, *timers)
    assert state[0, :3].tolist() == [30, 130, 105]


@pytest.mark.parametrize(
    ("boundary", "now", "start", "expected"),
    [
        (UNKNOWN, 105, None, 205),
        (UNKNOWN, 105, 30, 130),
        (UNKNOWN, 130, 30, 230),
        (UNKNOWN, 10, 30, 30),
        (200, 199, None, 200),
        (200, 200, None, 300),
        (200, 555, None, 600),
    ],
)
def test_boundaries(boundary: int, now: int, start: int | None, expected: int) -> None:
    """The next one of the grid, which lies behind the clock."""
    assert boundary_behind(boundary, now, 100, start is not None, start or 0) == expected


def test_what_leaves_when_batches_close() -> None:
    """The last batch, the mark, the new one; places of the last one are free then."""
    collecting, last = np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64)
    newer = np.full(6, -1, np.int64)
    keys, places = longs(0, 1, 0), longs(0, 1, 2)
    made = batches(
        keys, places, longs(2, 3, 3), longs(0, 0, 1), NO, True, 0, collecting, last, newer
    )
    kind, place, offsets, free = (each.tolist() for each in made)
    assert list(zip(kind, place, strict=True)) == [
        *[(3, 0), (0, 0)],
        *[(1, 0), (3, 2), (0, 2)],
        *[(3, 1), (0, 1)],
    ]
    assert (offsets, free) == ([0, 2, 5, 7], [0])
    # Nothing collected: the last one leaves, and its mark bears its own place.
    kind, place, _, free = batches(
        NO, NO, longs(0), longs(1), NO, False, 2, collecting, last, newer
    )
    assert (kind.tolist(), place.tolist(), free.tolist()) == ([3], [1], [1])


def test_rows_of_two_hops_are_freed_once() -> None:
    """One that waits and is in the batch stays until it is in neither."""
    times, uses = longs(100, 250, 300), longs(1, 1, 1)
    waiting, last = np.array([[0, 2, 3]], np.int64), np.zeros((1, 3), np.int64)
    newer, later = longs(1, 2, -1), longs(-1, -1, -1)
    kind, place, free = np.zeros(9, np.int8), np.zeros(9, np.int64), np.zeros(9, np.int64)
    lists = waiting, last, newer, later, uses, kind, place, free
    n, freed = make_batch(0, 150, 300, 0, 0, times, *lists)
    assert (place[:n].tolist(), free[:freed].tolist()) == ([1], [0])
    assert (waiting.tolist(), uses.tolist()) == ([[1, 2, 2]], [0, 3, 1])
    n, freed = forget_batch(0, True, 0, 0, last, later, uses, kind, place, free)
    assert (kind[:n].tolist(), place[:n].tolist(), freed) == ([1], [1], 0)
    n, freed = make_batch(0, 260, 400, 0, 0, times, *lists)
    assert (place[:n].tolist(), free[:freed].tolist()) == ([2], [1])


def sessions() -> tuple[Any, Any, Any]:
    """Key 0 with an open session from 500 to 600 of the row in place 0."""
    lines, found = np.array([[0, -1]], np.int64), np.zeros((2, session.COLUMNS), np.int64)
    found[0, [session.START, session.END, session.LAST_LATE, session.COUNT]] = 500, 600, -1, 1
    return found, lines, np.full(8, -1, np.int64)


def rows(found: Any, newer: Any) -> list[int]:
    """The rows of the first line as they leave."""
    kind, row, place = np.zeros(8, np.int8), np.zeros(8, np.int64), np.zeros(8, np.int64)
    n = session.expire(0, 0, found, newer, kind, row, place)
    return place[:n].tolist()  # type: ignore[no-any-return]


def test_late_events_stand_in_front_of_a_session_in_the_order_in_which_they_came() -> None:
    """Each may be as late as the gap before the start; then it is the start."""
    found, lines, newer = sessions()
    assert session.add_late(0, 1, 450, 100, 0, found, lines, newer)
    assert session.add_late(0, 2, 350, 100, 0, found, lines, newer)
    assert not session.add_late(0, 3, 249, 100, 0, found, lines, newer)
    session.append(0, 4, 700, longs(0, 0), True, found, newer)
    assert rows(found, newer) == [1, 2, 0, 4]
    assert found[0, [session.START, session.END, session.COUNT, session.LATE]].tolist() == [
        *(350, 700),
        *(4, 2),
    ]


def test_a_late_event_joins_two_sessions() -> None:
    """The one put aside goes in front as a whole, and is none any more."""
    found, lines, newer = sessions()
    lines[0, session.ASIDE] = 1
    found[1, [session.START, session.END]] = 200, 420
    found[1, [session.HEAD, session.TAIL, session.LAST_LATE, session.COUNT]] = 5, 6, -1, 2
    newer[5] = 6
    assert session.add_late(0, 1, 410, 100, 50, found, lines, newer)
    assert rows(found, newer) == [1, 5, 6, 0]
    assert found[0, session.START] == 200
    assert session.line_of(0, session.ASIDE, lines) == -1
    assert session.line_of(0, session.OPEN, lines) == 0


def lines(made: Any) -> list[str]:
    """`+1` passes (row 1), `-3@500` leaves place 3 at 500, `R@500` is the mark."""
    kind, row, place, time = (each.tolist() for each in made)
    return [
        {0: f"+{r}", 1: f"-{p}@{t}", 3: f"R@{t}"}[k]
        for k, r, p, t in zip(kind, row, place, time, strict=True)
    ]


def test_full_batches_leave_in_front_of_the_next_event() -> None:
    """Each key has its own; their places are free then."""
    collecting, newer = np.zeros((2, 3), np.int64), np.full(8, -1, np.int64)
    chunks_of_two = (longs(0, 2, 4), longs(100, 200), longs(0, 0), longs(4, 5, 6, 7))
    made, offsets, free = pass_by_length(*chunks_of_two, 2, True, 0, collecting, newer)
    assert lines(made) == ["+0", "+1", "-4@200", "-5@200", "R@200", "+2", "+3"]
    assert (offsets.tolist(), free.tolist()) == ([0, 2, 7], [4, 5])
    one = (longs(0, 1), longs(300), longs(1), longs(4))
    made, _, free = pass_by_length(*one, 2, True, 2, collecting, newer)
    assert (lines(made), free.tolist()) == (["+0"], [])
    assert collecting[:, 2].tolist() == [2, 1]


def test_what_passed_leaves_at_the_boundary() -> None:
    """One line tells where the chunk of a boundary stands."""
    collecting, newer = np.zeros((1, 3), np.int64), np.full(8, -1, np.int64)
    state, counts = np.array([[UNKNOWN, 0]], np.int64), longs(0, 0)
    events = Events(longs(0, 2), longs(1), longs(10), longs(0), longs(2, 3))
    clock = Clock(longs(0, 2), longs(10, 200), 0, False)
    kept = (state, np.zeros((4, 3), np.int64), counts, collecting, newer)
    made, offsets, told, free = pass_by_time(events, clock, Grid(100, False, 0), True, 0, *kept)
    assert lines(made) == ["+0", "+1", "-2@110", "-3@110", "R@110"]
    assert (offsets.tolist(), free.tolist()) == ([0, 2, 5], [2, 3])
    assert told.tolist() == [[0, 1, 0, 10, 0, 0], [-1, 2, 110, 110, 1, 0]]
    assert (state.tolist(), int(counts[0])) == ([[210, 0]], 0)
