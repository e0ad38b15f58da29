"""Metrics: only declared names and labels, one registry per service."""

from __future__ import annotations

from typing import get_args

import pytest

from lockstep.telemetry import METRICS, MetricKind, MetricName, Metrics


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


def test_refuses_what_is_not_declared() -> None:
    """A wrong name, kind or label is told at once."""
    metrics = Metrics()
    with pytest.raises(ValueError, match="not declared"):
        metrics.count("lockstep_surprise_total")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is a gauge"):
        metrics.count("lockstep_ready", service="x")
    with pytest.raises(ValueError, match="abel"):
        metrics.count("lockstep_http_requests_total", colour="red")
