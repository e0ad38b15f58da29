"""How apps and nodes are doing, from heartbeats: nothing here decides anything. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from lockstep.control import (
    GroupStatus,
    Heartbeat,
    HeartbeatWatch,
    group_and_layout,
    label_of,
    place_of,
    unit_label,
)
from lockstep.store import Deployment

SERVICES = ("coordinator", "receiver", "processor", "publisher", "presenter")
ACTIVE = "active"
Replica = tuple[Heartbeat, GroupStatus]


def nodes_of(units: Sequence[str], placements: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes that carry something of an app, each once."""
    return list(dict.fromkeys(node for unit in units for node in placements.get(unit, ())))


def app_status(
    deployment: Deployment,
    units: Sequence[str],
    placements: Mapping[str, Sequence[str]],
    watch: HeartbeatWatch,
    waiting: str | None,
    *,
    goes_over: bool = False,
) -> dict[str, Any]:
    """Roles, positions and lag of every replica, and the sinks. `goes_over`: the units of the
    layout before go on, so their replicas are told of as well."""
    said = watch.groups(deployment.app)
    status, replicas = summary(deployment, units, said), of_layout(deployment.layout, said)
    if goes_over and deployment.former is not None and status != ACTIVE:
        replicas = [*of_layout(deployment.former.layout, said), *replicas]
    return {
        "parallel": deployment.parallel,
        "layout": deployment.layout,
        "units": [_unit_json(unit, placements) for unit in units],
        "app": deployment.app,
        "version": deployment.version,
        "generation": deployment.life.number,
        "replicas_wanted": deployment.replicas,
        "nodes": nodes_of(units, placements),
        "waiting": waiting,
        "status": status,
        "replicas": [replica_json(beat, group) for beat, group in replicas],
        "sinks": [
            {
                "sink": sink.sink,
                "sequence": sink.sequence,
                "log_end": sink.log_end,
                "trouble": sink.trouble,
                "rows_per_s": sink.rows_per_s,
                "latency_p50_ms": sink.latency_p50_ms,
                "latency_p99_ms": sink.latency_p99_ms,
                "node": beat.node,
            }
            for beat in watch.alive("publisher")
            for sink in beat.sinks
            if sink.app == deployment.app
        ],
    }


def _unit_json(unit: str, placements: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    place = place_of(unit)
    return {
        "unit": unit_label(unit),
        "group": group_and_layout(place.group)[0],
        "partition": place.partition,
        "nodes": list(placements.get(unit, ())),
    }


def replica_json(beat: Heartbeat, group: GroupStatus) -> dict[str, Any]:
    """One replica."""
    name, layout = group_and_layout(group.group)
    return {
        "node": beat.node,
        "unit": label_of(group.app, group.group, group.partition),
        "group": name,
        "layout": layout,
        "partition": group.partition,
        "version": group.version,
        "generation": group.generation,
        "role": group.role,
        "standby": group.standby,
        "ready": group.ready,
        "position": group.position,
        "log_end": group.log_end,
        "lag": group.lag,
        "behind_ms": group.behind_ms,
        "epoch": group.epoch,
        "published": group.published,
        "settled": group.settled,
        "held_rows": group.held_rows,
        "state_rows": group.state_rows,
        "events_per_s": group.events_per_s,
        "busy_permille": group.busy_permille,
        "rows_per_s": group.rows_per_s,
        "latency_p50_ms": group.latency_p50_ms,
        "latency_p99_ms": group.latency_p99_ms,
        "trouble": group.trouble,
        "begins_behind": group.begins_behind,
        "began_empty": list(group.began_empty),
        "past": None if group.past is None else msgspec.structs.asdict(group.past),
    }


def summary(deployment: Deployment, units: Sequence[str], said: Sequence[Replica]) -> str:
    """active (somebody leads each unit), passive (nobody leads some yet) or inactive (nobody
    carries it). `said`: by living processors about the app."""
    replicas = of_layout(deployment.layout, said)
    if not replicas:
        return "inactive"
    led = {(one.group, one.partition) for _, one in replicas if one.leads}
    return ACTIVE if len(led) >= len(units) else "passive"


def of_layout(layout: int, said: Sequence[Replica]) -> list[Replica]:
    """Of the units of a layout."""
    return [(beat, one) for beat, one in said if group_and_layout(one.group)[1] == layout]


def nodes_json(watch: HeartbeatWatch, drained: Collection[str]) -> list[dict[str, Any]]:
    """All living nodes of all services; those `drained` carry nothing, or soon will not."""
    return [
        {
            "node": beat.node,
            "service": service,
            "url": beat.url,
            "leading": beat.leading,
            "sent_ms": beat.sent_ms,
            "host": beat.host,
            "zone": beat.zone,
            "cpu_percent": beat.cpu_percent,
            "version": beat.version or None,
            "process_cpu_percent": beat.process_cpu_percent,
            "resident_bytes": beat.resident_bytes,
            "since_ms": beat.since_ms or None,
            "drained": service == "processor" and beat.node in drained,
            "apps": sorted({group.app for group in beat.groups}),
        }
        for service in SERVICES
        for beat in watch.alive(service)
    ]
