"""A leading coordinator's parts over memory, with two processors that are heard of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.control import Command, CommandAnswer, GroupStatus, Heartbeat
from lockstep.frame.offload import InlineOffload
from lockstep.plan import Plans
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from lockstep.store.memory.store import MemoryShelf
from lockstep.telemetry import Logger, Metrics, get_logger
from lockstep_services.coordinator.app_logs import AppLogs
from lockstep_services.coordinator.calling_off import CallingOff
from lockstep_services.coordinator.desired import Deployed, DesiredState, Epoch
from lockstep_services.coordinator.draining import Drains
from lockstep_services.coordinator.handing import HandOvers
from lockstep_services.coordinator.layouts import Layouts
from lockstep_services.coordinator.led_units import LedUnits
from lockstep_services.coordinator.levels import Levels
from lockstep_services.coordinator.obstacles import Obstacles
from lockstep_services.coordinator.pasts import Pasts
from lockstep_services.coordinator.sinks import Sinks
from lockstep_services.coordinator.surveying import Survey
from lockstep_services.coordinator.troubles import Troubles
from lockstep_services.coordinator.watchman import Watchman

CUT = (
    "@app:name('{app}') define stream S (k string, v int);"
    " partition with (k of S) begin from S select k, sum(v) as t insert into O; end;"
)
"""An app that is one unit unless somebody wants it cut."""


class Scene:
    """`beats`: who is heard of. `shelf`: of the store, where another coordinator has it, too."""

    def __init__(self, log: Logger | None = None, shelf: MemoryShelf | None = None) -> None:
        clock, log = VirtualClock(10_000), log or get_logger()
        self.clock = clock
        self.shelf = shelf or MemoryShelf()
        self.store, self.bus = MemoryStore(self.shelf), MemoryBus(MemoryCarrier(clock))
        self.settings = load_settings({}).coordinator
        self.beats = [Heartbeat(name, "processor", "", 0, 1_000) for name in ("n1", "n2")]
        watch: Any = SimpleNamespace(alive=self.alive, groups=self.groups)
        self.epoch = Epoch()
        self.epoch.begin(clock.now_ms())
        offload, plans = InlineOffload(), Plans()
        self.logs = AppLogs(self.store, self.bus, clock, log, lambda _app: False)
        self.pasts = Pasts(None, offload, self.bus, self.store.revisions, watch)
        obstacles = Obstacles(
            self.bus, watch, self.store, min_processors=self.settings.min_processors
        )
        self.layouts = Layouts(
            self.bus, offload, plans, obstacles, self.store.revisions, clock, log
        )
        self.desired = DesiredState(
            self.store, self.bus, clock, self.settings, self.epoch, log, offload, plans,
            self.logs, self.layouts, self.pasts, Sinks(offload, plans, watch),
        )  # fmt: skip
        drains, troubles = Drains(self.store, self.epoch, log), Troubles(clock, log)
        self.survey = Survey(
            self.desired, drains, watch, self.settings, troubles, clock, self.bus.healthy
        )
        self.calling_off = CallingOff(
            self.desired, self.pasts, self.store, self.epoch, clock, log, versions_keep=3
        )
        lease: Any = SimpleNamespace(held=True)
        self.metrics = Metrics()
        self.levels = Levels(self.store, self.desired, self.epoch, log)
        self.led_units = LedUnits(self.levels, self.metrics)
        self.watchman = Watchman(
            self.desired, self.survey, self.calling_off,
            HandOvers(_ask, Metrics(), log, max_moves=1), self.led_units, lease, self.epoch, clock,
            self.settings, self.metrics, log,
        )  # fmt: skip

    def alive(self, service: str) -> list[Heartbeat]:
        """The heartbeats of a service."""
        return [one for one in self.beats if one.service == service]

    def groups(self, app: str) -> list[tuple[Heartbeat, GroupStatus]]:
        """What processors say about an app."""
        processors = self.alive("processor")
        return [(beat, one) for beat in processors for one in beat.groups if one.app == app]

    async def deploy(self, app: str, parallel: int | None = None, text: str = CUT) -> Deployed:
        """As somebody asks for it."""
        return await self.desired.deploy(text.format(app=app), {}, parallel, who="ann")

    async def placed(self) -> dict[str, list[str]]:
        """By app and unit, in order."""
        found = await self.store.deployments.placements()
        return {unit: sorted(nodes) for unit, nodes in sorted(found.items())}


async def _ask(_unit: str, _command: Command) -> CommandAnswer:
    return CommandAnswer(True, "done")
