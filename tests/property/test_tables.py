"""Random tables and named windows: columns bring what the reference brings, however the log is cut,
and whoever's snapshot they go on from."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.plan import build
from lockstep.siddhiql import check
from tests.property.amount import examples
from tests.property.executors_circles import CIRCLING
from tests.property.executors_model import Apps, compared, entries, fold
from tests.property.executors_tables import NAMED, TABLED

pytestmark = pytest.mark.usefixtures("compiled")


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32))
def test_tables_on_columns_are_those_of_the_reference(seed: int) -> None:
    """Rows, identities, changes that destinations are told, every chunk."""
    random = Random(seed)
    text = Apps(random, TABLED).app()
    note(text)
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    event(compared(plan, log, whole, random))


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_named_windows_on_columns_are_those_of_the_reference(seed: int) -> None:
    """Whatever they hold, whoever writes them, whoever reads."""
    random = Random(seed)
    text = Apps(random, NAMED).app()
    note(text)
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    event(compared(plan, log, whole, random))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_asked_of_a_table_and_written_back(seed: int) -> None:
    """Whether it can be foretold or not."""
    random = Random(seed)
    text = Apps(random, CIRCLING).app()
    note(text)
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    event(compared(plan, log, whole, random))
