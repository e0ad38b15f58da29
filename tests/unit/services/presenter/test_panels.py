"""What a panel is given of rows: times, filters, no more points than it has room for."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lockstep.events import OutputId
from lockstep.frame import Problem
from lockstep_services.presenter.grafana_described import AdHoc, Between
from lockstep_services.presenter.models import Shown
from lockstep_services.presenter.panels import Span, cells, column, passing, points, thinned

NAMES, TYPES = ("city", "n", "hot"), ("string", "long", "bool")


def test_a_span_holds_both_its_ends() -> None:
    """In UTC where no zone is named."""
    span = Span.of(Between(since="1970-01-01T00:00:01.000Z", until="1970-01-01T00:00:02"))
    assert [at for at in (999, 1_000, 2_000, 2_001) if span.holds(at)] == [1_000, 2_000]
    late = Span.of(Between(since="1970-01-01T01:00:01.001+01:00"))
    assert [at for at in (1_000, 1_001, 10**15) if late.holds(at)] == [1_001, 10**15]
    assert Span.of(None).holds(-5)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Between(since="yesterday"), "range.from: 'yesterday' is no time"),
        (Between(until="now"), "range.to: 'now' is no time"),
        (Between(since="2026-01-02", until="2026-01-01"), "ends before it begins"),
    ],
)
def test_a_span_that_is_none_is_refused(given: Between, why: str) -> None:
    """With a hint."""
    with pytest.raises(Problem, match=why) as caught:
        Span.of(given)
    assert (caught.value.status, bool(caught.value.hint)) == (400, True)


@pytest.mark.parametrize(
    ("key", "operator", "value", "found"),
    [
        ("city", "=", "Berlin", [0]),
        ("city", "!=", "Berlin", [1, 2]),
        ("city", "<", "C", [0]),
        ("n", ">", "9", [1]),
        ("n", "=", "9.0", [0]),
        ("n", "<", "nan", []),
        ("hot", "=", "true", [1]),
        ("elsewhere", "=", "x", [0, 1, 2]),
    ],
)
def test_filters(key: str, operator: str, value: str, found: list[int]) -> None:
    """Numbers count as numbers, null equals nothing, and who lacks the attribute is not asked."""
    rows: list[tuple[Any, ...]] = [("Berlin", 9, False), ("Rome", 10, True), (None, None, None)]
    passes = passing([AdHoc(key, operator, value)], NAMES, TYPES)
    assert [at for at, row in enumerate(rows) if passes(row)] == found


@pytest.mark.parametrize(
    ("given", "why"),
    [(AdHoc("city", "=~", ".*"), "no operator '=~'"), (AdHoc("n", "=", "ten"), "'ten' is none")],
)
def test_filters_that_are_none_are_refused(given: AdHoc, why: str) -> None:
    """No patterns: one of somebody's could run for hours."""
    with pytest.raises(Problem, match=why):
        passing([given], NAMES, TYPES)


def test_points_are_in_the_order_of_time_and_gaps_are_null() -> None:
    """What cannot be drawn is none of NaN, true or null."""
    values = [(3, 2.5), (1, True), (2, None), (4, math.nan)]
    rows = [Shown(OutputId(at, 0), at * 10, (value,)) for at, value in values]
    assert points(rows, 0, 9) == [(1, 10), (None, 20), (2.5, 30), (None, 40)]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50, 99])
def test_thinned_keeps_the_peaks_and_the_newest(limit: int) -> None:
    """Never more than there is room for, in order."""
    found = [(at % 10, at) for at in range(100)]
    found[37] = (1_000, 37)
    kept = thinned(found, limit)
    assert len(kept) <= limit
    assert kept[-1] == found[-1]
    assert kept == sorted(kept, key=lambda point: point[1])
    assert (found[37] in kept) == (limit >= 3)
    assert thinned(found, 100) == found


def test_thinned_gaps_stay_gaps() -> None:
    """A part without any value is one point."""
    found = [(None, at) for at in range(10)]
    assert thinned(found, 5) == [(None, 0), (None, 4), (None, 9)]


def test_columns_have_grafanas_types() -> None:
    """And cells what these can show."""
    kinds = [
        ("AGG_TIMESTAMP", "long"),
        ("n", "int"),
        ("b", "bool"),
        ("s", "string"),
        ("o", "object"),
    ]
    columns = [column(*one) for one in kinds]
    assert [one["type"] for one in columns] == ["time", "number", "boolean", "string", "string"]
    assert cells([1, None, True, "x", {"a": [1]}], columns) == [1, None, True, "x", '{"a":[1]}']
