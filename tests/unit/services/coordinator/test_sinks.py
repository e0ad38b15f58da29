"""Sinks go on where they were, whatever is deployed in between."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

import pytest

from lockstep.control import Heartbeat, SinkStatus, UnclearSinksError
from lockstep.frame import Problem
from lockstep.store import NO_NUMBERS, Before, Deployment, Past
from lockstep_services.coordinator.preview import preview
from tests.unit.services.coordinator.scenes import Scene

OTHER = " -- another text"


def text_of(*places: str) -> str:
    """An app with webhooks to these places."""
    sinks = "".join(
        f"@sink(type='http', publisher.url='http://h/{to}', @map(type='json')) " for to in places
    )
    return (
        f"@app:name('A') define stream In (v int); {sinks} define stream Out (v int);"
        " from In select v insert into Out;"
    )


def cut_text_of(*places: str) -> str:
    """The same, with keys by which it can be cut."""
    query = "from In select v insert into Out;"
    cut = f"partition with (v of In) begin {query} end;"
    return text_of(*places).replace(query, cut)


async def deploy(scene: Scene, text: str) -> Deployment:
    """As somebody asks for it."""
    return (await scene.desired.deploy(text, {}, who="ann")).deployment


def numbers(one: Deployment) -> list[int]:
    """Of its sinks, where they are not those of the text."""
    return [each.number for each in one.sinks.now]


async def test_numbers_travel_from_one_deployment_to_the_next() -> None:
    """Also where a text is deployed twice, renewed, or undeployed in between; not behind a
    purge, from which logs and cursors begin anew."""
    scene = Scene()
    assert (await deploy(scene, text_of("b", "a"))).sinks == NO_NUMBERS
    for _ in range(2):
        assert numbers(await deploy(scene, text_of("a"))) == [1]
    renewed = await scene.desired.renew("A", lambda before, _: before.origin, "so")
    assert numbers(renewed) == [1]
    for text in (text_of("a"), text_of("a") + OTHER):
        await scene.desired.undeploy("A", purge=False)
        assert numbers(await deploy(scene, text)) == [1]
    assert numbers(await deploy(scene, text_of("c", "a"))) == [2, 1]
    await scene.desired.undeploy("A", purge=True)
    assert (await deploy(scene, text_of("c", "a"))).sinks == NO_NUMBERS


async def test_what_nobody_can_tell_is_not_deployed() -> None:
    """And is said beforehand."""
    scene = Scene()
    one = await deploy(scene, text_of("b", "a"))
    with pytest.raises(UnclearSinksError):
        await preview(scene.desired, text_of("c"))
    with pytest.raises(UnclearSinksError):
        await deploy(scene, text_of("c"))
    assert await scene.desired.get("A") == one


async def test_a_preview_refuses_what_deploying_an_undeployed_app_again_would() -> None:
    """Its sinks are still known. Behind a purge they are not."""
    scene = Scene()
    await deploy(scene, text_of("b", "a"))
    await scene.desired.undeploy("A", purge=False)
    with pytest.raises(UnclearSinksError) as said:
        await preview(scene.desired, text_of("c"))
    with pytest.raises(UnclearSinksError) as refused:
        await deploy(scene, text_of("c"))
    assert str(said.value) == str(refused.value)
    assert str(said.value).endswith("in another, or purge the undeployed app)")
    assert (await preview(scene.desired, text_of("a"))).created
    await scene.desired.undeploy("A", purge=True)
    assert (await preview(scene.desired, text_of("c"))).created
    assert (await deploy(scene, text_of("c"))).sinks == NO_NUMBERS


async def test_nothing_is_unclear_behind_a_fleet_that_was_undeployed() -> None:
    """Another text has new logs, so all cursors begin anew. Publishers of an earlier release would
    still take one sink's for another's."""
    scene = Scene()
    one = await scene.desired.deploy(cut_text_of("b", "a"), {}, 2, who="ann")
    assert one.deployment.layout
    await scene.desired.undeploy("A", purge=False)
    scene.beats.append(Heartbeat("old", "publisher", "", 0, 1_000))
    for asked in (preview(scene.desired, cut_text_of("a")), deploy(scene, cut_text_of("a"))):
        with pytest.raises(Problem, match="an earlier release"):
            await asked
    assert (await preview(scene.desired, cut_text_of("c"))).created
    again = await deploy(scene, cut_text_of("c"))
    assert numbers(again) == [0]
    assert again.origin.logs_since_ms > one.deployment.origin.logs_since_ms


async def test_sinks_stay_in_their_places_beside_publishers_of_an_earlier_release() -> None:
    """These would go on from the cursors of other sinks. What is in order is deployed."""
    scene = Scene()
    scene.beats.append(Heartbeat("old", "publisher", "", 0, 1_000))
    scene.beats.append(Heartbeat("new", "publisher", "", 0, 1_000, knows_numbers=True))
    one = await deploy(scene, text_of("b", "a"))
    with pytest.raises(Problem, match="an earlier release") as refused:
        await deploy(scene, text_of("a"))
    assert refused.value.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert refused.value.message.endswith(" do not know of: old")
    assert await scene.desired.get("A") == one
    assert (await deploy(scene, text_of("b", "a", "c"))).sinks == NO_NUMBERS
    assert numbers(await deploy(scene, text_of("b", "a"))) == [0, 1]
    scene.beats.pop(-2)
    assert numbers(await deploy(scene, text_of("a"))) == [1]


async def test_a_preview_names_the_sinks_that_are_taken_out() -> None:
    """With what they are behind, as their publisher tells it."""
    scene = Scene()
    await deploy(scene, text_of("b", "a"))
    told = [SinkStatus("A", "Out.0.http", 3, 8), SinkStatus("B", "Out.1.http", 1, 9)]
    found = await preview(scene.desired, text_of("a"), sinks=told)
    assert found.sinks_out == ["Out.0.http (5 records behind)"]
    assert (await preview(scene.desired, text_of("b"), sinks=told)).sinks_out == ["Out.1.http"]
    assert (await preview(scene.desired, text_of("a", "b"), sinks=told)).sinks_out == []


async def test_a_past_that_is_called_off_leaves_the_sinks_as_they_were() -> None:
    """Those that came with it have numbers that nobody gets again."""
    scene = Scene()
    before = await deploy(scene, text_of("a"))
    one = await deploy(scene, text_of("c", "d"))
    past = Past("A", 1, 0, 0, "nowhere", one.life, before=Before(before.text, {}, 1))
    following = replace(one, life=one.life.next, origin=replace(one.origin, past=past))
    await scene.store.deployments.put(following, epoch=scene.epoch.number)

    async def is_pending(deployment: Deployment) -> bool:
        return deployment.origin.past is not None

    scene.pasts.is_pending = is_pending  # type: ignore[method-assign]
    assert await scene.calling_off.call_off("A", "why", purge=False, who="ann")
    again = await scene.desired.get("A")
    assert (again.text, numbers(again)) == (before.text, [0])
    assert numbers(await deploy(scene, text_of("a", "e"))) == [0, 2]


async def test_a_text_that_an_earlier_release_took() -> None:
    """Nobody can read it: the sinks of the next one are numbered as it has them."""
    scene = Scene()
    one = await deploy(scene, text_of("b", "a"))
    unread = replace(one, text="no app", version="v", life=one.life.next)
    await scene.store.deployments.put(unread, epoch=scene.epoch.number)
    assert (await deploy(scene, text_of("a"))).sinks == NO_NUMBERS
