"""Figures of all apps at this moment, out of what living services say. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.control import GroupStatus, Heartbeat, SinkStatus
from lockstep.store import Figures, SinkFigures


def sampled(processors: Iterable[Heartbeat], publishers: Iterable[Heartbeat]) -> dict[str, Figures]:
    """By app, of those that some processor carries."""
    units: dict[str, list[tuple[str, GroupStatus]]] = {}
    sinks: dict[str, list[SinkStatus]] = {}
    for beat in processors:
        for group in beat.groups:
            units.setdefault(group.app, []).append((beat.node, group))
    for beat in publishers:
        for sink in beat.sinks:
            sinks.setdefault(sink.app, []).append(sink)
    return {app: _figures(units[app], sinks.get(app, ())) for app in sorted(units)}


def _figures(said: Iterable[tuple[str, GroupStatus]], sinks: Iterable[SinkStatus]) -> Figures:
    """Of each unit the leader of the latest epoch counts, as an earlier one may not know yet that
    it leads no more."""
    leading: dict[tuple[str, int], tuple[str, GroupStatus]] = {}
    behind_ms = 0
    for node, group in said:
        if not group.leads:
            behind_ms = max(behind_ms, group.behind_ms)
            continue
        unit = group.group, group.partition
        if unit not in leading or leading[unit][1].epoch < group.epoch:
            leading[unit] = node, group
    leaders = [group for _, group in leading.values()]
    return Figures(
        events_per_s=sum(one.events_per_s for one in leaders),
        rows_per_s=round(sum(one.rows_per_s for one in leaders), 1),
        lag=max((one.lag for one in leaders), default=0),
        behind_ms=behind_ms,
        state_rows=sum(one.state_rows for one in leaders),
        busy_permille=max((one.busy_permille for one in leaders), default=0),
        latency_p50_ms=_worst(one.latency_p50_ms for one in leaders),
        latency_p99_ms=_worst(one.latency_p99_ms for one in leaders),
        epoch=max((one.epoch for one in leaders), default=0),
        leaders=tuple(sorted({node for node, _ in leading.values()})),
        sinks=_by_sink(sinks),
    )


def _by_sink(sinks: Iterable[SinkStatus]) -> tuple[SinkFigures, ...]:
    """Two publishers tell of a sink while it moves: the one that has come further delivers it."""
    further: dict[str, SinkStatus] = {}
    for one in sinks:
        if one.sink not in further or further[one.sink].sequence < one.sequence:
            further[one.sink] = one
    return tuple(
        SinkFigures(
            one.sink,
            lag=max(0, one.log_end - one.sequence),
            rows_per_s=one.rows_per_s,
            latency_p50_ms=one.latency_p50_ms or None,
            latency_p99_ms=one.latency_p99_ms or None,
        )
        for _, one in sorted(further.items())
    )


def _worst(latencies: Iterable[int]) -> int | None:
    """None where no rows came."""
    return max(latencies, default=0) or None
