"""Random apps on random logs: the columnar executor brings exactly what the reference brings,
however the log is cut, and whoever's snapshot it goes on from."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.columns.rule import NotLowerable
from lockstep.columns.units import Unit
from lockstep.execute.columnar import Unfit, lowering
from lockstep.execute.columnar.rules import RULES, Rule, Site
from lockstep.plan import AppPlan, QueryNode, build
from lockstep.siddhiql import check
from tests.property.amount import examples
from tests.property.executors_broadcasts import BROADCAST
from tests.property.executors_exotic import EXOTIC, runs_on_the_reference
from tests.property.executors_joins import JOINED
from tests.property.executors_model import PARTS, Apps, agreeing, compared, entries, fold
from tests.property.executors_windows import WINDOWED

pytestmark = pytest.mark.usefixtures("compiled")
DRAWN = 30


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 2**32))
def test_columns_bring_what_the_reference_brings(seed: int) -> None:
    """Rows, identities and every chunk of every stream and query."""
    random = Random(seed)
    text = Apps(random).app()
    note(text)
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    assert fold(plan, [[entry] for entry in log], columnar=False) == whole
    event(compared(plan, log, whole, random))


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_windows_and_rates_inside_partitions_and_outside(seed: int) -> None:
    """The same for apps full of windows: sessions, hops, batches and rates, each instance of a
    partition with its own."""
    event(agreeing(seed, WINDOWED))


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32))
def test_joins_over_what_windows_let_in_and_out(seed: int) -> None:
    """The same for joins whose rows are seen leaving, of any windows, and of tables."""
    event(agreeing(seed, JOINED))


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_what_partitions_make_and_read_without_a_key(seed: int) -> None:
    """The same for streams that go to all instances that are there, and come from inside."""
    event(agreeing(seed, BROADCAST, 20))


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32))
def test_queries_on_the_reference_in_the_midst_of_columns(seed: int) -> None:
    """Each app has what columns do not, and a query that they do; further queries that a rule would
    lower are kept on the reference at random, so that any mixture comes up."""
    random = Random(seed)
    text = Apps(random, (*PARTS, *EXOTIC, *EXOTIC)).app() + "\nfrom S select s insert into Keep;"
    note(text)
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    kept = keeping(plan, random, random.choice((0.0, 0.0, 0.2, 0.5)))
    with patch.object(lowering, "RULES", kept):
        event(compared(plan, log, whole, random, refused=(Unfit,)))


@pytest.mark.parametrize("part", dict.fromkeys(EXOTIC), ids=lambda part: part.__name__.strip("_"))
def test_it_is_the_reference_that_is_mixed_in(part: Callable[[Apps], str]) -> None:
    """Most parts that are drawn do not run in columns alone: whoever writes a rule for one has to
    find another part for these tests."""
    apps = [Apps(Random(seed), (part,)).app() for seed in range(DRAWN)]
    assert sum(map(runs_on_the_reference, apps)) > DRAWN / 2


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
