"""The page of an app's figures: what its charts and its list are told."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep_services.console.charts import Past, colours
from lockstep_services.console.pages.app_figures import (
    POINTS,
    SPANS,
    failover_row,
    greatest,
    points_of,
    step_said,
    told,
)

LOOK = colours(is_dark=False)


def options(series: Any, marks: Any = ()) -> dict[str, Any]:
    """What ECharts is told of a chart."""
    return Past._options(Past.__new__(Past), ((0, 100), series, marks), LOOK)


def test_gaps_stay_gaps() -> None:
    """A line does not go on where nobody sampled; the span is whole all the same."""
    points = points_of([0, 10, 20], [1, None, 3])
    assert points == [[0, 1], [10, None], [20, 3]]
    found = options([("lag", points)])
    assert found["series"][0]["connectNulls"] is False
    assert (found["xAxis"]["min"], found["xAxis"]["max"]) == (0, 100)
    assert found["useUTC"] is True


@pytest.mark.parametrize(
    ("values", "shows"), [([1, 2, None], False), ([None, 2, None], True), ([None, None, 3], True)]
)
def test_a_sample_alone_is_a_dot(values: list[float | None], shows: bool) -> None:
    """A line needs two."""
    (series,) = options([("lag", points_of([0, 10, 20], values))])["series"]
    assert series["showSymbol"] is shows


def test_failovers_are_marked_once_in_a_chart() -> None:
    """Also where it has several lines; the legend then tells them apart."""
    lines = [(name, points_of([0], [1])) for name in ("half", "99 %")]
    found = options(lines, [(40, "a → b")])
    first, second = found["series"]
    assert first["markLine"]["data"] == [{"name": "a → b", "xAxis": 40}]
    assert second["markLine"] == {}
    assert found["legend"]["show"] is True


def test_figures_are_told_in_words() -> None:
    """For those who do not see the chart."""
    assert told([2, None, 12_345], "per second") == "per second: now 12.3k, at most 12.3k"
    assert told([9, 7, None], "records") == "records: now 7, at most 9"
    assert told([7, None, None], "records") == "records: now nothing, at most 7"
    assert told([None], "records") == "records: nothing in this time"
    assert told([], "records") == "records: nothing in this time"


def test_of_several_sinks_the_worst_is_told() -> None:
    """At each time; one that was not there yet does not count."""
    assert greatest([[1, None, None], [5, 2, None]]) == [5, 2, None]
    assert greatest([]) == []


def test_every_span_has_a_step_that_people_read_easily() -> None:
    """A name each, from a quarter of an hour to a month."""
    assert list(SPANS) == ["15 min", "1 h", "6 h", "24 h", "7 d", "30 d"]
    assert all(span // POINTS >= 3_000 for span in SPANS.values())
    assert step_said(10_000) == "10 s"
    assert step_said(5_000) == "5 s"
    assert step_said(300_000) == "5 min"


@pytest.mark.parametrize(
    ("planned", "gap_ms", "word", "kind", "led"),
    [
        (True, 112, "planned", "good", "112 ms"),
        (False, 1_064, "not planned", "bad", "1.1 s"),
        (None, None, "unknown", "soft", "unknown"),
    ],
)
def test_a_failover_as_a_row(
    planned: bool | None, gap_ms: int | None, word: str, kind: str, led: str
) -> None:
    """What nobody knows is called so."""
    row = failover_row(
        {
            "at_ms": 0, "unit": "'Hot'", "from_node": "a", "to_node": "b", "planned": planned,
            "gap_ms": gap_ms, "why": "",
        }
    )  # fmt: skip
    assert (row[4].content, row[4].chip, row[5].content, row[6].content) == (word, kind, led, "–")
