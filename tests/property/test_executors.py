"""Random apps on random logs: the columnar executor brings exactly what the reference brings,
however the log is cut, and whoever's snapshot it goes on from."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from lockstep.execute.columnar import NotColumnar, Unfit, lowering
from lockstep.execute.columnar.expressions import NotLowerable
from lockstep.execute.columnar.rules import RULES, Rule, Site
from lockstep.execute.columnar.units import Unit
from lockstep.plan import AppPlan, QueryNode, build
from lockstep.siddhiql import check
from tests.property.executors_exotic import EXOTIC
from tests.property.executors_model import PARTS, Apps, cut, entries, fold, fold_hopping
from tests.property.executors_windows import WINDOWED

pytestmark = pytest.mark.usefixtures("compiled")


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_columns_bring_what_the_reference_brings(seed: int) -> None:
    """Rows, identities and every chunk of every stream and query."""
    random = Random(seed)
    text = Apps(random).app()
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    assert fold(plan, [[entry] for entry in log], columnar=False) == whole, text
    try:
        brought = fold(plan, cut(random, log), columnar=True)
        hopped = fold_hopping(plan, cut(random, log), random)
    except (NotColumnar, Unfit) as why:
        event(f"{type(why).__name__}")
        return
    event("columnar")
    assert whole[2] == 0, "a fault that the columns did not see"
    assert brought == whole, text
    assert hopped == whole, text


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_windows_and_rates_inside_partitions_and_outside(seed: int) -> None:
    """The same for apps full of windows: sessions, hops, batches and rates, each instance of a
    partition with its own."""
    random = Random(seed)
    text = Apps(random, WINDOWED).app()
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    try:
        brought = fold(plan, cut(random, log), columnar=True)
        hopped = fold_hopping(plan, cut(random, log), random)
    except (NotColumnar, Unfit) as why:
        event(f"{type(why).__name__}")
        return
    event("columnar")
    assert whole[2] == 0, "a fault that the columns did not see"
    assert brought == whole, text
    assert hopped == whole, text


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_queries_on_the_reference_in_the_midst_of_columns(seed: int) -> None:
    """Each app has what columns do not, and a query that they do; further queries that a rule would
    lower are kept on the reference at random, so that any mixture comes up."""
    random = Random(seed)
    text = Apps(random, (*PARTS, *EXOTIC, *EXOTIC)).app() + "\nfrom S select s insert into Keep;"
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    kept = keeping(plan, random, random.choice((0.0, 0.0, 0.2, 0.5)))
    with patch.object(lowering, "RULES", kept):
        try:
            brought = fold(plan, cut(random, log), columnar=True)
            hopped = fold_hopping(plan, cut(random, log), random)
        except Unfit:
            event("Unfit")
            return
    event("mixed")
    assert whole[2] == 0, "a fault that nobody saw"
    assert brought == whole, text
    assert hopped == whole, text


def keeping(plan: AppPlan, random: Random, share: float) -> tuple[Rule, ...]:
    """The rules, without a share of the app's queries."""
    queries = [query for node in plan.nodes for query in getattr(node, "queries", (node,))]
    refused = {
        query.name for query in queries if query.writes != "Keep" and random.random() < share
    }

    def unless_refused(rule: Rule) -> Rule:
        def lower(node: QueryNode, site: Site) -> Unit | None:
            if node.name in refused:
                raise NotLowerable("kept on the reference")
            return rule.lower(node, site)

        return Rule(rule.name, lower)

    return tuple(map(unless_refused, RULES))
