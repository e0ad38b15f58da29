"""Output rates on columns: which rows leave, in which chunk, and what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lockstep.columns.chunks import Chunks
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.rates.by_number.columns import AllByNumber, FirstByNumber, LastByNumber
from lockstep.rates.by_time.columns import AllByTime, FirstByTime, LastByTime, Periods
from lockstep.rates.contract import Limiter, Rated
from lockstep.rates.rows import last_by_group
from lockstep.rates.snapshot.columns import (
    GroupsInWindow,
    LastRows,
    NewestRow,
    WindowContent,
    oldest_of_each,
)
from tests.unit.columns.flows import INT, chunks, longs, moves

RATED = Rated("q", 5, (INT,))
KEYS = ["a", "b"]


def run(
    limiter: Limiter,
    stream: Chunks,
    groups: Sequence[int] | None = None,
    clock: Moves | None = None,
) -> list[list[int]]:
    """The values that leave, a list per chunk; `groups` are places in KEYS."""
    output = Output(stream, groups=None if groups is None else longs(*groups))
    made = limiter.run(limiter.keys.limited(output, KEYS), clock or moves(stream)).chunks
    values = made.columns[0].to_pylist()
    assert made.count == len(made.order) == len(made.now)
    return [values[a:b] for a, b in zip(made.starts[:-1], made.starts[1:], strict=True)]


def test_all_by_number() -> None:
    """Whole groups leave with the chunk that fills them; the rest waits for the next slice."""
    limiter = AllByNumber(RATED, 2)
    assert run(limiter, chunks([1], [2, 3], [4, 5, 6])) == [[1, 2], [3, 4, 5, 6]]
    assert run(limiter, chunks([7])) == []
    assert run(limiter, chunks([8])) == [[7, 8]]


def test_first_by_number() -> None:
    """Counted by group."""
    limiter = FirstByNumber(RATED, 2)
    assert run(limiter, chunks([1, 2, 3], [4]), groups=[0, 1, 0, 0]) == [[1, 2], [4]]
    assert run(limiter, chunks([5, 6]), groups=[0, 1]) == []
    assert limiter.store(0) == []
    assert run(limiter, chunks([7, 8]), groups=[1, 0]) == [[7, 8]]
    assert limiter.store(0) == [("b", 1), ("a", 1)]


def test_last_by_number() -> None:
    """All rows count; the last of each group leaves, in the order of the groups' first rows."""
    limiter = LastByNumber(RATED, 3)
    assert run(limiter, chunks([1, 2], [3, 4]), groups=[1, 0, 1, 0]) == [[3, 2]]
    assert run(limiter, chunks([5, 6, 7, 8, 9]), groups=[1, 1, 0, 0, 0]) == [[4, 6, 9]]


def test_last_by_number_without_groups() -> None:
    """Every Nth row."""
    assert run(LastByNumber(RATED, 2), chunks([1, 2, 3], [4, 5])) == [[2], [4]]


def test_all_by_time() -> None:
    """At the end of a period of the wall clock, where the timer stands."""
    limiter = AllByTime(RATED, 150)
    limiter.start(50)
    assert limiter.due_ms() == 200
    stream = chunks([1], [2], [3])
    output = limiter.run(limiter.keys.limited(Output(stream), KEYS), moves(stream, until=500))
    made = output.chunks
    assert made.columns[0].to_pylist() == [1, 2, 3]
    assert made.starts.tolist() == [0, 1, 3]
    assert made.now.tolist() == [200, 350]
    # The timer at 200 fires in front of the event at 200, that at 350 with the last move.
    assert made.order.moments.tolist() == [2, 6]
    assert made.order.levels[1:] == (5, 0, 0)
    assert made.times.tolist() == [100, 200, 300]
    assert limiter.due_ms() == 650


def test_last_by_time() -> None:
    """By group; nothing leaves when nothing came."""
    limiter = LastByTime(RATED, 100)
    limiter.start(0)
    stream = chunks([1, 2, 3], at=[50])
    assert run(limiter, stream, [0, 1, 0], moves(stream, until=90)) == []
    stream = chunks([4], at=[250])
    assert run(limiter, stream, [1], moves(stream)) == [[3, 2]]
    assert limiter.due_ms() == 300


def test_first_by_time() -> None:
    """By the clock of the app since the last that passed."""
    limiter = FirstByTime(RATED, 100)
    assert run(limiter, chunks([1, 2], [3], [4], at=[100, 150, 200]), [0, 1, 0, 0]) == [[1, 2], [4]]
    assert limiter.store(0) == [("a", 200)]
    assert run(limiter, chunks([5], [6], at=[210, 299]), [1, 0]) == [[5]]
    assert limiter.store(0) == [("a", 200), ("b", 210)]


def test_snapshot_without_a_window() -> None:
    """The last row of each group again and again, in the order of the groups."""
    limiter = LastRows(RATED, 100)
    limiter.start(0)
    stream = chunks([1, 2], [3], at=[50, 150])
    assert run(limiter, stream, [1, 0, 0], moves(stream, until=300)) == [[1, 2], [1, 3], [1, 3]]


def windowed(limiter: Any, made: Chunks, kinds: Sequence[int], groups: Sequence[int]) -> Output:
    """What a limiter shows of a window's rows; each event is its own row."""
    both = replace(made, columns=(*made.columns, *made.columns))
    output = Output(both, np.array(kinds, np.int8), groups=longs(*groups))
    shown: Output = limiter.run(limiter.keys.limited(output, KEYS), moves(made, until=450))
    return shown


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (WindowContent, [[1], [1, 2], [2, 3]]),
        (GroupsInWindow, [[1], [1, 2], [3]]),
    ],
)
def test_snapshot_of_a_window(make: Any, expected: list[list[int]]) -> None:
    """What is inside at each tick, and its groups; what leaves takes its likeness out."""
    limiter = make(RATED, 100, [False], (INT,))
    limiter.start(0)
    stream = chunks([1], [2], [3, 1], at=[50, 150, 250])
    made = windowed(limiter, stream, [0, 0, 0, 1], [0, 1, 1, 0]).chunks
    values = made.columns[0].to_pylist()
    found = [values[a:b] for a, b in zip(made.starts[:-1], made.starts[1:], strict=True)]
    assert found == [*expected, expected[-1]]
    assert len(made.columns) == 1


def test_snapshot_with_the_latest_aggregates() -> None:
    """Every row shows the newest value of its group, that of a row that left too."""
    limiter = WindowContent(RATED, 100, [True], (INT,))
    limiter.start(0)
    made = windowed(limiter, chunks([1, 2, 3], at=[50]), [0, 0, 0], [0, 1, 0]).chunks
    assert made.columns[0].to_pylist() == [3, 2, 3] * 4
    assert limiter.store(0) == (
        [((1,), (50, (1,), 0, "a")), ((2,), (50, (2,), 0, "b")), ((3,), (50, (3,), 0, "a"))],
        [("a", (3,)), ("b", (2,))],
    )


def test_snapshot_of_aggregates_alone() -> None:
    """Nothing when the last event is one that left."""
    limiter = NewestRow(RATED, 100)
    limiter.start(0)
    stream = chunks([1], [2], at=[50, 150])
    output = Output(stream, np.array([0, 1], np.int8))
    made = limiter.run(limiter.keys.limited(output, KEYS), moves(stream, until=450)).chunks
    assert made.columns[0].to_pylist() == [1]


def test_a_tick_stands_in_front_of_a_window_s_timer() -> None:
    """Rows of the query's own timers come behind a tick that is due with them, those of an earlier
    query in front of it, those of a later one behind."""
    periods = Periods(100)
    periods.start(0)
    clock = moves(chunks([1], at=[200]))
    at = clock.moments[:1].repeat(4)
    order = Order(at, (longs(99, 100, 100, 100), longs(9, 4, 5, 6), 0))
    assert periods.before(order, 5, clock).tolist() == [0, 0, 1, 1]


def test_the_oldest_of_each_likeness_leaves_first() -> None:
    """What finds nothing inside takes nothing out, also later."""
    like = longs(7, 3, 7, 7, 3, 3, 3, 7)
    enters = np.array([False, True, True, True, False, False, True, False])
    rows, gone = oldest_of_each(like, enters)
    assert dict(zip(rows.tolist(), gone.tolist(), strict=True)) == {1: 4, 2: 7}
    none = np.zeros(0, np.int64)
    assert oldest_of_each(none, none.astype(np.bool_))[0].tolist() == []


@pytest.mark.parametrize(
    "make",
    [
        AllByNumber,
        FirstByNumber,
        LastByNumber,
        AllByTime,
        LastByTime,
        FirstByTime,
        LastRows,
        NewestRow,
    ],
)
def test_what_a_limiter_stores_it_takes_back(make: Any) -> None:
    """Cut anywhere, the same rows leave."""
    streams = [chunks([i, i + 1], at=[40 * i]) for i in range(1, 12)]
    whole, cut = make(RATED, 5), make(RATED, 5)
    for limiter in (whole, cut):
        limiter.start(0)
    for stream in streams:
        expected = run(whole, stream, [0, 1])
        other = make(RATED, 5)
        other.load(0, cut.store(0), cut.due_ms())
        cut = other
        assert run(cut, stream, [0, 1]) == expected


def test_last_by_group() -> None:
    """Of each span, groups in the order of their first row."""
    rows, spans = last_by_group(longs(0, 0, 0, 1, 1), longs(1, 0, 1, 0, 0))
    assert rows.tolist() == [2, 1, 4]
    assert spans.tolist() == [0, 0, 1]
    assert last_by_group(np.zeros(0, np.int64), np.zeros(0, np.int64))[0].tolist() == []
