"""The intakes of all apps: one per input log, begun anew when an app was deployed anew, and ended
when it is undeployed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from lockstep.bus import Bus
from lockstep.clock import Clock, Randomness
from lockstep.control import AppView
from lockstep.events import Position
from lockstep.events.codec import Index
from lockstep.fleet.indexing import KeyIndex
from lockstep.fleet.units import UnitPlan
from lockstep.frame import Tasks
from lockstep.settings import Settings
from lockstep.telemetry import NO_TRACES, Traces
from lockstep_services.receiver.intake import Intake, ended, stopping
from lockstep_services.receiver.submissions import IntakeLimits

RECORD_MARGIN_BYTES: Final = 4_096
EARLIER_POLL_MS: Final = 20

Known = tuple[int, Intake, AppView]
"""When its app was deployed, and as what it is known."""


class Intakes:
    """Looked up by app."""

    def __init__(
        self,
        bus: Bus,
        deployed: Callable[[str], AppView | None],
        tasks: Tasks,
        clock: Clock,
        randomness: Randomness,
        settings: Settings,
        traces: Traces = NO_TRACES,
    ) -> None:
        """`deployed`: an app as it is now, by name."""
        self._traces = traces
        self._bus = bus
        self._deployed = deployed
        self._tasks = tasks
        self._clock = clock
        self._randomness = randomness
        self._limits = IntakeLimits(
            settings.bus.max_message_bytes - RECORD_MARGIN_BYTES,
            settings.receiver.max_event_batch,
            settings.receiver.append_max_wait_ms,
            settings.receiver.max_appends_abreast,
        )
        self._intakes: dict[str, Known] = {}
        self._ending: list[Known] = []
        self._is_closed = False

    def of(self, view: AppView) -> Intake:
        """The intake of an app's log. UnavailableError where the app is gone or has another log by
        now, or where this receiver ends."""
        if self._is_closed:
            raise stopping()
        now = self._deployed(view.name)
        if now is None or not now.is_of(view.deployment.life):
            raise ended()
        deployed_ms = view.deployment.life.deployed_ms
        known = self._intakes.get(view.name)
        if known is not None and known[0] == deployed_ms:
            if known[2] is not view:
                _fit(known[1], view)
                self._intakes[view.name] = deployed_ms, known[1], view
            return known[1]
        if known is not None:
            self._end(*known)
        # Deployed anew: its log may have been removed meanwhile and has to be opened again.
        open_log = partial(self._bus.input_log, view.log, make=False)
        intake = Intake(
            open_log, self._clock, self._randomness.uuid_hex, self._limits, self._traces
        )
        _fit(intake, view)
        this = view.name, deployed_ms
        earlier = [one for since_ms, one, of in self._ending if (of.name, since_ms) == this]
        name = self._free_name(f"intake-{view.name}-{deployed_ms}")
        # Known once it runs, not before: nobody would append what is submitted to it.
        self._tasks.supervise(name, partial(self._run, intake, earlier))
        self._intakes[view.name] = (deployed_ms, intake, view)
        return intake

    def _free_name(self, name: str) -> str:
        """For a task. Under the name itself an intake that was ended may still append."""
        running, number, free = self._tasks.names, 1, name
        while free in running:
            number += 1
            free = f"{name}-{number}"
        return free

    async def _run(self, intake: Intake, earlier: Sequence[Intake]) -> None:
        """Behind those of the same deployment that were ended: where a catalogue has missed an app
        for a moment, what was taken before still stands in front."""
        while not all(one.is_idle for one in earlier):
            await self._clock.sleep_ms(EARLIER_POLL_MS)
        await intake.run()

    def keep(self, apps: Collection[str]) -> None:
        """Ends those of all other apps: they are not deployed any more."""
        for app in [one for one in self._intakes if one not in apps]:
            self._end(*self._intakes.pop(app))
        self._ending = [one for one in self._ending if not one[1].is_idle]

    def _end(self, deployed_ms: int, intake: Intake, view: AppView) -> None:
        intake.end()
        self._ending.append((deployed_ms, intake, view))

    def last_position(self, app: str) -> Position:
        """The furthest position this process appended at."""
        known = self._intakes.get(app)
        return 0 if known is None else known[1].appender.last_position

    @property
    def is_idle(self) -> bool:
        """Nothing waits to become durable."""
        return all(intake.is_idle for intake in self._all)

    def close(self) -> None:
        """Refuses what still waits, and what comes from now on."""
        self._is_closed = True
        for intake in self._all:
            intake.close()

    @property
    def _all(self) -> list[Intake]:
        return [intake for _, intake, _ in (*self._intakes.values(), *self._ending)]


def _fit(intake: Intake, view: AppView) -> None:
    """To the app as it is deployed now."""
    intake.appender.index = _index_of(view)
    intake.appender.begins_behind = view.deployment.origin.position


def _index_of(view: AppView) -> Index | None:
    """What finds the key groups of an app's events; None where no partition asks for them."""
    firsts = [unit for unit in view.cut if not unit.partition]
    if not any(unit.group.partitions > 1 for unit in firsts):
        return None
    return KeyIndex(UnitPlan(unit.whole, unit.group, unit.plan) for unit in firsts).of
