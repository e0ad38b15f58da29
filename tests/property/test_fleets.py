"""Random apps on random logs: cut into groups and partitions they bring what one node brings, key
by key in its order and at its times, however often they are stopped and rescaled."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.execute.columnar import Unfit
from lockstep.execute.contract import Executor
from lockstep.plan import AppPlan
from tests.property.amount import examples
from tests.property.fleets_model import Drawn, by_key, columnar, fold_fleet, reference

pytestmark = pytest.mark.usefixtures("compiled")
OVER_ALL = frozenset({"O3"})


def same_as_one_node(seed: int, make: Callable[[AppPlan], Executor]) -> None:
    """A drawn app, whole on the reference and as a fleet."""
    random = Random(seed)
    drawn = Drawn(random)
    plan = drawn.plan()
    note(plan.text)
    log = drawn.log(40)
    whole = reference(plan).run_slice(log)
    try:
        rows, _ = fold_fleet(drawn.fleet, make, log, random)
    except Unfit as why:
        event(f"Unfit {why}")
        return
    assert by_key(rows, OVER_ALL) == by_key(whole.rows, OVER_ALL)
    ids = [row.id for row in rows]
    assert ids == sorted(set(ids))


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_a_fleet_on_the_reference_brings_the_same(seed: int) -> None:
    """Rows, order per key and times; identities that ascend."""
    same_as_one_node(seed, reference)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_a_fleet_in_columns_brings_the_same(seed: int) -> None:
    """The same with the executor that the product runs."""
    same_as_one_node(seed, columnar)
