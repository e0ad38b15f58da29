"""Metrics: only declared names and labels, one registry per service."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from lockstep.telemetry import METRICS, Level, MetricKind, MetricName, Metrics


def test_table_and_type_have_the_same_names() -> None:
    """The Literal and the table cannot drift apart."""
    assert set(get_args(MetricName)) == set(METRICS)


def test_every_metric_says_what_it_means_and_ends_in_its_unit() -> None:
    """Counters end in _total, histograms name their unit, all carry a sentence."""
    for name, metric in METRICS.items():
        assert metric.meaning.endswith("."), name
        assert name.endswith("_total") == (metric.kind is MetricKind.COUNTER), name
        assert bool(metric.buckets) == (metric.kind is MetricKind.HISTOGRAM), name
        if metric.kind is MetricKind.HISTOGRAM:
            assert name.endswith(("_ms", "_bytes", "_events")), name


def test_counts_sets_and_observes() -> None:
    """What was told stands on the page."""
    metrics = Metrics()
    metrics.count("lockstep_receiver_events_accepted_total", 2, app="a", stream="s")
    metrics.count("lockstep_receiver_events_accepted_total", app="a", stream="s")
    metrics.set("lockstep_receiver_inflight_bytes", 7)
    metrics.observe("lockstep_http_request_ms", 3, route="/x")
    assert metrics.value("lockstep_receiver_events_accepted_total", app="a", stream="s") == 3
    assert metrics.value("lockstep_receiver_inflight_bytes") == 7
    page = metrics.render().decode()
    assert 'lockstep_http_request_ms_bucket{le="5.0",route="/x"} 1.0' in page


def test_services_do_not_share_a_registry() -> None:
    """Five services in one process count for themselves."""
    one, other = Metrics(), Metrics()
    one.count("lockstep_receiver_pushed_back_total", reason="bytes")
    assert other.value("lockstep_receiver_pushed_back_total", reason="bytes") == 0


def test_forgets_a_series() -> None:
    """An undeployed app leaves the page; forgetting the unknown is no error."""
    metrics = Metrics()
    metrics.forget("lockstep_lease_held", resource="r")
    metrics.set("lockstep_lease_held", 1, resource="r")
    metrics.forget("lockstep_lease_held", resource="r")
    assert b'resource="r"' not in metrics.render()


def test_clears_a_metric_that_has_no_labels() -> None:
    """It leaves the page, and comes back when it is set again; clearing twice is no error."""
    metrics, name = Metrics(), "lockstep_coordinator_processors_alive"
    metrics.set("lockstep_coordinator_processors_alive", 3)
    metrics.clear("lockstep_coordinator_processors_alive")
    metrics.clear("lockstep_coordinator_processors_alive")
    assert name not in metrics.render().decode()
    metrics.set("lockstep_coordinator_processors_alive", 2)
    assert f"{name} 2.0" in metrics.render().decode()


def test_refuses_what_is_not_declared() -> None:
    """A wrong name, kind or label is told at once."""
    metrics = Metrics()
    with pytest.raises(ValueError, match="not declared"):
        metrics.count("lockstep_surprise_total")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is a gauge"):
        metrics.count("lockstep_ready", service="x")
    with pytest.raises(ValueError, match="abel"):
        metrics.count("lockstep_http_requests_total", colour="red")


def test_forgets_all_of_a_unit() -> None:
    """Series of whatever kind that bear its labels, and no others."""
    metrics = Metrics()
    for partition in (0, 1):
        place = {"app": "a", "group": "g", "partition": str(partition)}
        metrics.count("lockstep_processor_events_total", 1, **place)
        metrics.observe("lockstep_processor_slice_ms", 3, **place)
        metrics.count("lockstep_query_rows_total", 1, query="q", **place)
    metrics.forget_all("lockstep_", app="a", group="g", partition=0)
    page = metrics.render().decode()
    assert 'partition="0"' not in page
    assert page.count('partition="1"') > 3


def test_forgets_an_app() -> None:
    """All of its series, whatever other labels they have, and none of another app."""
    metrics = Metrics()
    for app in ("a", "b"):
        metrics.count("lockstep_dead_letters_total", app=app, stream="s", reason="invalid")
        metrics.observe("lockstep_latency_ms", 3, stage="folded", app=app)
        metrics.set("lockstep_processor_role", 1, app=app, group="g", partition=0, role="active")
    metrics.clear("lockstep_processor_role")
    metrics.forget_app("a")
    metrics.forget_app("unknown")
    assert b'app="a"' not in metrics.render()
    assert metrics.value("lockstep_dead_letters_total", app="b", stream="s", reason="invalid") == 1
    metrics.observe("lockstep_latency_ms", 3, stage="folded", app="a")
    assert b'lockstep_latency_ms_count{app="a",stage="folded"} 1.0' in metrics.render()


def test_an_app_that_is_off_has_no_series() -> None:
    """Its old ones go, new ones do not come, and others stay; on again it counts again."""
    metrics = Metrics()
    name: MetricName = "lockstep_receiver_events_accepted_total"
    for app in ("a", "b"):
        metrics.count(name, app=app, stream="s")
    metrics.set_levels({"a": Level.OFF, "b": Level.DETAIL})
    metrics.count(name, app="a", stream="s")
    assert b'app="a"' not in metrics.render()
    assert metrics.value(name, app="b", stream="s") == 1
    assert (metrics.level("b"), metrics.level("c")) == (Level.DETAIL, Level.BASIC)
    metrics.set_levels({})
    metrics.count(name, app="a", stream="s")
    assert metrics.value(name, app="a", stream="s") == 1


def test_looks_when_somebody_asks() -> None:
    """Lookers set their gauges for each page."""
    metrics = Metrics()
    seen: list[int] = []

    def look() -> None:
        seen.append(1)
        metrics.set("lockstep_receiver_inflight_bytes", len(seen))

    metrics.look(look)
    assert b"lockstep_receiver_inflight_bytes 1.0" in metrics.render()
    assert b"lockstep_receiver_inflight_bytes 2.0" in metrics.render()


def test_a_series_that_was_forgotten_begins_anew() -> None:
    """However it was forgotten: what is counted afterwards is on the page again."""
    name: MetricName = "lockstep_receiver_events_accepted_total"
    metrics, labels = Metrics(), {"app": "a", "stream": "s"}
    ways: list[Callable[[], None]] = [
        lambda: metrics.forget(name, **labels),
        lambda: metrics.forget_all("lockstep_receiver", app="a"),
        lambda: metrics.clear(name),
    ]
    for forget in ways:
        metrics.count(name, 2, **labels)
        assert metrics.value(name, **labels) == 2
        forget()
        assert metrics.value(name, **labels) == 0
    metrics.count(name, 3, **labels)
    assert metrics.value(name, **labels) == 3
