"""The dashboards: which panels there are, and what they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lockstep.telemetry.boards.promql import (
    INSTANCE,
    gauge,
    leaders_rate,
    mean,
    or_zero,
    quantile,
    rate,
)
from lockstep.telemetry.boards.promql import UNIT as PLACE

UNIT: Final = "{{app}} {{group}} {{partition}}"


@dataclass(frozen=True)
class Panel:
    """Lines over time. `lines`: expressions and what each is called; `unit`: as Grafana has it."""

    title: str
    unit: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Dashboard:
    """A page. `uid` is part of its address."""

    uid: str
    title: str
    panels: tuple[Panel, ...]


def _panel(title: str, unit: str, *lines: tuple[str, str]) -> Panel:
    return Panel(title, unit, lines)


APPS: Final = Dashboard(
    "lockstep-apps",
    "Lockstep: apps",
    (
        _panel(
            "Events accepted at the door",
            "eps",
            (
                rate("lockstep_receiver_events_accepted_total", "app", "stream"),
                "{{app}} {{stream}}",
            ),
        ),
        _panel(
            "Events that sources brought",
            "eps",
            (
                or_zero(rate("lockstep_receiver_source_events_total", "app", "source")),
                "{{app}} {{source}}",
            ),
            (
                or_zero(gauge("lockstep_receiver_source_trouble", how="sum")),
                "sources that cannot be read",
            ),
        ),
        _panel(
            "Rows published",
            "eps",
            (rate("lockstep_processor_outputs_total", "app"), "{{app}}"),
        ),
        _panel(
            "From the door to each stage, p99",
            "ms",
            (quantile(0.99, "lockstep_latency_ms", "app", "stage"), "{{app}} {{stage}}"),
        ),
        _panel(
            "From the door to each stage, median",
            "ms",
            (quantile(0.5, "lockstep_latency_ms", "app", "stage"), "{{app}} {{stage}}"),
        ),
        _panel(
            "Records that wait to be folded",
            "short",
            (gauge("lockstep_processor_lag_positions", *PLACE, INSTANCE), UNIT + " {{instance}}"),
        ),
        _panel(
            "Refused, duplicate, put aside",
            "eps",
            (or_zero(rate("lockstep_receiver_events_refused_total")), "refused"),
            (or_zero(rate("lockstep_receiver_duplicates_total")), "duplicate"),
            (or_zero(rate("lockstep_dead_letters_total")), "dead letters"),
            (or_zero(leaders_rate("lockstep_processor_repeated_events_total")), "repeated late"),
            (or_zero(leaders_rate("lockstep_processor_poison_events_total")), "over a limit"),
        ),
        _panel(
            "Pushed back at the door",
            "reqps",
            (or_zero(rate("lockstep_receiver_pushed_back_total")), "429 and 503"),
        ),
        _panel(
            "Rows of tables that follow a database",
            "rowsps",
            (rate("lockstep_copied_rows_total", "app", "table"), "{{app}} {{table}}"),
        ),
        _panel(
            "Keys looked up in a database",
            "ops",
            (rate("lockstep_lookups_total", "app", "table"), "{{app}} {{table}}"),
            (rate("lockstep_lookups_asked_total", "app", "table"), "{{app}} {{table}} asked"),
        ),
        _panel(
            "Until durable",
            "ms",
            (quantile(0.99, "lockstep_receiver_append_ms", "app"), "{{app}} p99"),
            (mean("lockstep_receiver_append_ms", "app"), "{{app}} mean"),
        ),
    ),
)

PROCESSORS: Final = Dashboard(
    "lockstep-processors",
    "Lockstep: processors",
    (
        _panel(
            "Who leads",
            "short",
            (
                gauge("lockstep_processor_role", *PLACE, "role", INSTANCE),
                UNIT + " {{role}} {{instance}}",
            ),
        ),
        _panel(
            "Leads taken over",
            "short",
            (rate("lockstep_processor_takeovers_total", "app"), "{{app}}"),
            (or_zero(rate("lockstep_processor_fenced_total")), "appends refused as stale"),
            (or_zero(rate("lockstep_holder_deaths_total")), "dead holders seen"),
        ),
        _panel(
            "Events folded", "eps", (leaders_rate("lockstep_processor_events_total", *PLACE), UNIT)
        ),
        _panel(
            "Rows by query",
            "eps",
            (
                leaders_rate("lockstep_query_rows_total", *PLACE, "query"),
                "{{app}} {{query}} {{partition}}",
            ),
        ),
        _panel(
            "Time by query (level DETAIL)",
            "ms",
            (
                leaders_rate("lockstep_query_busy_ms_total", *PLACE, "query"),
                "{{app}} {{query}} {{partition}}",
            ),
        ),
        _panel(
            "Time of a slice",
            "ms",
            (quantile(0.99, "lockstep_processor_slice_ms", *PLACE), UNIT + " p99"),
            (mean("lockstep_processor_slice_ms", *PLACE), UNIT + " mean"),
        ),
        _panel(
            "Events in a slice", "short", (mean("lockstep_processor_slice_events", *PLACE), UNIT)
        ),
        _panel(
            "Share of time in folding",
            "percentunit",
            (
                gauge("lockstep_processor_busy_permille", *PLACE, INSTANCE) + " / 1000",
                UNIT + " {{instance}}",
            ),
        ),
        _panel("State, rows", "short", (gauge("lockstep_processor_state_rows", *PLACE), UNIT)),
        _panel(
            "State, bytes of the last snapshot",
            "bytes",
            (gauge("lockstep_processor_state_bytes", *PLACE), UNIT),
        ),
        _panel(
            "Rows in channels", "short", (gauge("lockstep_processor_channel_rows", *PLACE), UNIT)
        ),
        _panel(
            "Outputs held back by standbys",
            "short",
            (
                gauge("lockstep_processor_held_back_outputs", *PLACE, INSTANCE),
                UNIT + " {{instance}}",
            ),
        ),
        _panel(
            "Time of a snapshot",
            "ms",
            (mean("lockstep_processor_snapshot_ms", *PLACE, window="10m"), UNIT),
        ),
        _panel(
            "States built again in Spark workers",
            "short",
            (or_zero(rate("lockstep_spark_rebuilds_total")), "rebuilds"),
        ),
    ),
)

DELIVERY: Final = Dashboard(
    "lockstep-delivery",
    "Lockstep: sinks and pages",
    (
        _panel(
            "Delivered",
            "eps",
            (rate("lockstep_publisher_delivered_total", "app", "sink"), "{{app}} {{sink}}"),
        ),
        _panel(
            "Time of a delivery",
            "ms",
            (
                quantile(0.99, "lockstep_publisher_delivery_ms", "app", "sink"),
                "{{app}} {{sink}} p99",
            ),
        ),
        _panel(
            "Records that wait for a sink",
            "short",
            (gauge("lockstep_publisher_behind_records", "app", "sink"), "{{app}} {{sink}}"),
        ),
        _panel(
            "Tried again, given up",
            "eps",
            (or_zero(rate("lockstep_publisher_retries_total")), "tried again"),
            (or_zero(rate("lockstep_publisher_failed_total")), "given up"),
        ),
        _panel(
            "Sinks that cannot be reached, or are paused",
            "short",
            (gauge("lockstep_publisher_trouble", "app", "sink"), "{{app}} {{sink}}"),
            (gauge("lockstep_publisher_paused", "app", "sink"), "{{app}} {{sink}} paused"),
        ),
        _panel(
            "Rows shown by presenters",
            "eps",
            (rate("lockstep_presenter_events_total", "app", "stream"), "{{app}} {{stream}}"),
        ),
        _panel(
            "Listeners",
            "short",
            (gauge("lockstep_presenter_listeners", "kind", how="sum"), "{{kind}}"),
            (or_zero(rate("lockstep_presenter_listeners_dropped_total")), "dropped per second"),
        ),
        _panel(
            "Scheduled scripts",
            "short",
            (or_zero(gauge("lockstep_batch_running", how="sum")), "under way"),
            (or_zero(rate("lockstep_batch_runs_total")), "ended per second"),
            (or_zero(rate("lockstep_batch_rows_total")), "rows per second"),
        ),
        _panel(
            "Time of scripts",
            "ms",
            (or_zero(quantile(0.99, "lockstep_batch_run_ms")), "a run, p99"),
            (or_zero(gauge("lockstep_batch_late_ms")), "the oldest run waits"),
        ),
    ),
)

MACHINES: Final = Dashboard(
    "lockstep-processes",
    "Lockstep: processes",
    (
        _panel(
            "Processor time, in cores",
            "short",
            (rate("lockstep_process_cpu_seconds_total", INSTANCE, "part"), "{{instance}} {{part}}"),
        ),
        _panel(
            "Memory",
            "bytes",
            (gauge("lockstep_process_resident_bytes", INSTANCE, "part"), "{{instance}} {{part}}"),
        ),
        _panel(
            "Heap of the JVM",
            "bytes",
            (gauge("lockstep_jvm_heap_bytes", INSTANCE, "area"), "{{instance}} {{area}}"),
        ),
        _panel(
            "Open files and connections",
            "short",
            (gauge("lockstep_process_open_files", INSTANCE), "{{instance}}"),
        ),
        _panel(
            "Ready",
            "short",
            (gauge("lockstep_ready", INSTANCE, "service"), "{{instance}} {{service}}"),
        ),
        _panel(
            "Version",
            "short",
            (
                gauge("lockstep_build_info", "service", "version", how="count"),
                "{{service}} {{version}}",
            ),
        ),
        _panel(
            "HTTP requests",
            "reqps",
            (rate("lockstep_http_requests_total", "route", "status"), "{{route}} {{status}}"),
        ),
        _panel(
            "Time of a request, p99",
            "ms",
            (quantile(0.99, "lockstep_http_request_ms", "route"), "{{route}}"),
        ),
        _panel(
            "Bytes taken and not yet durable",
            "bytes",
            (or_zero(gauge("lockstep_receiver_inflight_bytes", how="sum")), "bytes"),
        ),
        _panel(
            "Leases",
            "short",
            (gauge("lockstep_lease_held", how="sum"), "held"),
            (or_zero(rate("lockstep_lease_lost_total")), "lost per second"),
        ),
        _panel(
            "Coordinator",
            "short",
            (gauge("lockstep_coordinator_leading", how="sum"), "leading"),
            (gauge("lockstep_coordinator_processors_alive"), "processors alive"),
            (or_zero(rate("lockstep_coordinator_placements_total")), "placements per second"),
            (or_zero(rate("lockstep_coordinator_hand_overs_total")), "hand-overs per second"),
        ),
        _panel("Apps", "short", (gauge("lockstep_coordinator_apps", "state"), "{{state}}")),
    ),
)

DASHBOARDS: Final = (APPS, PROCESSORS, DELIVERY, MACHINES)
