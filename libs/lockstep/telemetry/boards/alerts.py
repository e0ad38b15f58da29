"""The alerts: what is watched, when it is too much, and which heading of the runbook says more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lockstep.telemetry.boards.promql import (
    UNIT,
    gauge,
    increase,
    leaders,
    or_zero,
    or_zero_each,
    quantile,
)

SERVICES: Final = ("coordinator", "processor", "publisher", "presenter", "receiver")
_ALL: Final = "=~.+"


@dataclass(frozen=True)
class Alert:
    """`signal` beyond `limit` (as PromQL compares) for `minutes`. `heading`: of the runbook."""

    name: str
    signal: str
    limit: str
    minutes: int
    summary: str
    heading: str
    is_page: bool = False

    @property
    def expression(self) -> str:
        """What Prometheus watches."""
        return f"({self.signal}) {self.limit}"


def _roles(**where: str) -> str:
    return gauge("lockstep_processor_role", *UNIT, how="count", app=_ALL, **where)


def _nobody_leads() -> str:
    """A unit whose replicas follow, or that no processor carries: then only the coordinator tells
    of it."""
    led = gauge("lockstep_coordinator_unit_led", *UNIT, app=_ALL)
    followed = f"{_roles()} unless {_roles(role='active')} or {_roles()} * 0"
    return f"{followed} or {led} == bool 0"


ALERTS: Final = (
    Alert(
        "LockstepProcessDown",
        'up{job="lockstep"}',
        "== 0",
        1,
        "{{ $labels.instance }} does not answer.",
        "Processes",
        is_page=True,
    ),
    Alert(
        "LockstepServiceAway",
        or_zero_each(gauge("lockstep_ready", "service", how="sum"), "service", SERVICES),
        "< 1",
        1,
        "No {{ $labels.service }} is ready.",
        "All processes of a service are away",
        is_page=True,
    ),
    Alert(
        "LockstepNobodyLeads",
        _nobody_leads(),
        "> 0",
        1,
        "Nobody leads {{ $labels.app }} {{ $labels.group }} {{ $labels.partition }}: no results.",
        "The leading processor dies",
        is_page=True,
    ),
    Alert(
        "LockstepNoCoordinator",
        or_zero(gauge("lockstep_coordinator_leading", how="sum")),
        "< 1",
        1,
        "No coordinator leads: nothing is deployed or placed.",
        "A coordinator dies",
    ),
    Alert(
        "LockstepLag",
        leaders("lockstep_processor_lag_positions", *UNIT, app=_ALL),
        "> 5000",
        2,
        "{{ $labels.app }} is {{ $value }} records behind.",
        "Processors get too little processor time",
        is_page=True,
    ),
    Alert(
        "LockstepSlow",
        quantile(0.99, "lockstep_latency_ms", "app", window="5m", app=_ALL, stage="published"),
        "> 2000",
        5,
        "From the door to the output log of {{ $labels.app }}: p99 {{ $value }} ms.",
        "Processors get too little processor time",
    ),
    Alert(
        "LockstepPushedBack",
        or_zero(increase("lockstep_receiver_pushed_back_total", minutes=5)),
        "> 0",
        5,
        "Senders are told to wait.",
        "Processors get too little processor time",
    ),
    Alert(
        "LockstepLeadMoves",
        increase("lockstep_processor_takeovers_total", "app", minutes=15, app=_ALL),
        "> 6",
        1,
        "The lead of {{ $labels.app }} moved {{ $value }} times in 15 minutes.",
        "The lead moves although the leader lives",
    ),
    Alert(
        "LockstepSyncing",
        f"{_roles(role='syncing')} or {_roles()} * 0",
        "> 0",
        10,
        "A standby of {{ $labels.app }} does not catch up.",
        "A standby stays `syncing`",
    ),
    Alert(
        "LockstepStateLarge",
        gauge("lockstep_processor_state_rows", *UNIT, app=_ALL)
        + " / on () group_left () "
        + gauge("lockstep_processor_state_max_rows", how="min"),
        "> 0.9",
        5,
        "{{ $labels.app }} holds {{ $value | humanizePercentage }} of the rows that it may; at the"
        " limit nothing is taken.",
        "An app holds too many rows",
    ),
    Alert(
        "LockstepRebuilds",
        or_zero(increase("lockstep_spark_rebuilds_total", minutes=15, app=_ALL)),
        "> 3",
        1,
        "States were built again {{ $value }} times in 15 minutes.",
        "A Spark worker with a large state dies",
    ),
    Alert(
        "LockstepHeapFull",
        gauge("lockstep_jvm_heap_bytes", "instance", area="used")
        + " / "
        + gauge("lockstep_jvm_heap_bytes", "instance", area="max"),
        "> 0.9",
        10,
        "The JVM of {{ $labels.instance }} is nearly full.",
        "The JVM's heap is nearly full",
    ),
    Alert(
        "LockstepSinkAway",
        gauge("lockstep_publisher_trouble", "app", "sink", app=_ALL),
        "> 0",
        2,
        "{{ $labels.app }} cannot reach {{ $labels.sink }}.",
        "A sink cannot be reached",
    ),
    Alert(
        "LockstepSourceAway",
        or_zero(gauge("lockstep_receiver_source_trouble", "app", "source", app=_ALL)),
        "> 0",
        2,
        "{{ $labels.app }} cannot read {{ $labels.source }}.",
        "A source cannot be read",
    ),
    Alert(
        "LockstepSourcePaused",
        or_zero(gauge("lockstep_receiver_source_paused", "app", "source", app=_ALL)),
        "> 0",
        60,
        "{{ $labels.source }} of {{ $labels.app }} has been paused for an hour.",
        "A source or a sink is paused",
    ),
    Alert(
        "LockstepSinkPaused",
        gauge("lockstep_publisher_paused", "app", "sink", app=_ALL),
        "> 0",
        60,
        "{{ $labels.sink }} of {{ $labels.app }} has been paused for an hour; its rows wait.",
        "A source or a sink is paused",
    ),
    Alert(
        "LockstepRowsGivenUp",
        or_zero(increase("lockstep_publisher_failed_total", "app", "sink", minutes=15, app=_ALL)),
        "> 0",
        1,
        "Rows of {{ $labels.app }} for {{ $labels.sink }} were put aside.",
        "A sink's rows were given up or refused",
        is_page=True,
    ),
    Alert(
        "LockstepDeadLetters",
        or_zero(increase("lockstep_dead_letters_total", "app", "stream", minutes=15, app=_ALL)),
        "> 0",
        1,
        "Events of {{ $labels.app }} {{ $labels.stream }} became dead letters.",
        "Events became dead letters",
    ),
    Alert(
        "LockstepLeaseLost",
        or_zero(increase("lockstep_lease_lost_total", "resource", minutes=15)),
        "> 2",
        1,
        "The lease {{ $labels.resource }} was lost {{ $value }} times in 15 minutes.",
        "Redis is away, or comes back empty",
    ),
)
