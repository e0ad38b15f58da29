"""What stands in the way of one app stands in the way of no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import CapturingLogger

from lockstep.bus import LogName
from lockstep.control import Heartbeat
from lockstep.events import Life, LockstepError, UnavailableError
from lockstep.store import Deployment, Written
from lockstep.store.filesystem import FileStore
from lockstep_services.coordinator import surveying
from lockstep_services.coordinator.surveying import ASK_AGAIN_MS, SILENT, placed_units
from lockstep_services.coordinator.troubles import AGAIN_MAX_MS, AGAIN_MS
from tests.unit.services.coordinator.scenes import CUT, Scene
from tests.unit.services.suite import CLUSTER, bearer, running

FLEET = ["Fleet\x1fby_k~1\x1f0", "Fleet\x1fby_k~1\x1f1"]
BOTH = ["n1", "n2"]


def scene_with_log() -> tuple[Scene, CapturingLogger]:
    """A scene, and what is logged there."""
    log: Any = CapturingLogger()
    return Scene(log), log


def spoilt(scene: Scene) -> None:
    """An earlier release has let in what this one refuses, before this process began."""
    there = scene.shelf.deployments
    there["Fleet"] = replace(there["Fleet"], text=there["Fleet"].text.replace("sum(v)", "gone(v)"))


def refusing(scene: Scene, error: LockstepError) -> list[LogName]:
    """The bus has this to say of each log of the fleet; which were asked for."""
    scene.layouts._announced.clear()
    opened, asked = scene.bus.output_log, list[LogName]()

    async def output_log(name: LogName, *, make: bool = True) -> Any:
        if name.app == "Fleet":
            asked.append(name)
            raise error
        return await opened(name, make=make)

    scene.bus.output_log = output_log  # type: ignore[method-assign]
    return asked


async def test_a_text_that_is_not_valid_any_more() -> None:
    """All others are placed; of that app all stays as it is placed, and is failed over."""
    scene, log = scene_with_log()
    await scene.deploy("Fleet", 2)
    await scene.watchman.round(knows_silence=True)
    spoilt(scene)
    await scene.deploy("Plain")
    for _ in range(3):
        await scene.watchman.round(knows_silence=True)
    assert await scene.placed() == {FLEET[0]: BOTH, FLEET[1]: BOTH, "Plain": BOTH}
    scene.beats = [Heartbeat(name, "processor", "", 0, 1_000) for name in ("n1", "n3")]
    await scene.watchman.round(knows_silence=True)
    assert await scene.placed() == {key: ["n1", "n3"] for key in (*FLEET, "Plain")}
    assert [call.kwargs["app"] for call in log.calls if call.method_name == "error"] == ["Fleet"]


@pytest.mark.parametrize(
    "error", [UnavailableError("no quorum for this stream"), LockstepError("no more streams")]
)
async def test_a_log_that_does_not_answer_or_cannot_be_made(error: LockstepError) -> None:
    """The same, and it is shown what the app waits for."""
    scene, log = scene_with_log()
    fleet = (await scene.deploy("Fleet", 2)).deployment
    await scene.watchman.round(knows_silence=True)
    following = await scene.desired.renew("Fleet", lambda b, _: b.origin, "relaid", relaid=True)
    refusing(scene, error)
    await scene.deploy("Plain")
    for _ in range(3):
        await scene.clock.advance_ms(AGAIN_MAX_MS)
        await scene.watchman.round(knows_silence=True)
    placed = await scene.placed()
    assert placed == {FLEET[0]: BOTH, FLEET[1]: BOTH, "Plain": BOTH}
    assert [call.kwargs["app"] for call in log.calls if call.method_name == "error"] == ["Fleet"]
    units = await scene.survey.units(following, placed)
    assert await scene.survey.waiting(following, units, placed) is not None
    assert f"help: {error}" in str(await scene.survey.waiting(following, units, placed))
    assert await scene.survey.waiting(fleet, FLEET, placed) is None  # of another life


async def test_while_the_bus_is_away_no_processor_is_asked_for() -> None:
    """All are silent then: more of them would not help. A bus that hangs is not asked for each app
    of a list."""
    scene, _ = scene_with_log()
    one = (await scene.deploy("Plain")).deployment
    scene.beats = []
    answers, asked = [False, True], list[bool]()

    async def healthy() -> bool:
        asked.append(answers[len(asked)])
        return asked[-1]

    scene.survey._bus_answers = healthy
    for _ in range(3):
        assert await scene.survey.waiting(one, ["Plain"], {}) == SILENT
    await scene.clock.advance_ms(ASK_AGAIN_MS)
    waiting = await scene.survey.waiting(one, ["Plain"], {})
    assert "1 more processor" in str(waiting)
    assert asked == answers


async def test_it_is_tried_less_and_less_often_until_it_is_well() -> None:
    """A log that does not answer takes seconds each time, and all others wait meanwhile."""
    scene, _ = scene_with_log()
    await scene.deploy("Fleet", 2)
    asked = refusing(scene, UnavailableError("no quorum"))
    tried = 0
    for seconds in range(8):
        asked.clear()
        await scene.watchman.round(knows_silence=True)
        tried += bool(asked)
        assert bool(asked) == (seconds in (0, 1, 3, 7))
        await scene.clock.advance_ms(AGAIN_MS)
    assert tried == 4
    del scene.bus.output_log
    await scene.clock.advance_ms(AGAIN_MAX_MS)
    await scene.watchman.round(knows_silence=True)
    (one,) = await scene.desired.list()
    assert await scene.survey.waiting(one, FLEET, await scene.placed()) is None


async def test_placements_of_apps_that_are_well_are_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A round would take a second with a thousand apps."""
    scene, _ = scene_with_log()
    await scene.deploy("Fleet", 2)
    searched: list[str] = []

    def told(app: str, placements: Mapping[str, Sequence[str]]) -> list[str]:
        searched.append(app)
        return placed_units(app, placements)

    monkeypatch.setattr(surveying, "placed_units", told)
    await scene.deploy("Plain")
    for _ in range(2):
        await scene.watchman.round(knows_silence=True)
    assert searched == []
    spoilt(scene)
    await scene.watchman.round(knows_silence=True)
    assert searched == ["Fleet"]


async def test_a_store_that_is_away_concerns_everything() -> None:
    """Then a round ends."""
    scene, _ = scene_with_log()
    await scene.deploy("Fleet", 2)

    async def away() -> Any:
        raise UnavailableError("away")

    scene.store.deployments.placements = away  # type: ignore[method-assign]
    with pytest.raises(UnavailableError):
        await scene.watchman.round(knows_silence=True)


async def test_lists_have_it_too(tmp_path: Path) -> None:
    """With what is wrong; so has its status."""
    text = CUT.format(app="Fleet").replace("sum(v)", "gone(v)")
    one = Deployment("Fleet", text, "v", Life(1_000, 1), 1, 1_000, parallel=2, layout=1)
    store = FileStore(tmp_path / "store")
    assert await store.deployments.put(one, epoch=1) == Written()
    assert await store.deployments.put_placement(FLEET[1], ["n1"], epoch=1) == Written()
    given = {"LOCKSTEP_STORE__KIND": "file", "LOCKSTEP_STORE__DIRECTORY": str(tmp_path)}
    async with running("coordinator", **given) as (doors, _):
        who = bearer(CLUSTER)
        body = {"text": CUT.format(app="Plain")}
        assert (await doors.ask(who, "POST", "/v1/apps", body))[0] == 201
        status, answer = await doors.ask(who, "GET", "/v1/apps")
        assert (status, [each["app"] for each in answer["apps"]]) == (200, ["Fleet", "Plain"])
        assert answer["apps"][0]["units"] == 1
        assert answer["apps"][0]["waiting"].startswith("help: line 1:")
        status, answer = await doors.ask(who, "GET", "/v1/apps/Fleet/status")
        assert (status, answer["connectors"]) == (200, [])
        assert answer["waiting"].startswith("help: line 1:")
        of_older = (
            "/siddhi-apps/statistics",
            "/siddhi-apps?isActive=false",
            "/managers/siddhi-apps",
        )
        for path in of_older:
            status, answer = await doors.ask(who, "GET", path)
            assert (status, len(answer)) == (200, 2)
