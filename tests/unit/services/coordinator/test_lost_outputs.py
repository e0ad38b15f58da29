"""Whoever coordinates does not make an output log anew that was lost: in it rows would stand again.
One that was never there is made, as a deployment may have been cut short."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockstep.bus import LogGoneError, LogName
from lockstep.events.since import with_since
from lockstep.store import Past, Revision
from tests.unit.services.coordinator.scenes import Scene


async def begun(scene: Scene, name: LogName) -> None:
    """A unit has stored the state in which it begins."""
    group = with_since(name.group, name.since_ms)
    one = Revision("r", name.app, group, name.partition, "v", 1, 1, 3, True, 1)
    await scene.store.revisions.save(one, b"abc")


async def is_there(scene: Scene, name: LogName) -> bool:
    """Whether there is such an output log."""
    try:
        await scene.bus.output_log(name, make=False)
    except LogGoneError:
        return False
    return True


async def test_whoever_announces_a_layout_makes_what_was_never_there_and_nothing_else() -> None:
    """Each process that begins to coordinate announces all of them again."""
    scene = Scene()
    one = (await scene.deploy("A", 2)).deployment
    first, other = await scene.layouts.logs(one)
    for name in (first, other):
        await scene.bus.remove_logs(name)
    scene.layouts._announced.clear()
    await begun(scene, first)
    with pytest.raises(LogGoneError):
        await scene.layouts.announce(one)
    assert not await is_there(scene, first)
    await scene.store.revisions.delete(["r"])
    await scene.layouts.announce(one)
    assert await is_there(scene, first)
    assert await is_there(scene, other)


async def test_whoever_looks_whether_a_layout_has_begun_makes_nothing() -> None:
    """What is not there has not begun."""
    scene = Scene()
    await scene.deploy("A", 2)
    view = await scene.layouts.view(await scene.desired.get("A"))
    for unit in view.units:
        await scene.bus.remove_logs(unit.log)
    assert not await scene.layouts.has_begun(view)
    assert not await is_there(scene, view.units[0].log)


async def test_whoever_looks_whether_a_past_is_there_makes_nothing() -> None:
    """Nobody knows, where the log is lost."""
    scene = Scene()
    one = (await scene.deploy("A")).deployment
    past = Past("A", one.origin.logs_since_ms, 0, 1, "nowhere", one.life)
    name = LogName("A", since_ms=one.origin.logs_since_ms)
    await scene.bus.remove_logs(name)
    with pytest.raises(LogGoneError):
        await scene.pasts.is_pending(replace(one, origin=replace(one.origin, past=past)))
    assert not await is_there(scene, name)
