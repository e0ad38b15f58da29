"""How apps and nodes are doing, from heartbeats: nothing here decides anything. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.control import GroupStatus, Heartbeat, HeartbeatWatch
from lockstep.store import Deployment

SERVICES = ("coordinator", "receiver", "processor", "publisher", "presenter")
Replica = tuple[Heartbeat, GroupStatus]


def app_status(
    deployment: Deployment, nodes: Sequence[str], watch: HeartbeatWatch
) -> dict[str, Any]:
    """Roles, positions and lag of every replica, and the sinks."""
    replicas = watch.groups(deployment.app)
    return {
        "app": deployment.app,
        "version": deployment.version,
        "generation": deployment.life.number,
        "replicas_wanted": deployment.replicas,
        "nodes": list(nodes),
        "status": summary(replicas),
        "replicas": [replica_json(beat, group) for beat, group in replicas],
        "sinks": [
            {
                "sink": sink.sink,
                "sequence": sink.sequence,
                "log_end": sink.log_end,
                "trouble": sink.trouble,
                "node": beat.node,
            }
            for beat in watch.alive("publisher")
            for sink in beat.sinks
            if sink.app == deployment.app
        ],
    }


def replica_json(beat: Heartbeat, group: GroupStatus) -> dict[str, Any]:
    """One replica."""
    return {
        "node": beat.node,
        "group": group.group,
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
        "trouble": group.trouble,
        "begins_behind": group.begins_behind,
        "began_empty": list(group.began_empty),
    }


def summary(replicas: Sequence[Replica]) -> str:
    """active (somebody leads), passive (nobody leads yet) or inactive (nobody carries it)."""
    if not replicas:
        return "inactive"
    return "active" if any(group.role == "active" for _, group in replicas) else "passive"


def nodes_json(watch: HeartbeatWatch) -> list[dict[str, Any]]:
    """All living nodes of all services."""
    return [
        {
            "node": beat.node,
            "service": service,
            "url": beat.url,
            "leading": beat.leading,
            "sent_ms": beat.sent_ms,
            "apps": sorted({group.app for group in beat.groups}),
        }
        for service in SERVICES
        for beat in watch.alive(service)
    ]
