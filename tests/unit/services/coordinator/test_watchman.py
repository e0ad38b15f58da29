"""When the leading coordinator levels processors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any

from lockstep.clock import VirtualClock
from lockstep.control import Command, CommandAnswer, GroupStatus, Heartbeat
from lockstep.settings import load_settings
from lockstep.store import Origin
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.coordinator.handing import HandOvers
from lockstep_services.coordinator.led_units import LedUnits
from lockstep_services.coordinator.surveying import Survey
from lockstep_services.coordinator.troubles import Troubles
from lockstep_services.coordinator.watchman import Watchman

AFTER_MS = 5_000


class Desired:
    """Two apps of one replica, both on the node a; b has just joined."""

    def __init__(self) -> None:
        self.placed: dict[str, list[str]] = {"x": ["a"], "y": ["a"]}
        self.layouts = self
        self.obstacles = SimpleNamespace()

    async def list(self) -> Any:
        """Their deployments."""
        return [
            SimpleNamespace(app=app, replicas=1, layout=0, origin=Origin()) for app in ("x", "y")
        ]

    async def wanted(self, one: Any) -> Any:
        """The units."""
        return [one.app]

    def keep(self, apps: Collection[str]) -> None:
        """Layouts are not remembered."""

    async def hears(self) -> bool:
        """The bus answers."""
        return True

    async def drained(self) -> Any:
        """None."""
        return []

    async def placements(self) -> Any:
        """As last placed."""
        return dict(self.placed)

    async def place(self, app: str, nodes: Any) -> bool:
        """Noted."""
        self.placed[app] = [*nodes]
        return True

    async def nudge(self) -> None:
        """Nobody listens."""

    async def silent(self, deployments: Any) -> Any:
        """None: all apps tell how they are."""
        return []


def watchman(desired: Desired, clock: VirtualClock, joined: Sequence[Heartbeat] = ()) -> Watchman:
    """With both nodes alive, and what `joined` says, and everything ready."""

    def alive(_service: str) -> list[Heartbeat]:
        groups = tuple(
            GroupStatus(app, "main", 0, "v", 1, "active", 0, 0, ready=True) for app in ("x", "y")
        )
        return [
            Heartbeat("a", "processor", "", 0, 1_000, groups=groups),
            Heartbeat("b", "processor", "", 0, 1_000),
            *joined,
        ]

    async def ask(_unit: str, _command: Command) -> CommandAnswer:
        return CommandAnswer(True, "done")

    key = "LOCKSTEP_COORDINATOR__REBALANCE_AFTER_MS"
    settings = load_settings({key: str(AFTER_MS)}).coordinator
    watch: Any = SimpleNamespace(alive=alive)
    there: Any = desired
    troubles = Troubles(clock, get_logger())
    any_lease: Any = SimpleNamespace(held=True)
    return Watchman(
        there, Survey(there, there, watch, settings, troubles, clock, there.hears), there,
        HandOvers(ask, Metrics(), get_logger(), max_moves=1), LedUnits(there, Metrics()),
        any_lease, there, clock, settings, Metrics(), get_logger(),
    )  # fmt: skip


async def test_processors_are_levelled_when_they_stay_uneven() -> None:
    """Not at once, and not by who does not know yet who is silent."""
    desired, clock = Desired(), VirtualClock()
    leading = watchman(desired, clock)
    await leading.round(knows_silence=True)
    await clock.advance_ms(AFTER_MS)
    await leading.round(knows_silence=False)
    assert desired.placed == {"x": ["a"], "y": ["a"]}
    await leading.round(knows_silence=True)
    assert desired.placed == {"x": ["b", "a"], "y": ["a"]}


async def test_what_was_levelled_rests() -> None:
    """Measured loads swing: what comes back is not moved again at once, unless somebody asks."""
    desired, clock = Desired(), VirtualClock()
    leading = watchman(desired, clock)
    await leading.round(knows_silence=True)
    await clock.advance_ms(AFTER_MS)
    await leading.round(knows_silence=True)
    assert desired.placed["x"] == ["b", "a"]
    desired.placed = {"x": ["a"], "y": ["a"]}
    await leading.round(knows_silence=True)
    assert desired.placed == {"x": ["a"], "y": ["b", "a"]}
    desired.placed = {"x": ["a"], "y": ["a"]}
    await clock.advance_ms(AFTER_MS)
    await leading.round(knows_silence=True)
    assert desired.placed == {"x": ["a"], "y": ["a"]}
    leading.rebalance()
    await leading.round(knows_silence=True)
    assert desired.placed["x"] == ["b", "a"]


async def test_a_processor_that_joins_need_not_wait_for_rests() -> None:
    """It gets its share as soon as processors have been uneven for long enough."""
    desired, clock, joined = Desired(), VirtualClock(), list[Heartbeat]()
    leading = watchman(desired, clock, joined)
    await leading.round(knows_silence=True)
    await clock.advance_ms(AFTER_MS)
    await leading.round(knows_silence=True)
    desired.placed = {"x": ["a"], "y": ["a"]}
    await leading.round(knows_silence=True)
    desired.placed = {"x": ["a"], "y": ["a"]}
    await clock.advance_ms(AFTER_MS)
    await leading.round(knows_silence=True)
    assert desired.placed == {"x": ["a"], "y": ["a"]}
    joined.append(Heartbeat("c", "processor", "", 0, 1_000))
    await leading.round(knows_silence=True)
    await clock.advance_ms(AFTER_MS)
    await leading.round(knows_silence=True)
    assert desired.placed == {"x": ["b", "a"], "y": ["a"]}


async def test_somebody_asks_for_it() -> None:
    """Then at once."""
    desired = Desired()
    leading = watchman(desired, VirtualClock())
    leading.rebalance()
    await leading.round(knows_silence=True)
    assert desired.placed["x"] == ["b", "a"]
