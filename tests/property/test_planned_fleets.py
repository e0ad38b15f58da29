"""Random apps that the planner cuts bring what one node brings: rows, order per key, places and
times, however often they are stopped and go on in another number of partitions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.execute.columnar import Unfit
from lockstep.execute.contract import Executor
from lockstep.plan import AppPlan
from lockstep.plan.fleet import explain_fleet, fleet_of
from lockstep.siddhiql import SiddhiQLError
from tests.property.amount import examples
from tests.property.fleets_model import answers, columnar, fold_fleet, reference
from tests.property.planned_fleets_model import Planned, by_group

pytestmark = pytest.mark.usefixtures("compiled")


def same_as_one_node(seed: int, make: Callable[[AppPlan], Executor]) -> None:
    """A drawn app, whole on the reference and cut, with one to five partitions."""
    random = Random(seed)
    drawn = Planned(random)
    note(drawn.text)
    try:
        plan = drawn.plan()
    except SiddhiQLError as refused:
        event(f"no app: {refused.message}")
        return
    fleet = fleet_of(plan, 3)
    event("whole" if fleet.is_single else "cut")
    note(explain_fleet(fleet))
    log = drawn.log(40)
    one = reference(plan)
    whole = one.run_slice(log)
    queries = drawn.tables.queries()
    event("cut tables" if any(group.tables for group in fleet.groups) else "no cut tables")
    try:
        rows, found = fold_fleet(
            lambda: fleet_of(plan, random.randint(1, 5)), make, log, random, queries
        )
    except Unfit as why:
        event(f"Unfit {why}")
        return
    assert by_group(rows, fleet) == by_group(whole.rows, fleet)
    assert found == answers(one, queries)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_planner_cuts_brings_the_same(seed: int) -> None:
    """On the reference."""
    same_as_one_node(seed, reference)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_planner_cuts_brings_the_same_in_columns(seed: int) -> None:
    """With the executor that workers of Spark run."""
    same_as_one_node(seed, columnar)
