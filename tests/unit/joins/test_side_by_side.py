"""Equi-joins in columns bring what the reference brings, whole, cut and restored."""

from __future__ import annotations

import pytest

from lockstep.joins.columns.aggregating import AggregatingJoin
from lockstep.joins.columns.join import WindowJoin
from lockstep.joins.columns.queues import JoinedQueues
from lockstep.joins.columns.sides import JoinedWindows
from lockstep.joins.rule import WINDOW_JOINS
from tests.unit.side_by_side import TICK, Step, played, reasons, unit_of

STREAMS = "define stream L (k string, v int, t long); define stream R (k string, v int, t long); "
STEPS: list[Step] = [
    (100, "L", [["a", 1, 100], ["b", 2, 110], [None, 3, 120]]),
    (200, "R", [["a", 10, 200], [None, 20, 200], ["c", 30, 200]]),
    (250, "L", [["c", 4, 250], ["a", 5, 250]]),
    (450, "R", [["a", 40, 900], ["b", 50, 900]]),
    (800, TICK, []),
    (900, "L", [["b", 6, 900], ["a", None, 900]]),
    (2000, TICK, []),
]
WINDOWS = ["length(1)", "length(3)", "time(300)", "externalTime(t, 200)"]
PAIRS = "select l.k as k, l.v as v, r.v as w insert into O;"
TOTALS = "select l.k as k, count() as n, sum(r.v) as s group by l.k insert into O;"


@pytest.mark.parametrize("left", WINDOWS)
@pytest.mark.parametrize("kind", ["join", "left outer join", "full outer join"])
def test_pairs(left: str, kind: str) -> None:
    """Nulls meet nobody; an outer join has a row for who meets nobody."""
    text = (
        f"{STREAMS}from L#window.{left} as l {kind} R#window.time(400) as r on l.k == r.k {PAIRS}"
    )
    assert isinstance(unit_of(text, WindowJoin)._windows, JoinedQueues)
    brought = [row for chunk in played(text, *STEPS, rule=WINDOW_JOINS.name) for row in chunk]
    assert (None in {row[2] for row in brought}) is (kind != "join")


@pytest.mark.parametrize("left", WINDOWS)
@pytest.mark.parametrize("right", ["length(2)", "time(400)"])
def test_totals(left: str, right: str) -> None:
    """What leaves either window, also by a timer, is taken off."""
    text = f"{STREAMS}from L#window.{left} as l join R#window.{right} as r on l.k == r.k {TOTALS}"
    unit = unit_of(text, AggregatingJoin)
    assert unit.is_observed
    assert isinstance(unit._windows, JoinedWindows)
    assert played(text, *STEPS, rule=WINDOW_JOINS.name)


def test_one_side_without_a_window() -> None:
    """Its event meets who is there, and is gone."""
    text = (
        f"{STREAMS}from L as l unidirectional join R#window.length(2) as r on l.k == r.k and"
        f" r.v > 10 {PAIRS}"
    )
    assert played(text, *STEPS, rule=WINDOW_JOINS.name) == [
        [("c", 4, 30)],
        [("b", 6, 50), ("a", None, 40)],
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "L#window.time(100) as l join R#window.timeBatch(100) as r on l.k == r.k",
            "timers of two kinds",
        ),
        (
            "L#window.delay(100) as l join R#window.length(2) as r on l.k == r.k",
            "the window delay",
        ),
        (
            "L#window.sort(1, v) as l join R#window.length(2) as r on l.k == r.k",
            "the window sort",
        ),
    ],
)
def test_what_has_no_columnar_form_says_why(query: str, reason: str) -> None:
    """And stays on the reference."""
    assert reason in reasons(f"{STREAMS}from {query} {PAIRS}")[0]


@pytest.mark.parametrize("windows", [("length(7)", "length(300)"), ("time(40)", "time(500)")])
@pytest.mark.parametrize("keys", [30, 3000])
def test_more_rows_than_there_is_room_for(windows: tuple[str, str], keys: int) -> None:
    """Rows get new numbers and keys are forgotten; who is inside stays so."""
    left, right = windows
    text = (
        f"{STREAMS}from L#window.{left} as l unidirectional join R#window.{right} as r"
        f" on l.k == r.k {PAIRS}"
    )
    steps: list[Step] = [
        (
            100 + 20 * n,
            "LR"[n % 2],
            [[f"k{(7 * n * n + i) % keys}", i, 0] for i in range(40 if n % 4 else 900)],
        )
        for n in range(16)
    ]
    assert played(text, *steps, rule=WINDOW_JOINS.name)


@pytest.mark.parametrize("read", ["l[0].v", "l[last].v", "l[1].v"])
def test_an_index_of_a_side(read: str) -> None:
    """A side is one event, whatever index stands behind its name."""
    text = f"{STREAMS}from L#window.length(3) as l join R#window.time(400) as r on l.k == r.k "
    other = PAIRS.replace("l.v", read)
    assert other != PAIRS
    brought = played(text + other, *STEPS, rule=WINDOW_JOINS.name)
    assert brought == played(text + PAIRS, *STEPS, rule=WINDOW_JOINS.name)
