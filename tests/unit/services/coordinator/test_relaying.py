"""Fleets that an older release cut, whose texts this one refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from unittest.mock import patch

import pytest

from lockstep.frame import Problem
from lockstep.plan import AppPlan
from lockstep.plan.fleet import RULES, FleetPlan, fleet_of
from lockstep.plan.fleet.contract import KEEPS_FAULTS
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment
from lockstep_services.coordinator import desired, layouts
from tests.unit.services.coordinator.scenes import CUT, Scene

EARLIER = KEEPS_FAULTS - 1

PARTED = """@app:name('A')
@OnError(action='STREAM')
define stream S (k string, v long);
@dist(execGroup='a', parallel='2') partition with (k of S) begin
from S select k, sum(v) as t insert into O; end;
@dist(execGroup='b') from S select k, v insert into Copy;
@dist(execGroup='b') from !S select k, v insert into Bad;
"""
"""Events of S may fail in `a`, and !S is read in `b`: refused since KEEPS_FAULTS."""

MENDED = PARTED.replace("@dist(execGroup='a', parallel='2')", "@dist(execGroup='b')")


@contextmanager
def earlier_release() -> Iterator[None]:
    """Deploys by the rules of before."""

    def cut(plan: AppPlan, parallel: int | None = None, _rules: int = RULES) -> FleetPlan:
        return fleet_of(plan, parallel, EARLIER)

    with (
        patch.object(layouts, "RULES", EARLIER),
        patch.object(layouts, "fleet_of", cut),
        patch.object(desired, "fleet_of", cut),
    ):
        yield


async def deployed_earlier() -> Scene:
    """The app as an update finds it."""
    scene = Scene()
    with earlier_release():
        await scene.deploy("A", text=PARTED)
    assert (await scene.desired.get("A")).rules == EARLIER
    return scene


async def relaid(scene: Scene) -> Deployment:
    """As a snapshot does."""
    return await scene.desired.renew("A", lambda before, _: before.origin, "relaid", relaid=True)


async def stuck() -> tuple[Scene, Deployment]:
    """As a release stored it that did not look before: nobody can read the present layout."""
    scene = await deployed_earlier()
    before = await scene.desired.get("A")
    following = await scene.layouts.next(before, replace(before, life=before.life.next))
    await scene.store.deployments.put(following, epoch=scene.epoch.number)
    with pytest.raises(SiddhiQLError):
        await scene.layouts.view(following)
    return scene, following


async def test_an_app_that_todays_rules_refuse_stays_cut_as_it_is() -> None:
    """A snapshot does not stop it."""
    scene = await deployed_earlier()
    following = await relaid(scene)
    assert (following.layout, following.rules) == (2, EARLIER)
    units = (await scene.layouts.view(following)).units
    assert [unit.log.group for unit in units] == ["a~2", "a~2", "b~2"]


async def test_what_todays_rules_take_goes_by_them() -> None:
    """From the next layout on."""
    scene = Scene()
    with earlier_release():
        await scene.deploy("A", 2)
    assert (await relaid(scene)).rules == RULES


@pytest.mark.parametrize("text", [MENDED, CUT], ids=["mended", "another"])
async def test_a_layout_that_nobody_can_read_gives_way_to_a_valid_text(text: str) -> None:
    """It goes on from the one in front, which is still running."""
    scene, unread = await stuck()
    deployment = (await scene.deploy("A", text=text)).deployment
    assert (deployment.layout, deployment.former) == (3, unread.former)
    view = await scene.layouts.view(deployment)
    assert [unit.log.group for unit in view.former] == ["a~1", "a~1", "b~1"]


async def test_nor_does_a_next_snapshot_leave_it_so() -> None:
    """The text is cut as it was when it ran."""
    scene, unread = await stuck()
    following = await relaid(scene)
    assert (following.rules, following.former) == (EARLIER, unread.former)
    await scene.layouts.view(following)


async def test_what_ran_and_cannot_be_read_is_not_gone_on_from() -> None:
    """Its state would begin where it was before. Nothing is stored."""
    scene, unread = await stuck()
    await scene.bus.output_log(replace((await scene.bus.logs("A"))[0], group="a~2", partition=0))
    with pytest.raises(Problem) as refused:
        await scene.deploy("A", text=MENDED)
    assert refused.value.status == HTTPStatus.CONFLICT
    assert await scene.desired.get("A") == unread
