"""Figures out of heartbeats, and series out of figures."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.control import GroupStatus, Heartbeat, SinkStatus
from lockstep.store import FigureRow, Figures, Grain, SinkFigures, Span
from lockstep.store.figures import packed, unpacked
from lockstep_services.coordinator.coarsening import coarser
from lockstep_services.coordinator.sampling import sampled
from lockstep_services.coordinator.series import Steps, grain_of, spans_of, steps_of, told

MINUTE_MS = 60_000
DAY_MS = 86_400_000


def beat(node: str, service: str = "processor", **more: Any) -> Heartbeat:
    """Of a living service."""
    return Heartbeat(node, service, "", 0, 1_000, **more)


def group(app: str, role: str, partition: int = 0, **more: Any) -> GroupStatus:
    """A replica's status."""
    fields = {"position": 90, "log_end": 100, **more}
    return GroupStatus(app, "main", partition, "v", 1, role, **fields)


def test_an_app_has_the_sums_and_the_worst_of_its_leaders() -> None:
    """Standbys count for how far they are behind alone."""
    found = sampled(
        [
            beat("b", groups=(
                group("x", "active", 1, events_per_s=5, rows_per_s=1.5, busy_permille=400,
                      epoch=4, state_rows=7, latency_p99_ms=30),
                group("x", "backup", 0, events_per_s=99, behind_ms=250),
                group("y", "syncing"),
            )),
            beat("a", groups=(
                group("x", "active", 0, events_per_s=10, rows_per_s=2, busy_permille=20, epoch=2,
                      state_rows=3, log_end=91),
            )),
        ],
        [],
    )  # fmt: skip
    assert found["x"] == Figures(
        events_per_s=15, rows_per_s=3.5, lag=10, behind_ms=250, state_rows=10, busy_permille=400,
        latency_p99_ms=30, epoch=4, leaders=("a", "b"),
    )  # fmt: skip
    assert found["y"] == Figures()
    assert list(found) == ["x", "y"]


def test_of_two_that_say_they_lead_the_later_epoch_counts() -> None:
    """A deposed leader that does not know it yet adds nothing."""
    found = sampled(
        [
            beat("a", groups=(group("x", "active", epoch=1, events_per_s=10),)),
            beat("b", groups=(group("x", "active", epoch=2, events_per_s=20),)),
        ],
        [],
    )
    assert (found["x"].events_per_s, found["x"].leaders) == (20, ("b",))


def test_sinks_are_those_that_have_come_further() -> None:
    """While a sink moves two publishers tell of it; apps that nobody carries have no figures."""
    found = sampled(
        [beat("a", groups=(group("x", "active"),))],
        [
            beat("p", "publisher", sinks=(
                SinkStatus("x", "db", 70, 100), SinkStatus("gone", "db", 1, 2),
            )),
            beat("q", "publisher", sinks=(
                SinkStatus("x", "db", 95, 100, rows_per_s=2, latency_p50_ms=8),
                SinkStatus("x", "a", 3, 3),
            )),
        ],
    )  # fmt: skip
    assert list(found) == ["x"]
    assert found["x"].sinks == (SinkFigures("a", 0), SinkFigures("db", 5, 2, 8))


@pytest.mark.parametrize(
    ("span_ms", "points", "step_ms"),
    [
        (15 * MINUTE_MS, 300, 10_000),
        (60 * MINUTE_MS, 300, 30_000),
        (6 * 60 * MINUTE_MS, 300, 2 * MINUTE_MS),
        (DAY_MS, 300, 5 * MINUTE_MS),
        (7 * DAY_MS, 300, 60 * MINUTE_MS),
        (30 * DAY_MS, 300, 6 * 60 * MINUTE_MS),
        (30 * DAY_MS, 2, 16 * DAY_MS),
        (3_650 * DAY_MS, 10, 365 * DAY_MS),
        (3_650 * DAY_MS, 1, 3_650 * DAY_MS),
    ],
)
def test_steps_are_small_and_few(span_ms: int, points: int, step_ms: int) -> None:
    """The smallest step that people read easily, and never more points than were asked for."""
    from_ms = 3_650 * DAY_MS
    steps = steps_of(from_ms, from_ms + span_ms, points, 10_000)
    assert steps.step_ms == step_ms
    assert steps.count <= points
    assert steps.first_ms <= from_ms
    assert steps.times_ms[-1] + steps.step_ms >= from_ms + span_ms


def test_any_span_has_at_most_so_many_points() -> None:
    """Also where neither end is on a step."""
    for from_ms, to_ms, points in ((1, 2, 1), (9_999, 20_001, 2), (7, 86_400_007, 100)):
        steps = steps_of(from_ms, to_ms, points, 10_000)
        assert 1 <= steps.count <= points
        assert steps.first_ms <= from_ms < to_ms <= steps.times_ms[-1] + steps.step_ms


def test_what_is_old_is_read_from_coarse_figures() -> None:
    """So is what shall be no finer."""
    now_ms = 100 * DAY_MS
    rules = (5 * MINUTE_MS, DAY_MS)
    assert grain_of(now_ms - DAY_MS, now_ms, MINUTE_MS, *rules) is Grain.FINE
    assert grain_of(now_ms - DAY_MS - 1, now_ms, MINUTE_MS, *rules) is Grain.COARSE
    assert grain_of(now_ms - MINUTE_MS, now_ms, 5 * MINUTE_MS, *rules) is Grain.COARSE


def test_steps_in_which_nobody_sampled_are_gaps() -> None:
    """Nothing is made up for them, and nothing of other times counts."""
    rows = [
        FigureRow("x", at, packed(Span(Figures(lag=lag, sinks=(SinkFigures("db", lag),)))))
        for at, lag in ((90, 50), (100, 1), (105, 4), (120, 6), (140, 60))
    ]
    steps = Steps(100, 10, 4)
    series = told(spans_of(rows, steps), steps)
    assert series["at_ms"] == [100, 110, 120, 130]
    assert series["mean"]["lag"] == [2.5, None, 6, None]
    assert series["max"]["lag"] == [4, None, 6, None]
    assert series["mean"]["latency_p99_ms"] == [None] * 4
    assert series["sinks"] == [
        {
            "sink": "db",
            "mean": {
                "lag": [2.5, None, 6, None], "rows_per_s": [0, None, 0, None],
                "latency_p50_ms": [None] * 4, "latency_p99_ms": [None] * 4,
            },
            "max": {
                "lag": [4, None, 6, None], "rows_per_s": [0, None, 0, None],
                "latency_p50_ms": [None] * 4, "latency_p99_ms": [None] * 4,
            },
        }
    ]  # fmt: skip
    assert set(series["units"]) == set(series["mean"])


def test_a_span_of_all_apps_becomes_one_row_of_each() -> None:
    """At the time at which the span begins."""
    rows = [
        FigureRow(app, at, packed(Span(Figures(lag=lag))))
        for app, at, lag in (("x", 10, 2), ("x", 20, 4), ("y", 20, 7))
    ]
    found = coarser(rows, 0)
    assert [(one.app, one.at_ms, unpacked(one.span).mean.lag) for one in found] == [
        ("x", 0, 3), ("y", 0, 7),
    ]  # fmt: skip
    assert unpacked(found[0].span).most.lag == 4
