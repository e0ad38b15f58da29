"""Tokens of chains of single events: lists by state and key, and places that are used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import Column, from_values
from lockstep.columns.pool import StringPool
from lockstep.patterns.chains.kernel import Ends, Lists, append, end, unlink, waiting
from lockstep.patterns.chains.state import ChainState, comparable
from lockstep.patterns.chains.tokens import Tokens
from lockstep.patterns.chains.unit import ChainUnit
from lockstep.patterns.conditions import Comparison, take_apart
from lockstep.patterns.parts import looks_back_alone
from lockstep.plan import QueryNode, plan_of
from lockstep.siddhiql.checked import CheckedPattern
from tests.unit.columns.flows import DOUBLE, LONG, STRING
from tests.unit.side_by_side import unit_of

STREAMS = "define stream S (s string, i int, d double); define stream R (s string, i int, d int); "


def comparisons(condition: str) -> list[Comparison]:
    """What the second state of a chain compares."""
    text = f"{STREAMS}from every e1=S -> e2=R[{condition}] select e1.s as s insert into O;"
    (node,) = plan_of(text).nodes
    assert isinstance(node, QueryNode)
    assert isinstance(node.query.input, CheckedPattern)
    return take_apart(node.query.input.states[1])[1]


def test_a_list_of_tokens() -> None:
    """The first, one in the midst, the last, and the only one leave it."""
    lists = Lists(np.full((3, 1), -1), np.full((3, 1), -1), np.full(4, -1))
    head, tail, following = lists
    for token in range(4):
        append(1, 0, token, lists)
    assert waiting(head[1, 0], following).tolist() == [0, 1, 2, 3]
    unlink(1, 0, 0, 2, lists)
    unlink(1, 0, -1, 2, lists)
    assert waiting(head[1, 0], following).tolist() == [2, 3]
    unlink(1, 0, 2, -1, lists)
    assert (waiting(head[1, 0], following).tolist(), tail[1, 0]) == ([2], 2)
    unlink(1, 0, -1, -1, lists)
    assert (head[1, 0], tail[1, 0]) == (-1, -1)
    assert waiting(-1, following).tolist() == []


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
    tokens = Tokens(3, comparisons("i > e1.i"))
    first = [tokens.add(1, 0), tokens.add(2, 0), tokens.add(1, 0)]
    tokens.begun(first[0], 0, 500)
    tokens.refs[0, first[0]] = -9
    tokens.reserve(5000, 40)
    tokens.add(1, 39)
    assert tokens.waiting(1, 0).tolist() == [first[0], first[2]]
    assert tokens.waiting(2, 0).tolist() == [first[1]]
    assert tokens.waiting(1, 10_000).tolist() == []
    assert (tokens.refs[0, first[0]], tokens.first[first[0]]) == (-9, 500)
    assert (int(tokens.alive.sum()), tokens.free_count) == (4, len(tokens.alive) - 4)
    assert (tokens.oldest[0], tokens.youngest[0]) == (500, 500)
    assert tokens.oldest[39] > tokens.youngest[39]


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
    (single,) = comparisons("i > e1.i")
    parts: Any = type("Parts", (), {"comparisons": [single]})
    assert looks_back_alone(parts)
    for condition in ("i > e1[0].i", "s == e1[last].s"):
        text = f"{STREAMS}from every e1=S<1:2> -> e2=R[{condition}] select e2.s as s insert into O;"
        (node,) = plan_of(text).nodes
        assert isinstance(node, QueryNode)
        assert isinstance(node.query.input, CheckedPattern)
        found = take_apart(node.query.input.states[1])[1]
        parts = type("Parts", (), {"comparisons": found})
        assert not looks_back_alone(parts)
