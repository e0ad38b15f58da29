"""Aggregators that take events one by one in columns: what a mark costs, and what it empties."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pytest

from lockstep.aggregators import hosted
from lockstep.aggregators.accumulators import Feed
from lockstep.aggregators.hosted import Hosted
from lockstep.aggregators.percentile import Percentile
from lockstep.columns.column import from_values
from lockstep.events import AttributeType
from tests.unit.side_by_side import Step, played

DOUBLE = AttributeType.DOUBLE
CURRENT, EXPIRED, RESET = 0, 1, 3
Line = tuple[int, int, int, float]
"""(kind, group, realm, value)."""


def percentiles(groups: int, *, forgets: bool = False) -> Hosted:
    """The medians of some groups."""
    made = Hosted(lambda: Percentile(50.0), DOUBLE, forgets=forgets)
    made.reserve(groups, groups, 0)
    return made


def feed(accumulator: Hosted, lines: list[Line]) -> list[Any]:
    """The value at each line."""
    kind, group, realm = (np.array([line[i] for line in lines], np.int64) for i in range(3))
    values = from_values(DOUBLE, [line[3] for line in lines])
    accumulator.run(Feed(kind.astype(np.int8), group, realm, None), [values])
    return accumulator.result("percentile").to_pylist()


def steps_of(action: Callable[[], object]) -> int:
    """How many lines of the module run."""
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != hosted.__file__:
            return None
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def steps_of_marks(realms: int) -> int:
    """What a mark for each of so many realms costs, of which each has a group."""
    accumulator = percentiles(realms)
    feed(accumulator, [(CURRENT, realm, realm, 1.0) for realm in range(realms)])
    marks = [(RESET, realm, realm, 0.0) for realm in range(realms)]
    return steps_of(lambda: feed(accumulator, marks))


def test_a_mark_walks_the_groups_of_its_own_realm_alone() -> None:
    """Twice the realms cost twice as much, and not four times."""
    assert steps_of_marks(200) < 3 * steps_of_marks(100)


@pytest.mark.parametrize("forgets", [False, True])
def test_marks_empty_the_groups_that_moved_and_that_were_loaded(forgets: bool) -> None:
    """Groups 0 and 1 are of one realm, 2 of another; 1 goes, and the others change places."""
    old = percentiles(3, forgets=forgets)
    feed(old, [(CURRENT, 0, 0, 1.0), (CURRENT, 1, 0, 2.0), (CURRENT, 2, 1, 3.0)])
    old.move(np.array([1, -1, 0]), 2)
    assert old.store(np.arange(2)) == [[3.0], [1.0]]
    assert old.live().tolist() == [True, True]
    new = percentiles(3, forgets=forgets)
    new.realm_of[[0, 1]] = [1, 0]
    new.load(np.arange(2), old.store(np.arange(2)))
    for each in (old, new):
        assert feed(each, [(CURRENT, 1, 0, 5.0), (RESET, 1, 0, 0.0), (CURRENT, 1, 0, 7.0)]) == [
            3.0,
            None,
            7.0,
        ]
        assert each.store(np.arange(2)) == [[3.0], [7.0]]
        feed(each, [(RESET, 0, 1, 0.0)])
        assert each.live().tolist()[:2] == [False, True]


def test_a_group_that_was_dropped_comes_back() -> None:
    """It went with its last event that left; marks of other realms do not touch it."""
    accumulator = percentiles(2, forgets=True)
    lines = [(CURRENT, 0, 0, 1.0), (EXPIRED, 0, 0, 1.0), (RESET, 0, 0, 0.0)]
    assert feed(accumulator, lines) == [1.0, None, None]
    assert not accumulator.live().any()
    assert feed(accumulator, [(CURRENT, 0, 0, 4.0), (RESET, 1, 1, 0.0)]) == [4.0, None]
    assert accumulator.store(np.arange(2)) == [[4.0], []]


CALLS = "math:percentile(v, 75.0) as p, str:groupConcat(k, '-', false, 'ASC') as t"


@pytest.mark.parametrize("group", ["", " group by k", " group by n"])
@pytest.mark.parametrize("window", ["lengthBatch(3)", "lengthBatch(3, true)", "length(2)"])
def test_partitions_bring_what_the_reference_brings(window: str, group: str) -> None:
    """Over random events of many instances, and over restores."""
    text = (
        "define stream S (k string, v double, n int);"
        f" partition with (k of S) begin from S#window.{window}"
        f" select k, n, {CALLS}{group} insert all events into O; end;"
    )
    random = Random(11)
    steps: list[Step] = [
        (
            100 + step,
            "S",
            [
                [f"k{random.randrange(12)}", random.choice([None, 0.5, 1.5]), random.randrange(3)]
                for _ in range(15)
            ],
        )
        for step in range(12)
    ]
    rule = "tumbling window" if "Batch" in window else "sliding window"
    assert any(played(text, *steps, rule=rule))
