"""How rates and ratios beside other engines are reckoned, and how their rows are read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.bench.beside import rates_of, ratios, standing

pytestmark = pytest.mark.unit


def test_rates_are_events_over_seconds_turn_by_turn() -> None:
    """For each engine, in the order of the turns."""
    assert rates_of([{"ours": 1.0, "theirs": 4.0}, {"ours": 2.0, "theirs": 8.0}], 1_000) == {
        "ours": [1_000, 500],
        "theirs": [250, 125],
    }


def test_ratio_is_of_medians_and_the_worst_of_the_slowest_over_the_fastest() -> None:
    """The worst is the least that can be claimed."""
    rates = {"ours": [100, 400, 300], "theirs": [100, 200, 150]}
    assert ratios(rates, "ours", "theirs") == (2.0, 0.5)


LIKE = pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.string())})


def test_rows_of_another_engine_have_the_types_of_those_that_are_wanted() -> None:
    """By place, for engines name columns in their ways."""
    rows = standing("bidder\x1fname\n7\x1f8\n9\x1fx\n", LIKE)
    assert rows.to_pydict() == {"bidder": [7, 9], "name": ["8", "x"]}
    assert rows.schema.types == [pa.int64(), pa.string()]


def test_no_rows_are_an_empty_table() -> None:
    """The line of names is there all the same."""
    rows = standing("bidder\x1fname\n", LIKE)
    assert rows.to_pydict() == {"bidder": [], "name": []}
