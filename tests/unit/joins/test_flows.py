"""Joins over the flows of two windows bring what the reference brings, whole, cut and restored."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.rule import NotLowerable
from lockstep.joins import flow_rule
from lockstep.joins.columns.flow_join import FlowJoin
from lockstep.joins.columns.flow_kernel import CURRENT, EXPIRED, Inside, observe
from lockstep.joins.columns.flows import Apart, Together
from lockstep.joins.rule import WINDOW_JOINS
from lockstep.siddhiql import ast
from lockstep.windows.time.kernel import ask
from tests.unit.joins.test_side_by_side import STEPS, STREAMS
from tests.unit.side_by_side import played, unit_of

PAIRS = "select l.k as k, l.v as v, r.v as w insert all events into O;"
SIDES = {
    "by number": ("length(2)", "length(3)", Apart),
    "by time": ("time(300)", "time(400)", Together),
    "one of each": ("length(2)", "time(400)", Apart),
}


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("kind", ["join", "left outer join", "full outer join"])
def test_what_leaves_a_window_leaves_its_pairs(sides: str, kind: str) -> None:
    """As expired rows, also by a timer."""
    left, right, made = SIDES[sides]
    text = f"{STREAMS}from L#window.{left} as l {kind} R#window.{right} as r on l.k == r.k {PAIRS}"
    assert isinstance(unit_of(text, FlowJoin)._windows, made)
    rows = [row for chunk in played(text, *STEPS, rule=WINDOW_JOINS.name) for row in chunk]
    assert len(rows) > len(set(rows))  # each came, and left


def test_in_partitions() -> None:
    """Each key has windows of its own."""
    text = (
        f"{STREAMS}partition with (k of L, k of R) begin from L#window.time(300) as l join"
        f" R#window.time(400) as r on l.v < r.v {PAIRS} end;"
    )
    unit_of(text, FlowJoin)
    assert any(played(text, *STEPS, rule=WINDOW_JOINS.name))


def test_named_windows() -> None:
    """Both of them, with what others let out of them."""
    text = (
        f"{STREAMS}define window A (k string, v int, t long) length(2) output all events;"
        "define window B (k string, v int, t long) time(400) output all events;"
        "from L insert into A; from R insert into B;"
        f"from A as l join B as r on l.k == r.k {PAIRS}"
    )
    unit_of(text, FlowJoin)
    assert any(played(text, *STEPS, rule=WINDOW_JOINS.name))


def test_a_window_that_does_not_say_what_leaves_is_refused() -> None:
    """With its name."""
    with pytest.raises(NotLowerable, match="the window sort"):
        flow_rule._leaves(ast.FunctionCall("sort"))


def test_the_first_in_is_the_first_out() -> None:
    """Of each key by itself; the place of what leaves is told."""
    inside = Inside(
        np.full((2, 3), -1), np.full((2, 3), -1), np.full((2, 8), -1), np.array([True, True])
    )
    kind = np.array([CURRENT, CURRENT, CURRENT, EXPIRED, EXPIRED, EXPIRED])
    key, place = np.array([1, 2, 1, 1, 1, 2]), np.array([5, 6, 7, -1, -1, -1])
    observe(0, 0, 6, kind, key, place, inside)
    assert place.tolist() == [5, 6, 7, 5, 7, 6]
    assert inside.heads[0].tolist() == [-1, -1, -1]


def test_a_realm_asks_once_for_a_time() -> None:
    """Others ask for themselves."""
    waits, heap = np.zeros(2, np.int64), np.zeros((8, 3), np.int64)
    counts = np.zeros(2, np.int64)
    for due, realm in ((500, 0), (500, 0), (500, 1), (300, 0)):
        ask(due, realm, waits, heap, counts)
    assert (counts[0], waits.tolist(), heap[0].tolist()) == (3, [2, 1], [300, 3, 0])
