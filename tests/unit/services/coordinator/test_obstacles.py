"""What cannot come to a next layout is refused while the app still runs as it is, and what holds
one up that is under way is told."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

from lockstep.bus import Accepted, LogName
from lockstep.control import STOPPED, GroupStatus, Heartbeat, log_of
from lockstep.control.endings import end_key
from lockstep.events import ClaimRecord, Generation
from lockstep.frame import Problem
from lockstep.store import Deployment, Restoration, Revision
from lockstep_services.coordinator.status import app_status
from tests.unit.services.coordinator.scenes import CUT, Scene

AGAIN = "\n-- again"
FIRST, SECOND = ("by_k~1", 0), ("by_k~1", 1)
WHY = f"{STOPPED}a timer goes over a limit"


def told(
    scene: Scene, one: Deployment, *places: tuple[str, int], node: int = 0, **changes: Any
) -> None:
    """A processor says that it leads these units of the app, beside what it has said already."""
    beat = scene.beats[node]
    groups = [
        GroupStatus(
            one.app, *place, "v", position=0, log_end=0,
            **{"deployed_ms": one.life.deployed_ms, "role": "active", **changes},
        )
        for place in places
    ]  # fmt: skip
    scene.beats[node] = Heartbeat(
        beat.node, "processor", "", 0, 1_000, groups=(*beat.groups, *groups)
    )


async def refused(asked: Awaitable[object], status: HTTPStatus = HTTPStatus.CONFLICT) -> Problem:
    """Whatever is asked for is refused so."""
    with pytest.raises(Problem) as found:
        await asked
    assert found.value.status == status, found.value
    return found.value


async def claimed(scene: Scene, name: LogName, generation: Generation) -> None:
    """A leader goes on there with a state."""
    log = await scene.bus.output_log(name)
    claim = ClaimRecord(scene.clock.now_ms(), "me", 0, generation)
    there = await log.append(claim, expected_sequence=(await log.tail()).sequence)
    assert isinstance(there, Accepted)


async def begun(scene: Scene, one: Deployment) -> None:
    """Somebody leads each unit of the layout."""
    for unit in (await scene.layouts.view(one)).units:
        await claimed(scene, unit.log, Generation(one.life, 0))


def relaid(scene: Scene) -> Awaitable[Deployment]:
    """As a snapshot of a fleet does, and a restore."""
    return scene.desired.renew("A", lambda before, _: before.origin, "relaid", relaid=True)


async def test_a_stopped_unit_ends_nowhere() -> None:
    """So no next layout could begin: neither another text nor another number of partitions is
    taken, nor a snapshot or a restore. What is deployed stays as it is."""
    scene = Scene()
    one = (await scene.deploy("A", 2)).deployment
    told(scene, one, FIRST)
    told(scene, one, SECOND, trouble=WHY)
    for asked in (scene.deploy("A", text=CUT + AGAIN), scene.deploy("A", 3), relaid(scene)):
        problem = await refused(asked)
        assert "'A' group by_k~1 partition 1 does not get to where" in str(problem)
        assert WHY in str(problem)
        assert "raise the limit on all processors" in str(problem.hint)
        assert "undeploy it and deploy a changed text" in str(problem.hint)
    assert await scene.desired.get("A") == one
    assert not (await scene.deploy("A", 2)).changed
    assert {log.group for log in await scene.bus.logs("A")} == {"main", "by_k~1"}


async def test_nor_does_one_that_stops_while_its_layout_goes_over() -> None:
    """It is not said to be over in a moment."""
    scene = Scene()
    one = (await scene.deploy("A", 2)).deployment
    await scene.deploy("A", 3)
    await refused(scene.deploy("A", 4), HTTPStatus.SERVICE_UNAVAILABLE)
    told(scene, one, SECOND, trouble=WHY)
    problem = await refused(scene.deploy("A", 4))
    assert "'A' group by_k~1 partition 1" in str(problem)


async def test_an_app_of_one_unit_is_mended_in_one_unit() -> None:
    """It goes over to a changed text where it has stopped, and is cut afterwards."""
    scene = Scene()
    one = (await scene.deploy("A")).deployment
    told(scene, one, ("main", 0), trouble=WHY)
    problem = await refused(scene.deploy("A", 2, CUT + AGAIN))
    assert "'A' does not get to where" in str(problem)
    assert "--parallel 1" in str(problem.hint)
    assert (await scene.deploy("A", 1, CUT + AGAIN)).deployment.layout == 0


async def test_who_has_stopped_and_does_not_lead_holds_nothing_up() -> None:
    """Nor does what is still heard of another app of that name."""
    scene = Scene()
    one = (await scene.deploy("A", 2)).deployment
    told(scene, one, FIRST, SECOND)
    told(scene, one, FIRST, node=1, role="passive", trouble=WHY)
    told(scene, one, SECOND, node=1, deployed_ms=one.life.deployed_ms - 1, trouble=WHY)
    assert (await scene.deploy("A", 3)).deployment.layout == 2


async def test_an_app_that_runs_does_not_end_where_nobody_could_go_on() -> None:
    """Which command helps is said. An app that nobody carries waits as any new one does."""
    scene = Scene()
    one = (await scene.deploy("A", 2)).deployment
    scene.beats = scene.beats[:1]
    told(scene, one, FIRST, SECOND)
    await scene.store.deployments.put_drained("n1", drained=True, epoch=scene.epoch.number)
    for asked in (scene.deploy("A", 3), relaid(scene)):
        problem = await refused(asked)
        assert "0 of coordinator.min_processors = 1 can take replicas" in str(problem)
        assert problem.hint == (
            "start another processor, or undo a drain: `lockstep drain n1 --undo`"
        )
    assert await scene.desired.get("A") == one
    scene.beats = [Heartbeat("n1", "processor", "", 0, 1_000)]
    assert (await scene.deploy("A", 3)).deployment.layout == 2


async def test_who_has_just_begun_to_listen_believes_that_the_others_live() -> None:
    """A coordinator that takes over has heard one of two: the other one counts as long as it
    carries something, unless it is drained or has said that it stops. Then silence counts."""
    scene = Scene()
    scene.layouts.obstacles._min_processors = 2
    one = (await scene.deploy("A", 2)).deployment
    number = scene.epoch.number
    await scene.store.deployments.put_placement("A", ["n1", "n2"], epoch=number)
    other = scene.beats.pop()
    told(scene, one, FIRST, SECOND)
    await scene.layouts.obstacles.refuse(one)
    scene.beats.append(Heartbeat(other.node, "processor", "", 0, 1_000, draining=True))
    await refused(scene.layouts.obstacles.refuse(one))
    scene.beats.pop()
    await scene.store.deployments.put_drained("n2", drained=True, epoch=number)
    await refused(scene.layouts.obstacles.refuse(one))
    await scene.store.deployments.put_drained("n2", drained=False, epoch=number)
    await scene.watchman.round(knows_silence=False)
    assert (await scene.deploy("A", 3)).deployment.layout == 2
    one = await scene.desired.get("A")
    await scene.watchman.round(knows_silence=True)
    assert "1 of coordinator.min_processors = 2" in str(
        await refused(scene.layouts.obstacles.refuse(one))
    )


async def test_an_app_that_was_undeployed_while_it_went_over_comes_back_as_it_was() -> None:
    """Nobody goes on with that while it is undeployed: it is not told to wait."""
    scene = Scene()
    await scene.deploy("A", 2)
    await scene.deploy("A", 4)
    await scene.desired.undeploy("A", purge=False)
    problem = await refused(scene.deploy("A", 2))
    assert "'A' was undeployed while it was going over to its layout 2" in str(problem)
    assert problem.hint == (
        "deploy it as it was (--parallel 4), wait until it runs, then change it"
    )
    one = (await scene.deploy("A", 4)).deployment
    assert (one.layout, one.parallel) == (2, 4)
    await refused(scene.deploy("A", 2), HTTPStatus.SERVICE_UNAVAILABLE)
    await begun(scene, one)
    assert (await scene.deploy("A", 2)).deployment.parallel == 2


async def restored(scene: Scene) -> Deployment:
    """Somebody wants an app of one unit to go on with a revision."""
    return await scene.desired.renew(
        "A", lambda one, life: replace(one.origin, restoration=Restoration("r", life)), "restore"
    )


async def test_a_restore_comes_before_a_next_layout() -> None:
    """Else the layout began behind the state that nobody wants any more."""
    scene = Scene()
    one = (await scene.deploy("A")).deployment
    await claimed(scene, log_of(one), Generation(one.life, 0))
    wanted = await restored(scene)
    problem = await refused(scene.deploy("A", 2), HTTPStatus.SERVICE_UNAVAILABLE)
    assert "'A' is still going back to the state of a revision" in str(problem)
    assert problem.retry_after_ms
    assert await scene.desired.get("A") == wanted
    await claimed(scene, log_of(one), Generation(wanted.life, 7))
    assert (await scene.deploy("A", 2)).deployment.layout == 3


async def test_nor_does_it_get_forgotten_while_the_app_is_undeployed() -> None:
    """As one unit it comes back, and goes back first."""
    scene = Scene()
    await scene.deploy("A")
    await restored(scene)
    await scene.desired.undeploy("A", purge=False)
    problem = await refused(scene.deploy("A", 2))
    assert "--parallel 1" in str(problem.hint)
    assert (await scene.deploy("A", 1)).deployment.origin.restoration is not None


async def status_of(scene: Scene) -> dict[str, Any]:
    """As its route answers."""
    one = await scene.desired.get("A")
    units = await scene.survey.units(one, {})
    waiting = await scene.survey.waiting(one, units, {unit: ["n1"] for unit in units})
    goes_over = bool(await scene.survey.former(one))
    watch: Any = scene
    return app_status(one, units, {}, watch, waiting, goes_over=goes_over)


async def test_what_holds_a_layout_up_is_told() -> None:
    """Which units have not ended, and why; their replicas are there until all of the next have
    begun. Only those of the present layout make it active."""
    scene = Scene()
    one = (await scene.deploy("A", 2)).deployment
    following = (await scene.deploy("A", 3)).deployment
    told(scene, one, FIRST, trouble=WHY)
    status = await status_of(scene)
    assert status["waiting"] == (
        f"the end of 'A' group by_k~1 partition 0 ({WHY});"
        " the end of 'A' group by_k~1 partition 1 (nobody leads it)"
    )
    assert [(each["layout"], each["trouble"]) for each in status["replicas"]] == [(1, WHY)]
    assert status["status"] == "inactive"
    for unit in (await scene.layouts.view(one)).units:
        key = end_key(unit.log)
        await scene.store.revisions.save(Revision(str(key), *key, "v", 1, 1, 1, True, 1), b"s")
    assert (await status_of(scene))["waiting"] is None
    await begun(scene, following)
    assert (await status_of(scene))["replicas"] == []
