"""What `lockstep figures` and `lockstep failovers` say."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.cli.commands.figures import failover_line, heading, lines, sparkline
from lockstep.cli.times import TimeError, since_ms


def _series(**values: list[float | None]) -> dict[str, Any]:
    units = dict.fromkeys((*values, "lag", "rows_per_s", "latency_p99_ms"), "records")
    return {
        "app": "Hot", "from_ms": 0, "to_ms": 3_600_000, "step_ms": 60_000, "units": units,
        "mean": values, "max": values, "sinks": [],
    }  # fmt: skip


def test_a_sparkline_has_a_character_for_each_step() -> None:
    """Gaps stay gaps, and nothing is drawn higher than the highest."""
    assert sparkline([0, 1, None, 7, 3.5]) == "▁▂ █▅"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([None, None]) == "  "


def test_figures_that_never_were_have_no_line() -> None:
    """An app without rows has no latency; one without sinks no line of any."""
    found = lines(_series(lag=[0, 4, None], latency_p50_ms=[None] * 3))
    assert [one["figure"] for one in found] == ["lag"]
    assert found[0] == {
        "figure": "lag", "over time": "▁█ ", "last": "", "mean": "2", "max": "4", "in": "records",
    }  # fmt: skip


def test_sinks_have_lines_of_their_own() -> None:
    """Under their names."""
    sink = {"lag": [1], "rows_per_s": [2.5], "latency_p99_ms": [None]}
    series = {**_series(lag=[0]), "sinks": [{"sink": "db", "mean": sink, "max": sink}]}
    assert [(one["figure"], one["last"]) for one in lines(series)] == [
        ("lag", "0"), ("db: lag", "1"), ("db: rows", "2.5"),
    ]  # fmt: skip


def test_the_heading_says_how_long_a_character_is() -> None:
    """In the unit that fits."""
    told = "Hot: 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z, "
    assert heading(_series()) == told + "60 s a character"
    assert heading({**_series(), "step_ms": 300_000}) == told + "5 min a character"


@pytest.mark.parametrize(
    ("planned", "gap_ms", "told"),
    [
        (True, 120, ("yes", "120 ms")),
        (False, 4_321, ("no", "4,321 ms")),
        (None, None, ("unknown",) * 2),
    ],
)
def test_a_failover_in_a_line(planned: bool | None, gap_ms: int | None, told: Any) -> None:
    """What nobody knows is called unknown, not no."""
    found = failover_line(
        {
            "unit": "'Hot'", "at_ms": 0, "from_node": "a", "to_node": "b", "epoch": 2,
            "planned": planned, "why": "stopping", "gap_ms": gap_ms,
        }
    )  # fmt: skip
    assert (found["planned"], found["nobody led"]) == told


def test_since_is_a_time_or_how_long_ago() -> None:
    """Anything else is refused with examples of both."""
    assert since_ms("90s", 100_000) == 10_000
    assert since_ms("15m", 1_000_000) == since_ms("15min", 1_000_000) == 100_000
    assert since_ms("1h", 3_600_001) == 1
    assert since_ms("7d", 0) == 0
    assert since_ms("1970-01-02", 5) == 86_400_000
    with pytest.raises(TimeError, match="how long ago"):
        since_ms("a while", 0)
