"""A store that knows an earlier life of an app than its logs bear, as one from an older backup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.control import GroupStatus, log_of
from lockstep.control.units import group_in
from lockstep.events import ClaimRecord, Generation, Life
from lockstep.frame import Problem
from lockstep.store import Deployment, Stale, Written
from lockstep_services.coordinator.lives import runs_later
from tests.unit.services.coordinator.scenes import CUT, Scene

AGAIN = CUT + "\n-- again"


async def claim(scene: Scene, name: LogName, life: Life) -> None:
    """A processor leads with a state of that life."""
    log = await scene.bus.output_log(name)
    tail = await log.tail()
    record = ClaimRecord(tail.epoch + 1, "n1", 0, Generation(life, 0))
    await log.append(record, expected_sequence=tail.sequence)


async def behind(scene: Scene, number: int = 6) -> Deployment:
    """Deployed once, and run in that life."""
    one = (await scene.deploy("A")).deployment
    await claim(scene, log_of(one), Life(one.life.deployed_ms, number))
    return one


def written(scene: Scene) -> list[tuple[int, str]]:
    """The numbers and texts that the store takes from now on."""
    deployments: Any = scene.store.deployments
    put, found = deployments.put, list[tuple[int, str]]()

    async def noted(one: Deployment, **more: Any) -> Written | Stale:
        outcome: Written | Stale = await put(one, **more)
        if isinstance(outcome, Written):
            found.append((one.life.number, one.text))
        return outcome

    deployments.put = noted
    return found


async def test_a_next_life_is_behind_that_of_the_log() -> None:
    """In front of it the store has nothing but what it had: who asks does not meet the new text in
    a life that the log bears already."""
    scene = Scene()
    one = await behind(scene)
    seen = written(scene)
    found = await scene.deploy("A", text=AGAIN)
    assert (found.changed, found.deployment.life) == (True, Life(one.life.deployed_ms, 7))
    assert await scene.desired.get("A") == found.deployment
    assert seen == [*((number, one.text) for number in range(2, 7)), (7, found.deployment.text)]
    versions = await scene.store.versions.list("A")
    assert sorted(each.number for each in versions) == [1, 2]


async def test_the_same_text_is_deployed_again() -> None:
    """Another one runs; and once that is done, nothing is to be changed."""
    scene = Scene()
    await behind(scene)
    found = await scene.deploy("A")
    assert (found.changed, found.deployment.life.number) == (True, 7)
    assert not (await scene.deploy("A")).changed


async def test_so_is_one_that_the_backup_has_as_undeployed() -> None:
    """It goes on in its logs."""
    scene = Scene()
    one = await behind(scene)
    await scene.desired.undeploy("A", purge=False)
    found = await scene.deploy("A")
    assert found.deployment.life == Life(one.life.deployed_ms, 7)
    assert found.deployment.origin == one.origin


async def test_who_deploys_at_the_same_time_is_not_passed_over() -> None:
    """What another coordinator has written meanwhile is looked at again."""
    scene = Scene()
    await behind(scene)
    other = Scene(shelf=scene.shelf)
    deployments: Any = scene.store.deployments
    put, meanwhile = deployments.put, list[Callable[[], Awaitable[object]]]()

    async def late(one: Deployment, **more: Any) -> Any:
        while meanwhile:
            await meanwhile.pop()()
        return await put(one, **more)

    deployments.put = late
    meanwhile.append(lambda: other.deploy("A", text=AGAIN))
    found = await scene.deploy("A", text=CUT + "\n-- last")
    assert found.deployment.life.number == 7
    assert await scene.desired.get("A") == found.deployment


async def test_nothing_is_changed_beside_the_text() -> None:
    """Processors would go over to the text of the backup, which nobody has asked for."""
    scene = Scene()
    one = await behind(scene)
    with pytest.raises(Problem) as refused:
        await scene.desired.renew("A", lambda before, _: before.origin, "why")
    assert refused.value.status == HTTPStatus.CONFLICT
    assert "deploy the text that shall run" in (refused.value.hint or "")
    assert await scene.desired.get("A") == one


@pytest.mark.parametrize("text", [CUT, AGAIN], ids=["the same", "another"])
async def test_what_cannot_be_gone_on_with_is_refused(text: str) -> None:
    """Another app of that name, and a layout that the store does not know. Nothing is stored."""
    scene = Scene()
    one = (await scene.deploy("A")).deployment
    await claim(scene, log_of(one), Life(one.life.deployed_ms + 1, 1))
    cut = (await scene.deploy("B", 2)).deployment
    group = group_in(cut.layout + 1, "by_k")
    later = replace(log_of(cut), group=group)
    await scene.bus.output_log(later)
    assert not (await scene.deploy("B", 2)).changed  # nobody has begun it
    await claim(scene, later, cut.life.next)
    for app, before, what in (("A", one, "a deployment"), ("B", cut, "a layout")):
        with pytest.raises(Problem, match=f"go on with {what}") as refused:
            await scene.deploy(app, text=text)
        assert refused.value.status == HTTPStatus.CONFLICT
        assert "--purge" in (refused.value.hint or "")
        assert await scene.desired.get(app) == before


def test_what_is_waited_for_is_told() -> None:
    """Of the same app alone, and while a later life runs."""
    one = Deployment("A", "", "v", Life(100, 3), 1, 0)

    def said(deployed_ms: int, number: int) -> GroupStatus:
        return GroupStatus("A", "main", 0, "v", deployed_ms, "active", 0, 0, generation=number)

    assert runs_later(one, [said(100, 2), said(100, 3), said(99, 9)]) is None
    told = runs_later(one, [said(100, 2), said(100, 6)])
    assert told == "the text to be deployed again: generation 6 runs, the store knows 3"
