"""Every metric of the suite, once: name, kind, meaning, labels.

A name that is not here is a type error; the table is the documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

MetricName = Literal[
    # any service
    "lockstep_build_info",
    "lockstep_ready",
    "lockstep_process_start_time_seconds",
    "lockstep_process_cpu_seconds_total",
    "lockstep_process_resident_bytes",
    "lockstep_process_open_files",
    "lockstep_jvm_heap_bytes",
    "lockstep_latency_ms",
    "lockstep_http_requests_total",
    "lockstep_http_request_ms",
    "lockstep_audit_lost_total",
    "lockstep_control_unproven_total",
    "lockstep_log_lines_lost_total",
    # receiver
    "lockstep_receiver_events_accepted_total",
    "lockstep_receiver_events_refused_total",
    "lockstep_receiver_duplicates_total",
    "lockstep_copied_rows_total",
    "lockstep_lookups_total",
    "lockstep_lookups_asked_total",
    "lockstep_receiver_pushed_back_total",
    "lockstep_receiver_inflight_bytes",
    "lockstep_receiver_append_ms",
    "lockstep_receiver_source_events_total",
    "lockstep_receiver_source_paused",
    "lockstep_receiver_source_trouble",
    # dead letters
    "lockstep_dead_letters_total",
    # processor
    "lockstep_processor_role",
    "lockstep_processor_epoch",
    "lockstep_processor_input_position",
    "lockstep_processor_lag_positions",
    "lockstep_processor_behind_ms",
    "lockstep_processor_busy_permille",
    "lockstep_processor_events_total",
    "lockstep_processor_repeated_events_total",
    "lockstep_processor_poison_events_total",
    "lockstep_processor_outputs_total",
    "lockstep_processor_held_back_outputs",
    "lockstep_processor_state_rows",
    "lockstep_processor_state_max_rows",
    "lockstep_processor_state_bytes",
    "lockstep_processor_channel_rows",
    "lockstep_processor_slice_events",
    "lockstep_processor_slice_ms",
    "lockstep_processor_snapshot_ms",
    "lockstep_processor_snapshot_bytes",
    "lockstep_processor_takeovers_total",
    "lockstep_processor_fenced_total",
    "lockstep_query_rows_total",
    "lockstep_query_busy_ms_total",
    "lockstep_spark_rebuilds_total",
    # leader
    "lockstep_lease_held",
    "lockstep_lease_lost_total",
    "lockstep_holder_deaths_total",
    "lockstep_holder_wrong_deaths_total",
    # publisher
    "lockstep_publisher_delivered_total",
    "lockstep_publisher_retries_total",
    "lockstep_publisher_failed_total",
    "lockstep_publisher_delivery_ms",
    "lockstep_publisher_behind_records",
    "lockstep_publisher_trouble",
    "lockstep_publisher_paused",
    # scheduled scripts
    "lockstep_batch_runs_total",
    "lockstep_batch_rows_total",
    "lockstep_batch_run_ms",
    "lockstep_batch_running",
    "lockstep_batch_late_ms",
    # presenter
    "lockstep_presenter_events_total",
    "lockstep_presenter_listeners",
    "lockstep_presenter_listeners_dropped_total",
    # coordinator
    "lockstep_coordinator_leading",
    "lockstep_coordinator_apps",
    "lockstep_coordinator_unit_led",
    "lockstep_coordinator_processors_alive",
    "lockstep_coordinator_placements_total",
    "lockstep_coordinator_hand_overs_total",
    "lockstep_coordinator_figures_waiting",
    "lockstep_coordinator_figures_lost_total",
]


class MetricKind(StrEnum):
    """A counter only grows, a gauge is set, a histogram spreads observations over buckets."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of the table; `buckets` only for histograms, in the unit that ends the name."""

    kind: MetricKind
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


MS_BUCKETS = (1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 10_000.0)
LATENCY_BUCKETS = (
    5.0, 10.0, 25.0, 50.0, 75.0, 100.0, 150.0, 250.0, 400.0, 750.0, 1_500.0, 3_000.0, 10_000.0,
    60_000.0,
)  # fmt: skip
RUN_BUCKETS = (1e3, 5e3, 15e3, 60e3, 300e3, 900e3, 3_600e3, 14_400e3, 86_400e3)
SIZE_BUCKETS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0)
BYTES_BUCKETS = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)

_PLACE = ("app", "group", "partition")


def _counter(meaning: str, *labels: str) -> Metric:
    return Metric(MetricKind.COUNTER, meaning, labels)


def _gauge(meaning: str, *labels: str) -> Metric:
    return Metric(MetricKind.GAUGE, meaning, labels)


def _histogram(meaning: str, buckets: tuple[float, ...], *labels: str) -> Metric:
    return Metric(MetricKind.HISTOGRAM, meaning, labels, buckets)


METRICS: dict[MetricName, Metric] = {
    "lockstep_build_info": _gauge("Always 1; the labels say what runs.", "service", "version"),
    "lockstep_ready": _gauge(
        "1 while the service takes work, as /readyz has it; else 0.", "service"
    ),
    "lockstep_process_start_time_seconds": _gauge("When its counters began, since 1970."),
    "lockstep_process_cpu_seconds_total": _counter(
        "Processor time of the service itself, its JVM, Spark's workers, others it started.", "part"
    ),
    "lockstep_process_resident_bytes": _gauge("Memory in use, likewise.", "part"),
    "lockstep_process_open_files": _gauge("Open files and connections of the service itself."),
    "lockstep_jvm_heap_bytes": _gauge("Of the Spark driver: used, committed, max.", "area"),
    "lockstep_latency_ms": _histogram(
        "From the door's clock to a stage: durable, folded, published, delivered, presented.",
        LATENCY_BUCKETS,
        "app",
        "stage",
    ),
    "lockstep_control_unproven_total": _counter(
        "Control messages that were not heard, as they carry no good proof.", "why"
    ),
    "lockstep_audit_lost_total": _counter(
        "Entries of the audit log that the store could not take and that stand in the log alone."
    ),
    "lockstep_log_lines_lost_total": _counter(
        "Log lines that could not be written when they came; the last ones are in memory."
    ),
    "lockstep_http_requests_total": _counter("HTTP requests answered.", "route", "status"),
    "lockstep_http_request_ms": _histogram("Time to answer.", MS_BUCKETS, "route"),
    "lockstep_receiver_events_accepted_total": _counter(
        "Events durable in an input log.", "app", "stream"
    ),
    "lockstep_receiver_events_refused_total": _counter(
        "Events that do not fit their stream: alone (invalid), or with their whole send (whole).",
        "app",
        "stream",
        "reason",
    ),
    "lockstep_receiver_duplicates_total": _counter(
        "Events dropped because their id was seen before.", "app", "stream"
    ),
    "lockstep_copied_rows_total": _counter(
        "Rows and changes of tables that follow a database, durable in an input log.",
        "app",
        "table",
    ),
    "lockstep_lookups_total": _counter("Keys that events looked up in a database.", "app", "table"),
    "lockstep_lookups_asked_total": _counter("Those of them that no cache knew.", "app", "table"),
    "lockstep_receiver_pushed_back_total": _counter(
        "Sends that the receiver answered 429 or 503.", "reason"
    ),
    "lockstep_receiver_inflight_bytes": _gauge("Bytes taken and not yet durable."),
    "lockstep_receiver_append_ms": _histogram("Append until acknowledged.", MS_BUCKETS, "app"),
    "lockstep_receiver_source_events_total": _counter(
        "Events that a source of an app brought.", "app", "source"
    ),
    "lockstep_receiver_source_paused": _gauge(
        "1 while a source is paused: nothing is taken of it.", "app", "source"
    ),
    "lockstep_receiver_source_trouble": _gauge("1 while a source cannot be read.", "app", "source"),
    "lockstep_dead_letters_total": _counter("Events put aside.", "app", "stream", "reason"),
    "lockstep_processor_role": _gauge("1 for the role held now.", *_PLACE, "role"),
    "lockstep_processor_epoch": _gauge("Epoch of the last claim seen.", *_PLACE),
    "lockstep_processor_input_position": _gauge("Last position folded.", *_PLACE),
    "lockstep_processor_lag_positions": _gauge("Input log end minus position.", *_PLACE),
    "lockstep_processor_behind_ms": _gauge("How long published rows wait to be folded.", *_PLACE),
    "lockstep_processor_busy_permille": _gauge("Share of its time in folding.", *_PLACE),
    "lockstep_processor_events_total": _counter("Events folded.", *_PLACE),
    "lockstep_processor_repeated_events_total": _counter(
        "Events left out because their send was in the log before.", *_PLACE
    ),
    "lockstep_processor_poison_events_total": _counter(
        "Events set aside because they went over a limit.", *_PLACE
    ),
    "lockstep_processor_outputs_total": _counter("Outputs appended as leader.", *_PLACE),
    "lockstep_processor_held_back_outputs": _gauge("Outputs a standby keeps.", *_PLACE),
    "lockstep_processor_state_rows": _gauge("Rows in windows and tables, in columns.", *_PLACE),
    "lockstep_processor_state_max_rows": _gauge("Rows that an app may hold there."),
    "lockstep_processor_state_bytes": _gauge("Size of the last snapshot.", *_PLACE),
    "lockstep_processor_channel_rows": _gauge("Rows of other units that wait.", *_PLACE),
    "lockstep_processor_slice_events": _histogram("Events in a slice.", SIZE_BUCKETS, *_PLACE),
    "lockstep_processor_slice_ms": _histogram("Time to fold a slice.", MS_BUCKETS, *_PLACE),
    "lockstep_processor_snapshot_ms": _histogram("Time of a snapshot.", MS_BUCKETS, *_PLACE),
    "lockstep_processor_snapshot_bytes": _histogram("Its size.", BYTES_BUCKETS, *_PLACE),
    "lockstep_processor_takeovers_total": _counter("Times it became leader.", *_PLACE),
    "lockstep_processor_fenced_total": _counter("Appends refused as stale.", *_PLACE),
    "lockstep_query_rows_total": _counter("Rows that a query gave.", *_PLACE, "query"),
    "lockstep_query_busy_ms_total": _counter(
        "Time in a query; of apps at level DETAIL.", *_PLACE, "query"
    ),
    "lockstep_spark_rebuilds_total": _counter("States built again in a Spark worker.", "app"),
    "lockstep_lease_held": _gauge("1 while the lease is held.", "resource"),
    "lockstep_lease_lost_total": _counter("Leases lost before release.", "resource"),
    "lockstep_holder_deaths_total": _counter("Holders whose connection closed."),
    "lockstep_holder_wrong_deaths_total": _counter("Of these, connected again later."),
    "lockstep_publisher_delivered_total": _counter("Events delivered.", "app", "sink"),
    "lockstep_publisher_retries_total": _counter("Deliveries tried again.", "app", "sink"),
    "lockstep_publisher_failed_total": _counter("Deliveries given up.", "app", "sink"),
    "lockstep_publisher_delivery_ms": _histogram("Time of a delivery.", MS_BUCKETS, "app", "sink"),
    "lockstep_publisher_behind_records": _gauge(
        "Records of the output log that wait for a sink.", "app", "sink"
    ),
    "lockstep_publisher_trouble": _gauge("1 while a sink cannot be reached.", "app", "sink"),
    "lockstep_publisher_paused": _gauge(
        "1 while a sink is paused: its rows wait in the output log.", "app", "sink"
    ),
    "lockstep_batch_runs_total": _counter("Runs of scripts that ended.", "script", "outcome"),
    "lockstep_batch_rows_total": _counter("Rows that scripts put out.", "script"),
    "lockstep_batch_run_ms": _histogram("Time of a run, with its pauses.", RUN_BUCKETS, "script"),
    "lockstep_batch_running": _gauge("Runs of scripts under way."),
    "lockstep_batch_late_ms": _gauge("How long the oldest run waits that could begin."),
    "lockstep_presenter_events_total": _counter("Events shown.", "app", "stream"),
    "lockstep_presenter_listeners": _gauge(
        "Event streams, WebSockets and polls that wait.", "kind"
    ),
    "lockstep_presenter_listeners_dropped_total": _counter("Too slow to keep up.", "kind"),
    "lockstep_coordinator_leading": _gauge("1 while this coordinator leads."),
    "lockstep_coordinator_apps": _gauge("Apps desired.", "state"),
    "lockstep_coordinator_unit_led": _gauge(
        "1 while somebody leads a unit of a deployed app, as the leading coordinator hears; else"
        " 0.",
        *_PLACE,
    ),
    "lockstep_coordinator_processors_alive": _gauge("Processors heard of in time."),
    "lockstep_coordinator_placements_total": _counter("Assignments made.", "reason"),
    "lockstep_coordinator_hand_overs_total": _counter("Leads handed over.", "reason"),
    "lockstep_coordinator_figures_waiting": _gauge("Samples that wait for the store."),
    "lockstep_coordinator_figures_lost_total": _counter(
        "Samples and failovers that the store did not take in time.", "kind"
    ),
}
