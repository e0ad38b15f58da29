"""What the loops of one replica share: logs, engine, permit, and how it is doing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from lockstep.bus import InputLog, LogName, OutputLog, OutputTail
from lockstep.clock import Clock, Randomness
from lockstep.control import AppView, Beating, GroupStatus, Heartbeat, HeartbeatWatch
from lockstep.events import Generation, OutputId, Position
from lockstep.frame import Offload, World
from lockstep.leader.protocol import Permit
from lockstep.settings import Settings
from lockstep.telemetry import Logger, MetricName, Metrics
from lockstep_services.processor.replica.origin import has_to_give_way
from lockstep_services.processor.replica.standby import (
    ACTIVE,
    HOT,
    Behind,
    Progress,
    is_ready,
    standby_of,
)
from lockstep_services.processor.replica.standing import (
    RestartReplicaError,
    Standing,
    standing,
    why_overtaken,
)
from lockstep_services.processor.state.engine import AppEngine, Engines
from lockstep_services.processor.state.envelope import Contents

PASSIVE = "passive"
BACKUP = "backup"
SYNCING = "syncing"

MakeOffload = Callable[[str], Offload]
"""A thread of the given name for blocking work, or what stands in for one."""


@dataclass(frozen=True)
class Surroundings:
    """What every replica of this process uses."""

    node: str
    world: World
    settings: Settings
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    log: Logger
    watch: HeartbeatWatch
    beating: Beating
    engines: Engines
    make_offload: MakeOffload


@dataclass(frozen=True)
class Beginning:
    """An empty state, as a revision would hold it."""

    position: Position
    contents: Contents


class Signal:
    """A bell that several waiters may hear: set wakes all who wait now or come before `clear`."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def ring(self) -> None:
        """Wakes."""
        self.event.set()

    def clear(self) -> None:
        """Before looking at what it announces."""
        self.event.clear()


@dataclass
class Replica:
    """One replica of (app, group, partition) while it runs.

    `target` is the state wanted; the engine may still run an older one (upgrade, restore).
    `generation` is of the state that runs; `is_recorded`: the output log bears it. `unrecorded`: it
    began empty, and the log does not say so yet. `began_empty`: what did not fit of the old state.
    """

    around: Surroundings
    name: LogName
    input: InputLog
    output: OutputLog
    engine: AppEngine
    target: AppView
    target_nodes: tuple[str, ...]
    generation: Generation
    permit: Permit | None = None
    epoch: int = 0
    last_id: OutputId | None = None
    is_recorded: bool = False
    unrecorded: Beginning | None = None
    log_end: Position = 0
    trouble: str | None = None
    began_empty: tuple[str, ...] = ()
    draining: bool = False
    promoted: Signal = field(default_factory=Signal)
    folding_since_ms: int | None = None
    behind: Behind = field(default_factory=Behind)
    to_publish: Signal = field(default_factory=Signal)
    space: Signal = field(default_factory=Signal)
    lease_due: Signal = field(default_factory=Signal)

    def __post_init__(self) -> None:
        self._goal = self.log_end

    @property
    def labels(self) -> dict[str, str]:
        """For metrics and logs."""
        return {
            "app": self.name.app,
            "group": self.name.group,
            "partition": str(self.name.partition),
        }

    @property
    def is_active(self) -> bool:
        """It holds a permit."""
        return self.permit is not None

    @property
    def is_old(self) -> bool:
        """Another version than the running one is wanted, or the state of a revision."""
        return has_to_give_way(self.engine.version, self.generation.life, self.target.deployment)

    @property
    def is_settled(self) -> bool:
        """Its state is the one wanted, and recorded: neither going over nor just beginning."""
        return not self.is_old and self.is_recorded

    @property
    def progress(self) -> Progress:
        """Where it stands in the input log."""
        position = self.engine.position
        behind_ms = self.behind.ms(position, self.around.clock.monotonic_ms())
        return Progress(position, self.log_end, self._goal, behind_ms)

    @property
    def lag(self) -> int:
        """Records behind the input log's end, as last seen."""
        return self.progress.lag

    @property
    def is_ready(self) -> bool:
        """It could take over soon."""
        return is_ready(self.standby, self.progress, self.around.settings.processor)

    @property
    def standby(self) -> str:
        """How it stands by: hot or warm."""
        return standby_of(self.target, self.around.settings.processor)

    @property
    def is_promoted(self) -> bool:
        """It has the lease, and leads or is about to."""
        return self.promoted.event.is_set()

    def promote(self, is_promoted: bool) -> None:
        """Wakes who waits for it."""
        if is_promoted:
            self.promoted.ring()
        else:
            self.promoted.clear()

    @property
    def may_fold(self) -> bool:
        """A warm standby waits until it is promoted."""
        return self.is_promoted or self.standby == HOT

    def others(self) -> list[tuple[Heartbeat, GroupStatus]]:
        """What the living replicas of this app on other nodes say."""
        place = (self.name.group, self.name.partition)
        return [
            (beat, group)
            for beat, group in self.around.watch.groups(self.name.app)
            if beat.node != self.around.node and (group.group, group.partition) == place
        ]

    async def change(
        self, engine: AppEngine, generation: Generation, *, began_empty: tuple[str, ...]
    ) -> None:
        """Goes on with another engine that stands at the same position, whose generation the log
        bears now; the old one is closed."""
        old, self.engine, self.generation = self.engine, engine, generation
        self.began_empty = began_empty
        self.record()
        await old.close()

    def record(self) -> None:
        """The output log bears this replica's generation."""
        self.is_recorded, self.unrecorded = True, None

    def saw(self, tail: OutputTail) -> None:
        """The output log's end. RestartReplicaError when it goes on with another state."""
        match standing(self.generation, tail):
            case Standing.OVERTAKEN:
                raise RestartReplicaError(why_overtaken(self.generation, tail))
            case Standing.RECORDED if tail.generation is not None or self.unrecorded is None:
                self.record()
        self.epoch = max(self.epoch, tail.epoch)
        self.know(tail.last_id)

    def know(self, last: OutputId | None) -> None:
        """The output log holds every row up to `last`."""
        if last is not None and (self.last_id is None or last > self.last_id):
            self.last_id = last
        settled = self.around.watch.settled(
            self.name.app, self.name.group, self.name.partition, self.generation
        )
        self.engine.outbox.published(last, settled=settled)
        self.space.ring()

    def count(self, name: MetricName, amount: float = 1) -> None:
        """Adds to a counter of this replica."""
        place = self.name
        self.around.metrics.count(
            name, amount, app=place.app, group=place.group, partition=place.partition
        )

    def gauge(self, name: MetricName, value: float) -> None:
        """Sets a gauge of this replica."""
        self.around.metrics.set(name, value, **self.labels)

    def status(self) -> GroupStatus:
        """For heartbeats."""
        last = self.last_id
        return GroupStatus(
            app=self.name.app,
            group=self.name.group,
            partition=self.name.partition,
            version=self.engine.version,
            deployed_ms=self.generation.life.deployed_ms,
            role=self._role(),
            position=self.engine.position,
            log_end=max(self.log_end, self.engine.position),
            epoch=self.epoch,
            settled=self.engine.outbox.settled,
            published=None if last is None else f"{last.position}.{last.ordinal}",
            held_rows=len(self.engine.outbox),
            state_rows=self.engine.state_rows,
            state_full=self._full() is not None,
            ready=self.is_ready,
            trouble=self._slow() or self._full() or self.trouble,
            began_empty=self.began_empty,
            behind_ms=self.progress.behind_ms,
            generation=self.generation.life.number,
            begins_behind=self.generation.position,
            standby=self.standby,
        )

    def _full(self) -> str | None:
        """What to say about a state over its limit: until it is smaller, receivers take nothing."""
        rows, limit = self.engine.state_rows, self.around.settings.processor.state_max_rows
        if rows <= limit:
            return None
        return f"its windows and tables hold {rows} rows, over processor.state_max_rows = {limit}"

    def _slow(self) -> str | None:
        """What to say about a slice that does not end."""
        since_ms = self.folding_since_ms
        took_ms = 0 if since_ms is None else self.around.clock.monotonic_ms() - since_ms
        if took_ms <= self.around.settings.processor.slice_slow_ms:
            return None
        return f"the slice behind position {self.engine.position} has taken {took_ms} ms so far"

    def _role(self) -> str:
        if self.is_active:
            return ACTIVE
        if not self.is_ready:
            return SYNCING
        me = self.around.node
        standby = [
            beat.node for beat, group in self.others() if group.ready and group.role != ACTIVE
        ]
        return PASSIVE if all(me < other for other in standby) else BACKUP
