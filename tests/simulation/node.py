"""One process of the cluster: the real services, wired as ever, in simulated surroundings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from lockstep.clock import SeededRandomness
from lockstep.events import LockstepError
from lockstep.frame import Context, Process, Service, World
from lockstep.settings import Settings, load_settings
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.presenter.wiring import wire as presenter
from lockstep_services.processor.wiring import Processor
from lockstep_services.publisher.wiring import Publisher
from lockstep_services.receiver.wiring import wire as receiver
from tests.simulation.bus import SimBus, Switchboard
from tests.simulation.carrier import SimCarrier
from tests.simulation.database import Database, SimConnections
from tests.simulation.door import SimDoor
from tests.simulation.executor import Folds, NodeExecutors
from tests.simulation.leases import RecordedTable, SimLeases
from tests.simulation.loop import Host, HostClock, VirtualLoop
from tests.simulation.network import Network
from tests.simulation.store import SimStore, StoreServer

T = TypeVar("T")

EPOCH_MS: Final = 1_700_000_000_000
WORK_MS: Final = (0.2, 4.0)


@functools.cache
def base_settings() -> Settings:
    """Quick beats and small limits, so that much happens in little time."""
    return load_settings(
        {
            "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
            "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "1700",
            "LOCKSTEP_PROCESSOR__REVISIONS_TO_KEEP": "2",
            "LOCKSTEP_PROCESSOR__HOLD_BACK_MAX_OUTPUTS": "60",
            "LOCKSTEP_PROCESSOR__READY_LAG_POSITIONS": "20",
            "LOCKSTEP_PROCESSOR__ISOLATION_TIMEOUT_MS": "5000",
            "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "500",
            "LOCKSTEP_COORDINATOR__SWEEP_INTERVAL_MS": "3000",
            "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MS": "50",
            "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MAX_MS": "400",
            "LOCKSTEP_PUBLISHER__KEEP_RECORDS": "5",
            "LOCKSTEP_PUBLISHER__TRIM_INTERVAL_MS": "1500",
            "LOCKSTEP_PUBLISHER__BATCH_MAX_ROWS": "20",
            "LOCKSTEP_SERVER__DRAIN_TIMEOUT_MS": "3000",
        }
    )


@dataclass
class Surroundings:
    """What all nodes share."""

    loop: VirtualLoop
    network: Network
    aside: Network
    carrier: SimCarrier
    board: Switchboard
    table: RecordedTable
    store: StoreServer
    database: Database
    folds: Folds
    replicas: int


class SimOffload:
    """Work takes time, before and after it has its effect; a slow host's more."""

    def __init__(self, surroundings: Surroundings, clock: HostClock, pace: Pace) -> None:
        self._random = surroundings.network.random
        self._clock = clock
        self._pace = pace

    async def run(self, work: Callable[[], T]) -> T:
        """See Offload."""
        cost_ms = self._random.uniform(*WORK_MS) * self._pace.factor
        await self._clock.sleep_ms(round(cost_ms / 2))
        result = work()
        await self._clock.sleep_ms(round(cost_ms / 2))
        return result

    def close(self) -> None:
        """Nothing to give back."""


@dataclass
class Pace:
    """How many times slower than usual a host works."""

    factor: float = 1.0


class SimNode:
    """A process from its start to its end; a restarted one is another."""

    def __init__(self, around: Surroundings, name: str, *, seed: str, skew_ms: int) -> None:
        self.name = name
        self.service = name.rsplit("-", 1)[0]
        self.host = Host(name)
        self.clock = HostClock(around.loop, EPOCH_MS)
        self.clock.skew_ms = skew_ms
        self.pace = Pace()
        self.bus = SimBus(around.network, self.host, around.carrier, around.board)
        self._around = around
        randomness = SeededRandomness(int.from_bytes(seed.encode(), "big"))
        leases = SimLeases(
            around.network, around.aside, self.host, around.table, self.clock, randomness
        )
        self.process_id = leases.process
        store = SimStore(around.network, self.host, around.store)
        world = World(self._any(self.bus), leases, self._any(store))
        base = base_settings()
        server = base.server.model_copy(update={"node": name})
        wanted = base.coordinator.model_copy(update={"replicas": around.replicas})
        settings = base.model_copy(update={"server": server, "coordinator": wanted})
        offload = SimOffload(around, self.clock, self.pace)
        self.process = self.host.context.copy().run(
            partial(
                Process, settings, world, self.clock, randomness, offload=offload, make_door=SimDoor
            )
        )
        self.parts: Service = self.process.add(self.service, self._wire(around))
        self.started = self._spawn(self._start())

    @property
    def door(self) -> SimDoor:
        """Where requests come in."""
        door: Any = self.process._door
        assert isinstance(door, SimDoor)
        return door

    @property
    def lives(self) -> bool:
        """Not crashed and not stopped."""
        return not self.host.dead

    async def _start(self) -> None:
        """What cannot start stops in good order."""
        try:
            await self.process.start()
        except LockstepError:
            await self.process.stop()
            raise

    def stop(self) -> Any:
        """In good order; a task."""
        return self._spawn(self.process.stop())

    def _spawn(self, work: Any) -> Any:
        task = self._around.loop.create_task(work, context=self.host.context.copy())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    def _wire(self, around: Surroundings) -> Callable[[Context], Service]:
        def offload(_name: str) -> SimOffload:
            return SimOffload(around, self.clock, self.pace)

        match self.service:
            case "processor":
                executors = NodeExecutors(around.folds, self.name)
                return lambda context: Processor(context, executors, offload)
            case "publisher":
                connections: Any = SimConnections(around.network, self.host, around.database)
                return lambda context: Publisher(context, lambda *_args, **_more: connections)
            case "receiver":
                return receiver
            case "coordinator":
                return coordinator
        return presenter

    @staticmethod
    def _any(there: Any) -> Any:
        return there
