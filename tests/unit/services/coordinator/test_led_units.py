"""Which units somebody leads, as the leading coordinator's metrics have it."""

from __future__ import annotations

import pytest

from lockstep.control import GroupStatus, Heartbeat
from lockstep.plan import AppPlan
from lockstep.siddhiql.catalogue.installed import InstalledError
from lockstep.telemetry import Level
from tests.unit.services.coordinator.scenes import Scene

LED = "lockstep_coordinator_unit_led"
TEXT = "@app:name('{app}') define stream S (v int); from S select v insert into O;"
SILENT = "@app:statistics('OFF') " + TEXT


def shown(scene: Scene) -> dict[str, float]:
    """By app, group and partition, as the page has it."""
    lines = scene.metrics.render().decode().splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if line.startswith(LED))
    return {name.removeprefix(LED): float(value) for name, value in found.items()}


def leader_of(*apps: str, group: str = "main") -> Heartbeat:
    """A processor that leads them."""
    groups = tuple(GroupStatus(app, group, 0, "v", 1, "active", 0, 0, ready=True) for app in apps)
    return Heartbeat("n1", "processor", "", 0, 1_000, groups=groups)


async def test_an_app_that_no_processor_carries_is_one_that_nobody_leads() -> None:
    """Its processors are away or drained: there is no replica that could tell of it."""
    scene = Scene()
    scene.beats = []
    await scene.deploy("A", text=TEXT)
    await scene.watchman.round(True)
    assert await scene.placed() == {}
    assert shown(scene) == {'{app="A",group="main",partition="0"}': 0}


async def test_a_unit_that_is_led_and_one_that_is_not() -> None:
    """Each for itself; an undeployed one is shown no more."""
    scene = Scene()
    for app in ("A", "B"):
        await scene.deploy(app, text=TEXT)
    scene.beats = [leader_of("A")]
    await scene.watchman.round(True)
    assert shown(scene) == {
        '{app="A",group="main",partition="0"}': 1,
        '{app="B",group="main",partition="0"}': 0,
    }
    await scene.desired.undeploy("A", purge=False)
    await scene.watchman.round(True)
    assert shown(scene) == {'{app="B",group="main",partition="0"}': 0}


async def test_every_unit_of_a_fleet_is_shown() -> None:
    """By its group and partition."""
    scene = Scene()
    await scene.deploy("F", parallel=2)
    await scene.watchman.round(True)
    assert len(shown(scene)) >= 2
    assert set(shown(scene).values()) == {0}


async def test_who_has_not_listened_for_long_says_nothing() -> None:
    """Nor does who leads no more."""
    scene = Scene()
    await scene.deploy("A", text=TEXT)
    await scene.watchman.round(False)
    assert shown(scene) == {}
    await scene.watchman.round(True)
    assert shown(scene) != {}
    scene.led_units.clear()
    assert shown(scene) == {}


async def test_an_app_whose_metrics_are_off_is_not_shown() -> None:
    """By its text, or as was put; and it is again when they are on."""
    scene = Scene()
    await scene.deploy("A", text=TEXT)
    await scene.deploy("B", text=SILENT)
    await scene.watchman.round(True)
    assert list(shown(scene)) == ['{app="A",group="main",partition="0"}']
    await scene.levels.put("A", Level.OFF)
    await scene.levels.put("B", Level.BASIC)
    await scene.watchman.round(True)
    assert list(shown(scene)) == ['{app="B",group="main",partition="0"}']


async def test_a_text_that_cannot_be_read_keeps_no_other_app_from_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An extension that is away is its own app's trouble."""
    scene = Scene()
    await scene.deploy("A", text=SILENT)
    await scene.deploy("B", text=TEXT)
    plan = scene.desired.plan

    async def broken(text: str, *, runs: bool = False) -> AppPlan:
        if "statistics" in text:
            raise InstalledError("an extension is away")
        return await plan(text, runs=runs)

    monkeypatch.setattr(scene.desired, "plan", broken)
    await scene.watchman.round(True)
    assert "B" in await scene.placed()
