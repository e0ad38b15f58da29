"""Random tables, named windows and circles: columns bring what the reference brings, however the
log is cut, and whoever's snapshot they go on from."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.property.amount import examples
from tests.property.executors_circles import CIRCLING, ROUNDS
from tests.property.executors_model import agreeing
from tests.property.executors_tables import NAMED, TABLED

pytestmark = pytest.mark.usefixtures("compiled")


@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32))
def test_tables_on_columns_are_those_of_the_reference(seed: int) -> None:
    """Rows, identities, changes that destinations are told, every chunk."""
    event(agreeing(seed, TABLED))


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32))
def test_named_windows_on_columns_are_those_of_the_reference(seed: int) -> None:
    """Whatever they hold, whoever writes them, whoever reads."""
    event(agreeing(seed, NAMED))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_asked_of_a_table_and_written_back(seed: int) -> None:
    """Whether it can be foretold or not."""
    event(agreeing(seed, CIRCLING))


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32))
def test_streams_that_feed_each_other(seed: int) -> None:
    """With tables that are asked on the way, and readers outside.

    The log is short: a join on the way round multiplies what goes round by the table's rows.
    """
    event(agreeing(seed, ROUNDS, length=16))
