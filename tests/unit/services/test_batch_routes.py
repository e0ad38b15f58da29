"""Scheduled scripts at the coordinator's door: taken, refused, started and stopped, by whom."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.services.suite import CLUSTER, Doors, bearer, running

ROOT = bearer(CLUSTER)
PYTHON = "# cron: 0 0 6 * * ? Europe/Berlin\ndef run(batch):\n    return batch.stream('A', 'In')\n"


@pytest.fixture
async def doors() -> AsyncIterator[Doors]:
    """A coordinator; nobody runs anything."""
    async with running("coordinator") as (found, _):
        yield found


async def deploy(doors: Doors, *texts: tuple[str, str], who: str = ROOT, **more: bool) -> Any:
    """(status, answer)."""
    body = {"scripts": [{"file": file, "text": text} for file, text in texts], **more}
    return await doors.ask(who, "POST", "/v1/batch", body)


async def role(doors: Doors, name: str) -> str:
    """A token that may so much everywhere."""
    body = {"name": name, "grants": [{"role": name}]}
    status, made = await doors.ask(ROOT, "POST", "/v1/tokens", body)
    assert status == 201, made
    return bearer(made["token"])


async def test_a_script_from_its_deployment_to_its_end(doors: Doors) -> None:
    """Versions, a run by hand that waits and is cancelled, a pause; removed, it is gone."""
    status, answer = await deploy(doors, ("one.py", PYTHON), ("two.py", PYTHON))
    assert status == 200, answer
    assert [one["script"] for one in answer["scripts"]] == ["one", "two"]
    assert all(one["created"] and one["next_ms"] for one in answer["scripts"])
    _, answer = await deploy(doors, ("one.py", PYTHON + "\n"), ("two.py", PYTHON))
    for number, text in ((1, PYTHON), (2, PYTHON + "\n")):
        _, version = await doors.ask(ROOT, "GET", f"/v1/batch/one/versions/{number}")
        assert (version["version"], version["text"]) == (number, text)
    for wrong, refused in (("3", 404), ("x", 400)):
        assert (await doors.ask(ROOT, "GET", f"/v1/batch/one/versions/{wrong}"))[0] == refused
    changed = [(one["version"], one["changed"]) for one in answer["scripts"]]
    assert changed == [(2, True), (1, False)]
    status, run = await doors.ask(ROOT, "POST", "/v1/batch/one/run")
    assert (status, run["state"], run["version"], run["by_hand"]) == (200, "due", 2, True)
    assert (await doors.ask(ROOT, "POST", "/v1/batch/one/run"))[0] == 409
    _, listed = await doors.ask(ROOT, "GET", "/v1/batch")
    assert [one["last"] and one["last"]["due_ms"] for one in listed["scripts"]] == [
        run["due_ms"], None,
    ]  # fmt: skip
    status, run = await doors.ask(ROOT, "POST", "/v1/batch/one/cancel")
    assert (status, run["state"]) == (200, "cancelled")
    assert (await doors.ask(ROOT, "POST", "/v1/batch/one/cancel"))[0] == 409
    _, found = await doors.ask(ROOT, "GET", "/v1/batch/one/runs?limit=5")
    assert [one["state"] for one in found["runs"]] == ["cancelled"]
    _, paused = await doors.ask(ROOT, "POST", "/v1/batch/one/pause")
    assert (paused["paused"], paused["next_ms"]) == (True, None)
    _, again = await doors.ask(ROOT, "POST", "/v1/batch/one/resume")
    assert (again["paused"], again["next_ms"] > 0) == (False, True)
    _, shown = await doors.ask(ROOT, "GET", "/v1/batch/one")
    assert (shown["text"], len(shown["versions"])) == (PYTHON + "\n", 2)
    assert (await doors.ask(ROOT, "DELETE", "/v1/batch/one"))[0] == 200
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/runs"), ("POST", "/run")):
        status, answer = await doors.ask(ROOT, method, f"/v1/batch/one{path}")
        assert (status, "no script 'one'" in answer["detail"]) == (404, True)


async def test_of_files_that_cannot_all_be_taken_none_is(doors: Doors) -> None:
    """The answer names file, line and what would do."""
    bad = "-- name: sums\n-- crom: 0 0 6 * * ? UTC\n-- retries: x\nselect 1"
    status, answer = await deploy(doors, ("one.py", PYTHON), ("sums.sql", bad))
    assert (status, answer["where"]) == (400, "sums, line 2")
    assert [(one["line"], bool(one["hint"])) for one in answer["errors"]] == [(2, True), (3, True)]
    status, answer = await deploy(doors, ("one.py", PYTHON), ("two.py", "def run(:\n"))
    assert (status, answer["where"]) == (400, "two, line 1:9")
    often = PYTHON.replace("0 0 6", "*/5 * *")
    status, answer = await deploy(doors, ("one.py", PYTHON), ("often.py", often))
    assert (status, "due every 5 s" in answer["detail"]) == (400, True)
    status, answer = await deploy(doors, ("one.py", PYTHON), ("notes.txt", ""))
    assert (status, "neither .sql nor .py" in answer["detail"]) == (400, True)
    status, answer = await deploy(doors, ("one.py", PYTHON), dry_run=True)
    assert (status, answer) == (200, {"scripts": [{"script": "one"}]})
    assert (await deploy(doors))[0] == 400
    assert (await doors.ask(ROOT, "GET", "/v1/batch"))[1] == {"scripts": []}


async def test_of_files_for_which_there_is_no_room_none_is_taken() -> None:
    """Nor would it be in a dry run. A script that is there takes no room."""
    async with running("coordinator", LOCKSTEP_BATCH__MAX_SCRIPTS="1") as (doors, _):
        both = (("one.py", PYTHON), ("two.py", PYTHON))
        for dry_run in (True, False):
            status, answer = await deploy(doors, *both, dry_run=dry_run)
            assert (status, "with 2 more" in answer["detail"]) == (409, True), answer
            assert (await doors.ask(ROOT, "GET", "/v1/batch"))[1] == {"scripts": []}
        for text in (PYTHON, PYTHON + "\n"):
            assert (await deploy(doors, ("one.py", text)))[0] == 200


async def test_who_may_do_what(doors: Doors) -> None:
    """Scripts take the right to deploy code, those in SQL too: a query can start programs. Running
    takes less than deploying, and looking less still. All of it stands in the audit log, refusals
    too."""
    viewer, operator = await role(doors, "view"), await role(doors, "operate")
    deployer, coder = await role(doors, "deploy"), await role(doors, "code")
    query = "select transform(x) using 'id' as (said string) from values (1) as t(x)"
    bad = ("a.sql", "-- retries: x\nselect 1")
    for one in (("one.py", PYTHON), ("one.sql", query), bad):
        status, answer = await deploy(doors, one, who=deployer)
        assert (status, "deploy code" in answer["detail"]) == (403, True)
    assert (await deploy(doors, bad, who=coder))[0] == 400
    assert (await deploy(doors, bad, who=operator))[0] == 403
    assert (await deploy(doors, ("one.py", PYTHON), who=coder))[0] == 200
    for verb in ("run", "cancel", "pause", "resume"):
        path = f"/v1/batch/one/{verb}"
        assert (await doors.ask(viewer, "POST", path))[0] == 403
        assert (await doors.ask(operator, "POST", path))[0] == 200
    assert (await doors.ask(viewer, "GET", "/v1/batch/one"))[0] == 200
    assert (await doors.ask(operator, "DELETE", "/v1/batch/one"))[0] == 403
    assert (await doors.ask(deployer, "DELETE", "/v1/batch/one"))[0] == 200
    _, log = await doors.ask(ROOT, "GET", "/v1/audit?limit=100")
    noted = {(one["method"], one["route"], one["status"]) for one in log["entries"]}
    assert {
        ("POST", "/v1/batch", 200), ("POST", "/v1/batch/{script}/run", 200),
        ("DELETE", "/v1/batch/{script}", 200),
    } <= noted  # fmt: skip


async def test_without_an_archive_there_is_nothing_to_run_over() -> None:
    """It is said when a script is deployed, not when it would be due."""
    async with running("coordinator", LOCKSTEP_ARCHIVE__FOLDER="") as (doors, _):
        status, answer = await deploy(doors, ("one.py", PYTHON))
        assert (status, answer["hint"]) == (409, "set archive.folder")
