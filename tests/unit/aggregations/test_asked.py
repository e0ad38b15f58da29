"""What a question takes of an aggregation in columns: as much as its answer needs."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.aggregations.columns.asked import stored_for
from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.columns.units import States
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.siddhiql import check_on_demand
from lockstep.testing.virtual_app import rehearsed
from tests.unit.side_by_side import entries_of

TEXT = """
define stream S (k string, d double, v long);
define aggregation A from S select k, d, sum(v) as total group by k, d aggregate every sec ... min;
"""


def asked(text: str) -> list[Any]:
    """(granularity, start of the bucket, group) of all that is taken."""
    plan = rehearsed(TEXT)
    executor = ColumnarExecutor(plan)
    rows = [(100 * n, "S", [[f"k{n % 7}", float(n % 7), n]]) for n in range(1, 60)]
    executor.run_slice(entries_of(plan, rows))
    (unit,) = (each for each in executor.lowering.units if isinstance(each, AggregationUnit))
    states = States({})
    stored_for(check_on_demand(text, plan.checked), unit, states)
    (found,) = states.operators.values()
    return [
        (granularity, start, group)
        for granularity, buckets, _ in found
        for start, groups in buckets
        for group, _ in groups
    ]


@pytest.mark.parametrize("on", ["k == 'k3' and d == 3.0", "3 == d and k == 'k3' and total > 0L"])
def test_one_granularity_one_span_and_one_group(on: str) -> None:
    """Whatever else there is."""
    found = asked(f"from A on {on} within 1000L, 3000L per 'sec' select total")
    assert found == [("seconds", 1000, ("k3", 3.0)), ("seconds", 2000, ("k3", 3.0))]


def test_a_group_that_is_not_there() -> None:
    """Nothing is taken for it."""
    assert asked("from A on k == 'no' and d == 3.0 within 0L, 9000L per 'sec' select total") == []


@pytest.mark.parametrize("on", ["k == 'k3'", "k == 'k3' or d == 3.0", "k == str:lower('K3')"])
def test_a_group_that_is_not_named_whole(on: str) -> None:
    """All of the span: the reference looks at each of them, and may fail of one."""
    found = asked(f"from A on {on} within 0L, 60000L per 'min' select total")
    assert found == [("minutes", 0, (f"k{n % 7}", float(n % 7))) for n in range(1, 8)]


def test_a_range_that_is_no_constant_may_be_any() -> None:
    """Both granularities are taken."""
    found = asked("from A within 0L, 9000L per str:lower('SEC') select total")
    assert {granularity for granularity, _, _ in found} == {"seconds", "minutes"}
