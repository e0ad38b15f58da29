"""What the page of metrics says of each unit that this node carries, looked up when somebody asks:
folding sets no gauge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lockstep.control import GroupStatus
from lockstep.telemetry import MetricName, Metrics

ROLE: Final = "lockstep_processor_role"


def show(metrics: Metrics, units: Iterable[tuple[GroupStatus, int]]) -> None:
    """Sets the gauges of all units; each with the rows that wait in its channels."""
    metrics.clear(ROLE)
    for status, channel_rows in units:
        place = {"app": status.app, "group": status.group, "partition": status.partition}
        metrics.set(ROLE, 1, role=status.role, **place)
        for name, value in _values(status, channel_rows).items():
            metrics.set(name, value, **place)


def _values(status: GroupStatus, channel_rows: int) -> dict[MetricName, int]:
    return {
        "lockstep_processor_epoch": status.epoch,
        "lockstep_processor_input_position": status.position,
        "lockstep_processor_lag_positions": status.lag,
        "lockstep_processor_behind_ms": status.behind_ms,
        "lockstep_processor_busy_permille": status.busy_permille,
        "lockstep_processor_held_back_outputs": status.held_rows,
        "lockstep_processor_state_rows": status.state_rows,
        "lockstep_processor_channel_rows": channel_rows,
    }
