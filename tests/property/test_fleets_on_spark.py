"""Random apps that are cut into groups and partitions, each of them folded by a real Spark: what
one node brings, however often they are stopped and go on in another number of partitions.

Seeds are fixed, as in `test_spark.py`; others by hand: `SPARK_SEEDS=5000:6000 pytest
tests/property/test_fleets_on_spark.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from lockstep.events import LogEntry
from lockstep.execute.contract import Executor
from lockstep.execute.spark import SparkExecutor
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan, fleet_of
from lockstep.siddhiql import SiddhiQLError
from tests.property.fleets_model import Drawn, answers, by_key, fold_fleet, reference
from tests.property.planned_fleets_model import Planned, by_group

FIRST, LAST = map(int, os.environ.get("SPARK_SEEDS", "0:8").split(":"))
ENTRIES = 24

pytestmark = pytest.mark.usefixtures("spark_env")


def fold_on_spark(
    fleet: Callable[[], FleetPlan],
    log: Sequence[LogEntry],
    random: Random,
    queries: Sequence[str] = (),
) -> tuple[list[Any], list[list[str]]]:
    """As `fold_fleet`, with units that are states of Spark; a fifth of them go on elsewhere."""
    made: list[SparkExecutor] = []

    def make(plan: AppPlan) -> Executor:
        if random.random() < 0.2:
            return reference(plan)
        made.append(SparkExecutor(plan))
        return made[-1]

    try:
        return fold_fleet(fleet, make, log, random, queries)
    finally:
        for each in made:
            each.close()


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_a_fleet_on_spark_brings_the_same(seed: int) -> None:
    """Of an app that is cut by hand."""
    random = Random(seed)
    drawn = Drawn(random)
    log = drawn.log(ENTRIES)
    whole = reference(drawn.plan()).run_slice(log)
    rows, _ = fold_on_spark(drawn.fleet, log, random)
    over_all = frozenset({"O3"})
    assert by_key(rows, over_all) == by_key(whole.rows, over_all)


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_what_the_planner_cuts_brings_the_same_on_spark(seed: int) -> None:
    """Of an app that the planner cuts."""
    random = Random(seed)
    drawn = Planned(random)
    try:
        plan = drawn.plan()
    except SiddhiQLError:
        pytest.skip("no app")
    log = drawn.log(ENTRIES)
    one, queries = reference(plan), drawn.tables.queries()
    whole = one.run_slice(log)
    rows, found = fold_on_spark(lambda: fleet_of(plan, random.randint(1, 5)), log, random, queries)
    fleet = fleet_of(plan, 3)
    assert by_group(rows, fleet) == by_group(whole.rows, fleet)
    assert found == answers(one, queries)
