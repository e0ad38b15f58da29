"""What surrounds a replica and never changes while it lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lockstep.bus import InputLog, LogName, OutputLog
from lockstep.clock import Clock, Randomness
from lockstep.control import Beating, GroupStatus, Heartbeat, HeartbeatWatch, unit_key
from lockstep.frame import HolderWatch, Offload, World
from lockstep.leader.roll import LeaseRoll
from lockstep.settings import Settings
from lockstep.telemetry import Logger, MetricName, Metrics, Traces
from lockstep_services.processor.replica.hearing import LogHearing
from lockstep_services.processor.replica.looking import LookPace
from lockstep_services.processor.replica.reading import SharedReadings
from lockstep_services.processor.state.engine import Engines

MakeOffload = Callable[[str], Offload]
"""A thread of the given name for blocking work, or what stands in for one."""


def labels_of(name: LogName) -> Mapping[str, str]:
    """Of the replicas of (app, group, partition), for metrics and logs."""
    return {"app": name.app, "group": name.group, "partition": str(name.partition)}


@dataclass(frozen=True)
class Surroundings:
    """What every replica of this process uses."""

    node: str
    world: World
    holders: HolderWatch
    settings: Settings
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    traces: Traces
    log: Logger
    watch: HeartbeatWatch
    beating: Beating
    engines: Engines
    make_offload: MakeOffload
    leases: LeaseRoll
    hearing: LogHearing
    readings: SharedReadings
    looks: LookPace


@dataclass(frozen=True)
class Site(Surroundings):
    """Where one replica of (app, group, partition) runs: its process, and its logs."""

    name: LogName
    input: InputLog
    output: OutputLog

    @property
    def unit(self) -> str:
        """What the unit is called between services."""
        return unit_key(self.name)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """For metrics and logs."""
        return labels_of(self.name)

    def count(self, name: MetricName, amount: float = 1) -> None:
        """Adds to a counter of this replica."""
        self.metrics.count(name, amount, **self.labels)

    def reached(self, stage: str, door_ms: int) -> int | None:
        """Events that the door took then have come as far as `stage`; gives how long that took."""
        if not door_ms:
            return None
        took_ms = max(0, self.clock.now_ms() - door_ms)
        self.metrics.observe("lockstep_latency_ms", took_ms, app=self.name.app, stage=stage)
        return took_ms

    def others(self) -> list[tuple[Heartbeat, GroupStatus]]:
        """What the living replicas of this app on other nodes say."""
        place = (self.name.group, self.name.partition)
        return [
            (beat, group)
            for beat, group in self.watch.groups(self.name.app)
            if beat.node != self.node and (group.group, group.partition) == place
        ]
