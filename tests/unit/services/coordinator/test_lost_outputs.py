"""Whoever coordinates does not make an output log anew that was lost: in it rows would stand again.
One that was never there is made, as a deployment may have been cut short."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockstep.bus import Accepted, LogGoneError, LogName
from lockstep.events import ClaimRecord, Generation
from lockstep.events.since import with_since
from lockstep.store import Deployment, Past, Revision
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


async def relaid(scene: Scene) -> tuple[Deployment, LogName]:
    """A fleet in its second layout, all units of which have begun, and the log of one of them,
    which is lost."""
    await scene.deploy("A", 2)
    one = (await scene.deploy("A", 3)).deployment
    lost, *others = await scene.layouts.logs(one)
    for name in (lost, *others):
        log = await scene.bus.output_log(name)
        claim = ClaimRecord(scene.clock.now_ms(), "me", 0, Generation(one.life, 0))
        there = await log.append(claim, expected_sequence=(await log.tail()).sequence)
        assert isinstance(there, Accepted)
    await begun(scene, lost)
    await scene.bus.remove_logs(lost)
    return one, lost


async def test_a_layout_that_has_lost_a_log_has_begun_all_the_same() -> None:
    """Also for a process that begins to coordinate: the layout before is not carried again. Nobody
    is told to wait until it has gone over."""
    scene = Scene()
    one, _ = await relaid(scene)
    assert await scene.layouts.former(one) == ()
    assert await scene.layouts.wanted(one) == await scene.layouts.units(one)
    with pytest.raises(LogGoneError) as gone:
        await scene.deploy("A", 4)
    assert "undeploy --purge" in str(gone.value.hint)
    assert await scene.desired.get("A") == one


async def test_a_layout_goes_over_while_another_unit_has_not_begun() -> None:
    """A log that was lost meanwhile does not end the layout before; nor does one that was never
    there."""
    scene = Scene()
    one, lost = await relaid(scene)
    other = (await scene.layouts.logs(one))[-1]
    await scene.bus.remove_logs(other)
    await scene.bus.output_log(other)
    assert len(await scene.layouts.former(one)) == 2
    await scene.store.revisions.delete(["r"])
    assert not await scene.layouts.has_begun(await scene.layouts.view(one))
    assert not await is_there(scene, lost)


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
