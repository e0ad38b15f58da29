"""The leading coordinator's round: who lives, what is wanted, what has to move.

A new leader first listens for as long as a silent processor is believed to live, so that it does
not take apps from processors that it merely has not heard of yet.
"""

from __future__ import annotations

from lockstep.clock import Clock
from lockstep.control import HeartbeatWatch, unit_label
from lockstep.frame import LeaseKeeper
from lockstep.settings import CoordinatorSettings
from lockstep.telemetry import Logger, Metrics
from lockstep_services.coordinator.desired import DesiredState, Epoch
from lockstep_services.coordinator.placement import Reason, Wanted, decide

HELD_WAIT_MS = 1_000


class Watchman:
    """`run` in a supervised task."""

    def __init__(
        self,
        desired: DesiredState,
        watch: HeartbeatWatch,
        keeper: LeaseKeeper,
        epoch: Epoch,
        clock: Clock,
        settings: CoordinatorSettings,
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._desired = desired
        self._watch = watch
        self._keeper = keeper
        self._epoch = epoch
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log

    async def run(self) -> None:
        """Leads whenever the lease is held; until cancelled."""
        while True:
            self._metrics.set("lockstep_coordinator_leading", 1 if self._keeper.held else 0)
            if not await self._keeper.wait_held(HELD_WAIT_MS):
                continue
            self._epoch.begin(self._clock.now_ms())
            began_ms = self._clock.monotonic_ms()
            self._log.info("leading", epoch=self._epoch.number)
            while self._keeper.held:
                await self.round(self._knows_silence(began_ms))
                await self._clock.sleep_ms(self._settings.heartbeat_interval_ms)

    async def round(self, knows_silence: bool) -> None:
        """Decides and writes what has to change."""
        alive = [beat.node for beat in self._watch.alive("processor") if not beat.draining]
        deployments = await self._desired.list()
        for one in deployments:
            if one.layout:  # whoever wanted it may have gone before it could say so
                await self._desired.layouts.announce(one)
        placements = await self._desired.placements()
        self._metrics.set("lockstep_coordinator_processors_alive", len(alive))
        self._metrics.set("lockstep_coordinator_apps", len(deployments), state="desired")
        believed = alive
        if not knows_silence:
            believed = [*alive, *(node for nodes in placements.values() for node in nodes)]
        wanted = [
            Wanted(unit, one.replicas)
            for one in deployments
            for unit in await self._desired.layouts.wanted(one)
        ]
        changes = decide(believed, wanted, placements, min_processors=self._settings.min_processors)
        for change in changes:
            if not self._keeper.held:
                return
            if await self._desired.place(change.app, change.nodes):
                self._metrics.count(
                    "lockstep_coordinator_placements_total", reason=change.reason.value
                )
                level = self._log.warning if change.reason is Reason.NODE_LOST else self._log.info
                level(
                    "placed",
                    unit=unit_label(change.app),
                    nodes=list(change.nodes),
                    reason=change.reason.value,
                )
        if changes:
            await self._desired.nudge()

    def _knows_silence(self, began_ms: int) -> bool:
        settings = self._settings
        patience_ms = settings.heartbeat_interval_ms * (settings.heartbeat_max_retry + 1)
        return self._clock.monotonic_ms() - began_ms >= patience_ms
