"""Tokens of chains of single events: lists by state and key, and places that are used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import Column, from_values
from lockstep.columns.pool import StringPool
from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.patterns.chains.kernel import (
    BEFORE,
    BUCKET,
    COLUMNS,
    FIRST,
    NEXT,
    OLDER,
    REALM,
    STATE,
    YOUNGER,
    Ends,
    begin_ages,
    end,
    link_all,
)
from lockstep.patterns.chains.state import ChainState, comparable
from lockstep.patterns.chains.tokens import ChainTokens
from lockstep.patterns.chains.unit import ChainUnit
from lockstep.patterns.conditions import Comparison, take_apart
from lockstep.patterns.parts import looks_back_alone
from lockstep.plan import QueryNode, plan_of
from lockstep.siddhiql.checked import CheckedPattern
from lockstep.testing.virtual_app import rehearsed
from tests.unit.columns.flows import DOUBLE, LONG, STRING
from tests.unit.side_by_side import played, unit_of

STREAMS = "define stream S (s string, i int, d double); define stream R (s string, i int, d int); "


def comparisons(condition: str) -> list[Comparison]:
    """What the second state of a chain compares."""
    text = f"{STREAMS}from every e1=S -> e2=R[{condition}] select e1.s as s insert into O;"
    (node,) = plan_of(text).nodes
    assert isinstance(node, QueryNode)
    assert isinstance(node.query.input, CheckedPattern)
    return take_apart(node.query.input.states[1])[1]


def test_tokens_of_a_bucket() -> None:
    """Those of one state, key and value stand in it in the order in which they came."""
    tokens = np.zeros((4, COLUMNS), np.int64)
    tokens[:, STATE] = 1
    tokens[:, REALM] = [0, 0, 5, 0]
    held = np.array([[8, 8, 8, 8]], np.int64)
    buckets = np.full((1024, 2), -1, np.int64)
    index = np.array([-1, 0], np.int64)
    link_all(np.array([3, 0, 2, 1]), index, held, tokens, buckets)
    shared = tokens[[3, 0, 1], BUCKET]
    assert len(set(shared.tolist())) == 1
    assert tokens[2, BUCKET] != shared[0]
    assert buckets[shared[0]].tolist() == [3, 1]
    assert tokens[[3, 0, 1], NEXT].tolist() == [0, 1, -1]
    assert tokens[[3, 0, 1], BEFORE].tolist() == [-1, 3, 0]


def test_tokens_stand_in_the_order_of_their_beginnings() -> None:
    """Of each key; who began late stands where it belongs, behind who began with it."""
    tokens = np.zeros((5, COLUMNS), np.int64)
    tokens[:, REALM] = [0, 0, 1, 0, 0]
    tokens[:, FIRST] = [30, 10, 5, 20, 20]
    ages = np.full((2, 3), -1, np.int64)
    begin_ages(np.arange(5), tokens, ages)
    assert ages[:, :2].tolist() == [[1, 0], [2, 2]]
    assert tokens[[1, 3, 4, 0], YOUNGER].tolist() == [3, 4, 0, -1]
    assert tokens[[1, 3, 4, 0], OLDER].tolist() == [-1, 1, 3, 4]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("i > e1.i", -1),
        ("d == e1.d", -1),
        ("i > e1.i and s == e1.s and i == e1.i", 1),
        ("(i > 3) == (e1.i > 3) and s == e1.s", 1),
        ("(i > 3) == (e1.i > 3)", 0),
    ],
)
def test_what_finds_a_bucket(condition: str, expected: int) -> None:
    """The first equal value that is no floating number: a truth only if there is nothing else."""
    assert ChainTokens(2, comparisons(condition), StringPool()).compare.index[1] == expected


def test_who_is_over_frees_its_number_and_the_place_of_its_first_event() -> None:
    """Only of one from before the slice: those of the slice have no place yet."""
    refs = np.array([[-7, 3]])
    ends = Ends(np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(3, np.int64))
    end(0, refs, ends)
    end(1, refs, ends)
    assert ends.free.tolist() == [0, 1]
    assert (ends.counts.tolist(), ends.gone[0]) == ([2, 0, 1], 5)


def test_tokens_outlive_growth() -> None:
    """More keys, and more tokens than there was room for."""
    tokens = ChainTokens(3, comparisons("i > e1.i"), StringPool())
    first = [tokens.add(1, 0, 500), tokens.add(2, 0, 400), tokens.add(1, 0, 300)]
    tokens.refs[0, first[0]] = -9
    tokens.reserve(5000, 40)
    tokens.add(1, 39, 7)
    tokens.arrange()
    assert tokens.waiting(1, 0).tolist() == [first[0], first[2]]
    assert tokens.waiting(2, 0).tolist() == [first[1]]
    assert tokens.waiting(1, 10_000).tolist() == []
    assert (tokens.refs[0, first[0]], tokens.first[first[0]]) == (-9, 500)
    assert (int(tokens.alive.sum()), tokens.free_count) == (4, len(tokens.alive) - 4)


@pytest.mark.parametrize(
    ("condition", "column", "expected"),
    [
        ("i > e1.i", from_values(LONG, [3]), [3]),
        ("d > e1.d", from_values(LONG, [3]), [3.0]),
        ("d > e1.d", Column(DOUBLE, np.array([0.5])), [0.5]),
    ],
)
def test_numbers_compare_in_the_wider_type(
    condition: str, column: Column, expected: list[Any]
) -> None:
    """Whole ones as whole numbers: a double has not all of them."""
    (comparison,) = comparisons(condition)
    values, nulls = comparable(column, comparison, StringPool())
    assert (values.tolist(), nulls) == (expected, None)
    assert values.dtype.kind == ("f" if isinstance(expected[0], float) else "i")


def test_texts_compare_by_the_codes_of_one_pool() -> None:
    """Whatever dictionary they came with."""
    (comparison,) = comparisons("s == e1.s")
    pool = StringPool()
    first, _ = comparable(from_values(STRING, ["b", "a"]), comparison, pool)
    second, nulls = comparable(from_values(STRING, ["a", None, "b"]), comparison, pool)
    assert second[[0, 2]].tolist() == first[[1, 0]].tolist()
    assert nulls.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("condition", "operators"),
    [
        ("i > e1.i", [4]),
        ("e1.i > i", [2]),
        ("not (i == e1.i)", [1]),
        ("i > 3 and s == e1.s and e1.d <= d", [0, 5]),
    ],
)
def test_conditions_are_taken_apart(condition: str, operators: list[int]) -> None:
    """The arriving event's value stands left; what it decides alone is no comparison."""
    assert [each.operator for each in comparisons(condition)] == operators


def test_a_fresh_chain_stores_what_the_reference_has() -> None:
    """One token, at the beginning."""
    text = f"{STREAMS}from every e1=S -> e2=R[i > e1.i] select e1.s as s insert into O;"
    unit = unit_of(text, ChainUnit)
    assert isinstance(unit._partial, ChainState)
    unit._partial.prepare()
    encoded, places = unit._partial.stored(0)
    assert len(encoded) == 1
    assert places == [([0], [], None), ([], [], None)]


def test_chains_look_back_alone() -> None:
    """Not at what comes later, nor at what collects."""

    def parts_of(states: str, condition: str, selected: str = "e2.s") -> Any:
        text = f"{STREAMS}from every {states}[{condition}] select {selected} as s insert into O;"
        (node,) = plan_of(text).nodes
        assert isinstance(node, QueryNode)
        assert isinstance(node.query.input, CheckedPattern)
        found = take_apart(node.query.input.states[1])[1]
        return type("Parts", (), {"comparisons": found, "node": node})

    assert looks_back_alone(parts_of("e1=S -> e2=R", "i > e1.i"))
    for condition in ("i > e1[0].i", "s == e1[last].s"):
        assert looks_back_alone(parts_of("e1=S -> e2=R", condition, "e1[last].s"))
        assert not looks_back_alone(parts_of("e1=S<1:2> -> e2=R", condition))
    assert not looks_back_alone(parts_of("e1=S -> e2=R", "i > e1.i", "e1[1].s"))
    assert not looks_back_alone(parts_of("e1=S -> e2=R", "i > e1[last-1].i"))


@pytest.mark.parametrize("end", ["e2=R[i > e1.i]", "not R[i > e1.i] for 1 sec"])
@pytest.mark.parametrize(
    ("selected", "expected"), [("e1[0].i", 1), ("e1[last].i", 1), ("e1[1].i", None)]
)
def test_an_index_of_a_single_event(end: str, selected: str, expected: int | None) -> None:
    """The first and the last one are the event, and there is no other."""
    text = f"{STREAMS}from every e1=S -> {end} select {selected} as v insert into O;"
    first, other = ("S", [("a", 1, 0.0)]), ("R", [("a", 2 if "e2" in end else 0, 0)])
    general = "pattern chain" if "e2" in end else "pattern chain that ends with an absence"
    rule = general if expected else "pattern"
    chunks = played(text, (1000, *first), (1500, *other), (2500, "", ()), rule=rule)
    assert chunks == [[(expected,)]]


def test_the_last_one_in_an_events_own_filter() -> None:
    """That is the one before, and a single event has none."""
    text = f"{STREAMS}from every e1=S -> e2=R[e2[last].i is null] select e2.i as v insert into O;"
    steps = ((1000, "S", [("a", 1, 0.0)]), (1500, "R", [("a", 2, 0)]))
    assert played(text, *steps, rule="pattern") == [[(2,)]]


def test_late_events_and_equal_values() -> None:
    """`within` counts from both sides, whoever began late; a bucket is that of the value."""
    text = (
        f"@app:playback {STREAMS}from every e1=S -> e2=R[s == e1.s and i >= e1.i] within 2 sec"
        " select e1.i as i, e2.i as j insert into O;"
    )
    steps = [
        ("S", 10_000, "a", 1),
        ("S", 9_000, "a", 2),
        ("S", 10_000, "b", 3),
        ("R", 11_500, "a", 7),
        ("S", 12_000, "a", 4),
        ("R", 9_500, "b", 8),
        ("R", 12_500, "a", 9),
    ]
    log = [
        LogEntry(n, EventsRecord(stream, time, ((InputEvent(time, (s, i, i)),),), True))
        for n, (stream, time, s, i) in enumerate(steps, 1)
    ]
    plan = rehearsed(text)
    for kind in (ReferenceExecutor, ColumnarExecutor):
        rows = [row.data for row in kind(plan, start_ms=0).run_slice(log).rows]
        assert rows == [(1, 7), (3, 8)]
