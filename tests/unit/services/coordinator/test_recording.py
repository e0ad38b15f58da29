"""What the leading coordinator keeps of figures: while the store is away, over changes of the term,
and as time passes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from lockstep.clock import VirtualClock
from lockstep.control import GroupStatus, Heartbeat
from lockstep.events import UnavailableError
from lockstep.settings import CoordinatorSettings, load_settings
from lockstep.store import FigureRow, Grain, Stale, Written
from lockstep.store.figures import unpacked
from lockstep.store.memory import MemoryStore
from lockstep.store.memory.figures import MemoryFigures
from lockstep.store.memory.store import MemoryShelf
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.coordinator.desired import Epoch
from lockstep_services.coordinator.recording import Recording
from lockstep_services.coordinator.takeovers import NOBODY_LISTENED, Takeovers

MINUTE_MS = 60_000
SETTINGS = {
    "LOCKSTEP_COORDINATOR__FIGURES_KEEP_MS": "600000",
    "LOCKSTEP_COORDINATOR__FIGURES_COARSE_KEEP_MS": "1800000",
    "LOCKSTEP_COORDINATOR__FIGURES_MAX_WAITING_ROWS": "4",
}


class Away(MemoryFigures):
    """A store that can be away."""

    is_away = False

    async def add(self, grain: Grain, rows: Sequence[FigureRow], *, epoch: int) -> Written | Stale:
        """As the memory adapter, while it is there."""
        if self.is_away:
            raise UnavailableError("away")
        return await super().add(grain, rows, epoch=epoch)


class Inline:
    """Work at once."""

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result."""
        return work()

    def close(self) -> None:
        """Nothing runs."""


class Scene:
    """One coordinator with a virtual clock, and one app that somebody leads."""

    def __init__(self, shelf: MemoryShelf | None = None) -> None:
        self.shelf = shelf or MemoryShelf()
        self.clock = VirtualClock()
        self.store = MemoryStore(self.shelf)
        self.figures = Away(self.shelf.figures, self.shelf.passes)
        self.store.figures = self.figures
        self.metrics = Metrics()
        self.held = True
        self.epoch = Epoch()
        self.group = GroupStatus("x", "main", 0, "v", 5, "active", 0, 0, epoch=1, events_per_s=7)
        self.node = "a"
        settings: CoordinatorSettings = load_settings(SETTINGS).coordinator
        self.takeovers = Takeovers(settle_ms=0, max_waiting=100)
        self.recording = Recording(
            self.store, self, self.takeovers, self, self.epoch,  # type: ignore[arg-type]
            self.clock, settings, Inline(), self.metrics, get_logger(),
        )  # fmt: skip

    def alive(self, service: str) -> list[Heartbeat]:
        """One processor."""
        beat = Heartbeat(self.node, "processor", "", 0, 1_000, groups=(self.group,))
        return [beat] if service == "processor" else []

    def hear(self) -> None:
        """Its heartbeat."""
        (beat,) = self.alive("processor")
        self.takeovers.hear(beat, self.clock.now_ms(), self.clock.monotonic_ms())

    async def passes(self, milliseconds: int) -> None:
        """So much time."""
        for _ in range(0, milliseconds, 1_000):
            await self.clock.advance_ms(1_000)

    async def times(self, grain: Grain = Grain.FINE) -> list[int]:
        """Of what is kept of the app."""
        rows = await MemoryStore(self.shelf).figures.read(grain, ["x"], 0, 10**15)
        return [one.at_ms for one in rows]

    def value(self, name: str) -> float:
        """Of a metric, all labels together."""
        lines = self.metrics.render().decode().splitlines()
        return sum(float(one.split()[-1]) for one in lines if one.startswith(name))


async def running(scene: Scene) -> asyncio.Task[None]:
    """It runs from now on."""
    task = asyncio.create_task(scene.recording.run())
    await scene.clock.advance_ms(0)
    return task


async def test_samples_come_at_whole_intervals_once_all_was_heard() -> None:
    """So two coordinators in turn leave the samples of one."""
    scene = Scene()
    await scene.clock.advance_ms(7_300)
    task = await running(scene)
    await scene.passes(23_000)
    assert await scene.times() == [20_000, 30_000]
    (row, _) = await scene.figures.read(Grain.FINE, ["x"], 0, 10**9)
    assert unpacked(row.span).mean.events_per_s == 7
    task.cancel()


async def test_a_coordinator_without_the_term_writes_nothing() -> None:
    """Nor does one whose epoch was passed over, until it goes beyond that."""
    scene = Scene()
    scene.held = False
    task = await running(scene)
    scene.hear()
    await scene.passes(30_000)
    assert await scene.times() == []
    assert await scene.store.failovers.last() == []
    scene.held = True
    scene.shelf.epoch = 9
    await scene.passes(30_000)
    assert await scene.times() == [40_000, 50_000, 60_000]
    assert scene.epoch.number == 10
    assert [one.to_node for one in await scene.store.failovers.last()] == ["a"]
    task.cancel()


async def test_samples_wait_for_the_store_up_to_a_limit() -> None:
    """The newest are kept, in order; what was lost is counted."""
    scene = Scene()
    task = await running(scene)
    scene.figures.is_away = True
    await scene.passes(41_000)
    assert await scene.times() == []
    assert scene.value("lockstep_coordinator_figures_waiting") == 4
    await scene.passes(20_000)
    assert scene.value("lockstep_coordinator_figures_lost_total") == 2
    scene.figures.is_away = False
    await scene.passes(2_000)
    assert await scene.times() == [30_000, 40_000, 50_000, 60_000]
    assert scene.value("lockstep_coordinator_figures_waiting") == 0
    task.cancel()


async def test_what_waits_when_the_term_ends_is_lost_and_counted() -> None:
    """Its epoch is over: the next one samples by itself."""
    scene = Scene()
    task = await running(scene)
    scene.figures.is_away = True
    await scene.passes(21_000)
    scene.held = False
    await scene.passes(2_000)
    assert scene.value("lockstep_coordinator_figures_lost_total") == 2
    scene.held, scene.figures.is_away = True, False
    await scene.passes(10_000)
    assert await scene.times() == [30_000]
    task.cancel()


async def test_samples_become_coarse_and_go() -> None:
    """Fine ones stay for ten minutes here, coarse ones for thirty; each stands for five."""
    scene = Scene()
    task = await running(scene)
    await scene.passes(61 * MINUTE_MS)
    fine, coarse = await scene.times(), await scene.times(Grain.COARSE)
    assert fine[0] == 50 * MINUTE_MS
    assert coarse == [minute * MINUTE_MS for minute in range(30, 60, 5)]
    rows = await scene.figures.read(Grain.COARSE, ["x"], 0, 10**9)
    assert {unpacked(row.span).mean.events_per_s for row in rows} == {7}
    task.cancel()


async def test_the_next_coordinator_makes_coarse_what_the_last_one_sampled() -> None:
    """A change in the middle of a span costs nothing of it, and one between none."""
    scene = Scene()
    task = await running(scene)
    await scene.passes(7 * MINUTE_MS)
    task.cancel()
    later = Scene(scene.shelf)
    await later.clock.advance_ms(8 * MINUTE_MS)
    later.group = GroupStatus("x", "main", 0, "v", 5, "active", 0, 0, epoch=1, events_per_s=19)
    task = await running(later)
    await later.passes(3 * MINUTE_MS)
    rows = await later.figures.read(Grain.COARSE, ["x"], 0, 10**9)
    assert [row.at_ms for row in rows] == [0, 5 * MINUTE_MS]
    last = unpacked(rows[-1].span)
    assert (7 < last.mean.events_per_s < 19, last.most.events_per_s) == (True, 19)
    task.cancel()


async def test_a_leader_that_changed_while_no_coordinator_listened_is_noted() -> None:
    """From what the store knows; how long nobody led is not made up."""
    scene = Scene()
    task = await running(scene)
    scene.hear()
    await scene.passes(2_000)
    task.cancel()
    later = Scene(scene.shelf)
    later.node = "b"
    later.group = GroupStatus("x", "main", 0, "v", 5, "active", 0, 0, epoch=3)
    task = await running(later)
    later.hear()
    await later.passes(2_000)
    (found,) = await later.store.failovers.read(0, 10**9, limit=9)
    assert (found.from_node, found.to_node, found.epoch) == ("a", "b", 3)
    assert (found.why, found.planned, found.gap_ms) == (NOBODY_LISTENED, None, None)
    task.cancel()
