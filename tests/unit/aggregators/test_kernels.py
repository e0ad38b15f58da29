"""Loops of aggregators over a few events: marks, leaving, nulls, NaN, and what does not fit."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from lockstep.aggregators.accumulators import Feed, Grouped, Leaves
from lockstep.aggregators.columns import Aggregates
from lockstep.aggregators.count.columns import Counts
from lockstep.aggregators.count.kernel import run_counts
from lockstep.aggregators.deviation.columns import FloatDeviations, IntegerDeviations
from lockstep.aggregators.deviation.kernel import run_integer_deviations
from lockstep.aggregators.distinct_count import DistinctCount
from lockstep.aggregators.distinct_count.columns import DistinctCounts
from lockstep.aggregators.distinct_count.kernel import run_distinct
from lockstep.aggregators.extremes.kernel import run_extremes, run_sliding_extremes
from lockstep.aggregators.extremes.unordered_kernel import OUTSIDE, joined, link
from lockstep.aggregators.sums.columns import Totals
from lockstep.aggregators.sums.kernel import run_totals
from lockstep.columns.column import Unfit, from_values
from lockstep.expressions.columns import Compiler
from lockstep.plan import plan_of
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.siddhiql.typing import aggregator_calls
from tests.unit.columns.flows import DOUBLE, LONG, longs

IN, OUT, MARK = 0, 1, 3


def marked(*kinds: int, groups: tuple[int, ...] = ()) -> tuple[Any, ...]:
    """Kind, group, realm, epochs and emptied of events, of group 0 when not given."""
    own = groups or (0,) * len(kinds)
    realm = longs(*[0] * len(kinds))
    return np.array(kinds, np.int8), longs(*own), realm, longs(0), longs(0, 0)


def test_a_mark_empties_every_group_of_its_realm_when_it_is_next_used() -> None:
    """Not before: nobody asks."""
    count, out = longs(7, 5), longs(*[0] * 4)
    events = marked(IN, MARK, IN, IN, groups=(0, 0, 0, 1))
    run_counts(*events, count, out)
    assert out[[0, 2, 3]].tolist() == [8, 1, 1]
    assert (events[3].tolist(), events[4].tolist()) == ([1], [1, 1])


def test_sums_begin_anew_when_the_last_value_has_left() -> None:
    """A rest of rounding is not kept; nulls neither come nor leave."""
    value, valid = np.array([0.1, 0.2, 0.1, 0.2, 9.0]), np.array([1, 1, 1, 1, 0], np.bool_)
    total, count, out, counts = np.zeros(2), longs(0, 0), np.zeros(5), longs(*[0] * 5)
    run_totals(*marked(IN, IN, OUT, OUT, IN), value, valid, False, total, count, out, counts)
    assert out[[1, 3, 4]].tolist() == [0.1 + 0.2, 0.0, 0.0]
    assert counts.tolist() == [1, 2, 1, 0, 0]


@pytest.mark.parametrize(
    ("values", "fits"), [([2**62], True), ([2**62, 1], False), ([-(2**62) - 1], False)]
)
def test_whole_sums_that_might_not_fit_are_refused(values: list[int], fits: bool) -> None:
    """Rather than wrapped around in silence."""
    own = longs(0, 0), longs(0, 0), longs(*values), longs(*values)
    valid = np.ones(len(values), np.bool_)
    events = marked(*[IN] * len(values))
    assert run_totals(*events, longs(*values), valid, True, *own) is fits
    own = longs(0, 0), longs(0, 0), longs(0, 0), *[longs(*values) for _ in range(3)]
    assert run_integer_deviations(*events, longs(*values), valid, *own) is False


def test_distinct_values_of_a_group() -> None:
    """Copies are counted; leaving more often than coming brings nothing below zero."""
    pair, out = longs(0, 0, 1, 0, 0, 0), longs(*[0] * 6)
    own = [longs(0, 0) for _ in range(4)]
    run_distinct(*marked(IN, IN, IN, OUT, OUT, OUT), pair, *own, out)
    assert out.tolist() == [1, 1, 2, 2, 1, 1]


def test_distinct_values_that_leave_before_they_come() -> None:
    """As the reference's, whatever comes and leaves, over marks and new numbers of groups."""
    random, given = Random(5), DistinctCounts()
    meaning = [DistinctCount() for _ in range(2)]
    for _ in range(300):
        kind = random.choice((IN, OUT, IN, OUT, IN, OUT, IN, OUT, MARK))
        group, value = random.randrange(2), random.randrange(3)
        given.reserve(2, 1, 0)
        feed = Feed(np.array([kind], np.int8), longs(group), longs(0), None)
        given.run(feed, [from_values(LONG, [value])])
        if kind == MARK:
            for each in meaning:
                each.reset()
            continue
        own = meaning[group]
        (own.add if kind == IN else own.remove)(value)
        assert given.result("distinctCount").to_pylist() == [own.value()]
        assert given.live()[:2].tolist() == [not each.is_empty() for each in meaning]
        if random.random() < 0.2:
            given.move(longs(1, 0), 2)
            meaning.reverse()
        if random.random() < 0.2:
            stored, given = given.store(longs(0, 1)), DistinctCounts()
            given.reserve(2, 1, 0)
            given.load(longs(0, 1), stored)
            assert [dict(state) for state in stored] == [dict(m.snapshot()) for m in meaning]


@pytest.mark.parametrize(
    ("sign", "forever", "expected"),
    [
        (1, False, [None, 3.0, 2.0, 2.0, None, 5.0]),
        (-1, False, [None, 3.0, 3.0, 3.0, None, 5.0]),
        (1, True, ["nan", "nan", "nan", "nan", "nan", "nan"]),
    ],
)
def test_extremes_of_what_leaves_at_once(sign: int, forever: bool, expected: list[Any]) -> None:
    """NaN is no extreme, but the first value for ever; nulls do not count."""
    value = np.array([np.nan, 3.0, 2.0, 0.0, 0.0, 5.0])
    valid = np.array([1, 1, 1, 0, 0, 1], np.bool_)
    present, best, out, shown = (
        np.zeros(2, np.bool_),
        np.zeros(2),
        np.zeros(6),
        np.zeros(6, np.bool_),
    )
    events = marked(IN, IN, IN, IN, MARK, IN)
    run_extremes(*events, value, valid, sign, forever, present, best, out, shown)
    found = [
        None if not there or kind == MARK else "nan" if x != x else x
        for kind, there, x in zip(events[0].tolist(), shown.tolist(), out.tolist(), strict=True)
    ]
    if forever:
        expected[4] = None
    assert found == expected


def test_extremes_of_what_leaves_in_order() -> None:
    """Against a plain list, two groups, nulls and NaN among the values, few places."""
    random, inside = Random(3), ([], [])  # type: ignore[var-annotated]
    kinds, groups, places, values, expected = [], [], [], [], []
    free = list(range(12))
    for _ in range(300):
        g = random.randrange(2)
        if inside[g] and (not free or random.random() < 0.5):
            place, value = inside[g].pop(0)
            free.append(place)
            kinds.append(OUT)
        elif free:
            place, value = free.pop(0), random.choice([None, np.nan, *range(5)])
            inside[g].append((place, value))
            kinds.append(IN)
        else:
            continue
        groups.append(g)
        places.append(place)
        values.append(value)
        held = [v for _, v in inside[g] if v is not None and v == v]
        expected.append(max(held) if held else None)
    valid = np.array([value is not None for value in values])
    numbers = np.array([0 if value is None else value for value in values], np.float64)
    out, shown = np.zeros(len(kinds)), np.zeros(len(kinds), np.bool_)
    chain = longs(-1, -1), longs(-1, -1), longs(*[0] * 12), longs(*[0] * 12), np.zeros(12)
    events = np.array(kinds, np.int8), longs(*groups), longs(*places)
    run_sliding_extremes(*events, numbers, valid, -1, *chain, out, shown)
    found = [x if there else None for x, there in zip(out.tolist(), shown.tolist(), strict=True)]
    assert found == expected


def test_heaps_are_linked_by_place() -> None:
    """The smaller one is the root; none and one is that one."""
    child, after, before = (np.full(4, -1, np.int64) for _ in range(3))
    arrays = child, after, before, np.array([3.0, 1.0, 2.0, 1.0])
    assert link(-1, 2, 1, *arrays) == link(2, -1, 1, *arrays) == 2
    assert joined(-1, 1, *arrays) == -1
    root = link(link(link(0, 1, 1, *arrays), 2, 1, *arrays), 3, 1, *arrays)
    assert root == 1
    rest = joined(child[1], 1, *arrays)
    assert rest == 3
    assert (before[3], after[3]) == (-1, -1)
    assert OUTSIDE not in before


def feed(*kinds: int) -> Feed:
    """Events of group 0."""
    none = [0] * len(kinds)
    return Feed(np.array(kinds, np.int8), longs(*none), longs(*none), None)


@pytest.mark.parametrize(
    ("made", "values", "name", "expected"),
    [
        (Counts(), [1, None, 1], "count", [1, 2, 1]),
        (Totals(whole=True), [2**53, 3, 2**53], "avg", [2.0**53, (2**53 + 3) / 2, 3.0]),
        (Totals(whole=True), [None, 3, None], "sum", [None, 3, 3]),
        (Totals(whole=False), [0.5, None, 0.5], "sum", [0.5, 0.5, None]),
        (DistinctCounts(), [7, 7, 7], "distinctCount", [1, 1, 1]),
        (FloatDeviations(), [1.0, 3.0, 1.0], "stdDev", [0.0, 1.0, 0.0]),
        (IntegerDeviations(), [10**9, 10**9 + 2, 10**9], "stdDev", [0.0, 1.0, 0.0]),
    ],
)
def test_running_values(made: Grouped, values: list[Any], name: str, expected: list[Any]) -> None:
    """Two come, the first leaves; groups that move keep what they have, and it can be loaded."""
    type_ = DOUBLE if any(isinstance(value, float) for value in values) else LONG
    made.reserve(2, 1, 0)
    accumulator: Any = made
    accumulator.run(feed(IN, IN, OUT), [from_values(type_, values)])
    assert accumulator.result(name).to_pylist() == expected
    state = made.store(longs(0))
    made.move(longs(1, -1), 2)
    assert made.store(longs(1)) == state
    again: Any = type(made)(whole=made.whole) if isinstance(made, Totals) else type(made)()
    again.reserve(1, 1, 0)
    again.load(longs(0), state)
    again.run(feed(IN, OUT), [from_values(type_, [values[1]] * 2)])
    assert again.result(name).to_pylist()[-1] == expected[-1]


def test_states_that_do_not_fit_are_refused() -> None:
    """The reference's whole numbers have no end."""
    totals, deviations = Totals(whole=True), IntegerDeviations()
    for made, state in ((totals, (2**63, 1)), (deviations, (1, 2**32, 2**64))):
        made.reserve(1, 1, 0)
        with pytest.raises(Unfit, match="beyond"):
            made.load(longs(0), [state])


def test_equal_calls_share_their_running_values() -> None:
    """sum and avg of one argument do, too; calls are found wherever they stand."""
    app = (
        "define stream S (s string, v long); from S select sum(v) + 1 as a, avg(v) as b,"
        " ifThenElse(not (count() > 1L), sum(v), count()) as c, max(v) as d insert into O;"
    )
    (query,) = plan_of(app).checked.execution
    assert isinstance(query, CheckedQuery)
    calls = [call for item in query.selection for call in aggregator_calls(item.expression, {})]
    assert [call.name for call in calls] == ["sum", "avg", "count", "sum", "count", "max"]
    made = Aggregates(calls, Compiler(query.scope), Leaves(True, True, True))
    assert (len(made), len(made._accumulators), made.needs_places) == (6, 3, True)
    assert made.store(longs()) == []
    assert made.live(3).tolist() == [False] * 3
