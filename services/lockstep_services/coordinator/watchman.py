"""The leading coordinator's round: who lives, what is wanted, what has to move.

A new leader first listens for as long as a silent processor is believed to live, so that it does
not take apps from processors that it merely has not heard of yet. Until then it moves nothing.
"""

from __future__ import annotations

from dataclasses import replace

from lockstep.clock import Clock
from lockstep.control import PastStatus, unit_label
from lockstep.events import LockstepError
from lockstep.frame import LeaseKeeper
from lockstep.settings import CoordinatorSettings
from lockstep.telemetry import Logger, Metrics
from lockstep_services.coordinator.board import Facts, Reason
from lockstep_services.coordinator.calling_off import CallingOff
from lockstep_services.coordinator.desired import DesiredState, Epoch
from lockstep_services.coordinator.excluding import Blocked, undecided
from lockstep_services.coordinator.handing import HandOvers
from lockstep_services.coordinator.led_units import LedUnits
from lockstep_services.coordinator.pasts import failed
from lockstep_services.coordinator.placement import Decision, Placed, decide, unready
from lockstep_services.coordinator.resting import Resting
from lockstep_services.coordinator.surveying import Survey
from lockstep_services.coordinator.versions import ITSELF

HELD_WAIT_MS = 1_000


class Watchman:
    """`run` in a supervised task."""

    def __init__(
        self,
        desired: DesiredState,
        survey: Survey,
        calling_off: CallingOff,
        hand_overs: HandOvers,
        led_units: LedUnits,
        keeper: LeaseKeeper,
        epoch: Epoch,
        clock: Clock,
        settings: CoordinatorSettings,
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._desired = desired
        self._survey = survey
        self._calling_off = calling_off
        self._hand_overs = hand_overs
        self._led_units = led_units
        self._keeper = keeper
        self._epoch = epoch
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._uneven_ms: int | None = None
        self._resting = Resting(settings.rebalance_rest_ms)
        self._is_asked = False

    def rebalance(self) -> None:
        """Somebody wants the processors to be levelled now, however little they differ."""
        self._is_asked = True

    async def run(self) -> None:
        """Leads whenever the lease is held; until cancelled."""
        self._metrics.set("lockstep_coordinator_leading", 0)
        try:
            while True:
                if await self._keeper.wait_held(HELD_WAIT_MS):
                    await self._lead()
        finally:
            await self._hand_overs.cancel()

    async def _lead(self) -> None:
        self._epoch.begin(self._clock.now_ms())
        began_ms = self._clock.monotonic_ms()
        self._uneven_ms = None
        self._log.info("leading", epoch=self._epoch.number)
        self._metrics.set("lockstep_coordinator_leading", 1)
        try:
            while self._keeper.held:
                await self.round(self._knows_silence(began_ms))
                await self._clock.sleep_ms(self._settings.heartbeat_interval_ms)
        finally:  # also of a task that is started again after an error
            self._metrics.set("lockstep_coordinator_leading", 0)
            # What it knew of the others is its successor's to say.
            self._metrics.clear("lockstep_coordinator_processors_alive")
            self._metrics.clear("lockstep_coordinator_apps")
            self._led_units.clear()

    async def round(self, knows_silence: bool) -> None:
        """Decides and writes what has to change."""
        self._desired.layouts.obstacles.knows_silence = knows_silence
        deployments = await self._desired.list()
        await self._survey.announce(deployments)
        groups = [group for beat in self._survey.beats for group in beat.groups]
        for blocked in undecided(deployments, groups):
            await self._exclude(blocked)
        for app, past in failed(deployments, groups):
            await self._call_off(app, past)
        placed = (await self._desired.placements()).values()
        self._metrics.set("lockstep_coordinator_processors_alive", len(self._survey.beats))
        self._metrics.set("lockstep_coordinator_apps", len(deployments), state="desired")
        believed = () if knows_silence else (node for nodes in placed for node in nodes)
        facts = await self._survey.facts(deployments, believed=believed)
        decision = self._decided(facts, knows_silence)
        for change in decision.placed:
            if not self._keeper.held:
                return
            await self._place(change)
        if decision.placed:
            await self._desired.nudge()
        self._hand_overs.begin(decision.hand_overs)
        if knows_silence:  # else whoever leads may not have been heard yet
            await self._led_units.see(deployments, facts)

    async def _exclude(self, blocked: Blocked) -> None:
        if self._desired.one_at_a_time(blocked.app).locked():
            return  # somebody is just changing it, which may take seconds: looked at again
        try:
            await self._desired.renew(
                blocked.app, blocked.excluding, "a position is set aside: workers die of it",
                group=blocked.group, partition=str(blocked.partition), position=blocked.position,
            )  # fmt: skip
        except LockstepError as error:  # undeployed meanwhile, or changed: looked at again
            self._log.warning("not set aside", app=blocked.app, why=error.message)

    async def _call_off(self, app: str, past: PastStatus) -> None:
        if self._desired.one_at_a_time(app).locked():
            return  # likewise
        try:
            await self._calling_off.call_off(app, past.why, purge=False, who=ITSELF)
        except LockstepError as error:  # somebody else has, or it is undeployed
            self._log.warning("past not called off", app=app, why=error.message)

    def _decided(self, facts: Facts, knows_silence: bool) -> Decision:
        """Levelling waits until processors have been uneven for a while: what just joined or was
        just deployed is still finding its place."""
        asked = self._is_asked and knows_silence
        now_ms = self._clock.monotonic_ms()
        self._resting.see((node.name for node in facts.nodes if not node.is_drained), now_ms)
        if not asked:
            facts = replace(facts, staying=facts.staying | self._resting.at(now_ms))
        decision = decide(facts, self._survey.rules(may_move=knows_silence, at_once=asked))
        if knows_silence and not decision and not unready(facts):
            self._uneven_ms, self._is_asked = None, False
        if asked or not decision.levels:
            return decision
        if self._uneven_ms is None:
            self._uneven_ms = now_ms
        if now_ms - self._uneven_ms >= self._settings.rebalance_after_ms:
            self._resting.note(decision.levelled, now_ms)
            return decision
        return decide(facts, self._survey.rules(may_move=knows_silence, may_level=False))

    async def _place(self, change: Placed) -> None:
        if await self._desired.place(change.app, change.nodes):
            reason = change.reason.value
            self._metrics.count("lockstep_coordinator_placements_total", reason=reason)
            level = self._log.warning if change.reason is Reason.NODE_LOST else self._log.info
            level("placed", unit=unit_label(change.app), nodes=list(change.nodes), reason=reason)

    def _knows_silence(self, began_ms: int) -> bool:
        settings = self._settings
        patience_ms = settings.heartbeat_interval_ms * (settings.heartbeat_max_retry + 1)
        return self._clock.monotonic_ms() - began_ms >= patience_ms
