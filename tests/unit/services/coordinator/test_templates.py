"""Templates over REST and by command: who may start what, and what becomes of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lockstep.cli.command import app as command
from lockstep.store import Written
from tests.unit.services.suite import CLUSTER, Doors, bearer, running

TEXT = """-- template: Big ones
-- about: Keeps what is large.
-- parameter least long from 0 to 100 = 5: From here on it is large.
-- parameter kind string in ('a', 'b')
@app:name('${app}')
define stream In (kind string, n long);
from In[n >= ${least} and kind == ${kind}] select kind, n insert into Big;
"""
ONE = "/v1/templates/Big%20ones"
ADMIN = bearer(CLUSTER)
OTHER = "@app:name('Other') define stream In (n long); from In select n insert into Out;"


async def _token(doors: Doors, role: str, app: str) -> str:
    body = {"name": role, "grants": [{"role": role, "app": app}], "expires_in_ms": 60_000}
    status, answer = await doors.ask(ADMIN, "POST", "/v1/tokens", body)
    assert status in (200, 201), answer
    return bearer(answer["token"])


async def test_who_may_not_write_apps_starts_changes_and_stops_instances() -> None:
    """Of the apps that they may operate; nothing else is theirs."""
    async with running() as (doors, _):
        status, answer = await doors.ask(ADMIN, "PUT", ONE, {"text": TEXT})
        assert (status, answer) == (201, {"template": "Big ones"})
        mary = await _token(doors, "operate", "Mine")
        assert (await doors.ask(mary, "PUT", ONE, {"text": TEXT}))[0] == 403
        assert (await doors.ask(mary, "PUT", f"{ONE}/instances/Yours", {}))[0] == 403
        given: dict[str, Any] = {"values": {"kind": "a", "least": "7"}}
        status, answer = await doors.ask(mary, "PUT", f"{ONE}/instances/Mine", given)
        assert (status, answer["values"]) == (201, {"least": 7, "kind": "a"})
        status, answer = await doors.ask(mary, "GET", "/v1/apps/Mine")
        assert "n >=  7L  and kind ==  'a' " in answer["text"]
        again = await doors.ask(mary, "PUT", f"{ONE}/instances/Mine", given)
        assert (again[0], again[1]["changed"]) == (200, False)
        given["values"]["least"] = 9
        status, answer = await doors.ask(mary, "PUT", f"{ONE}/instances/Mine", given)
        assert (status, answer["changed"]) == (200, True)
        _, answer = await doors.ask(mary, "GET", "/v1/apps/Mine/versions")
        noted = [(one["number"], one["who"], one["how"]) for one in answer["versions"]]
        assert noted == [(2, "token operate", "template"), (1, "token operate", "template")]
        (found,) = (await doors.ask(mary, "GET", "/v1/templates"))[1]["templates"]
        assert [one["values"] for one in found["instances"]] == [{"least": 9, "kind": "a"}]
        assert (await doors.ask(ADMIN, "DELETE", ONE))[0] == 409
        await doors.ask(ADMIN, "PUT", "/v1/apps", {"text": OTHER})
        nobody = await _token(doors, "view", "Other")
        (found,) = (await doors.ask(nobody, "GET", "/v1/templates"))[1]["templates"]
        assert found["instances"] == []
        assert (await doors.ask(mary, "DELETE", f"{ONE}/instances/Mine"))[0] == 200
        assert (await doors.ask(mary, "GET", "/v1/apps/Mine"))[0] == 404
        assert (await doors.ask(ADMIN, "DELETE", ONE))[0] == 200
        assert (await doors.ask(mary, "GET", ONE))[0] == 404


async def test_an_app_that_is_no_instance_is_let_be() -> None:
    """Neither replaced nor stopped, by whoever operates it; nor one that was deployed over."""
    async with running() as (doors, _):
        await doors.ask(ADMIN, "PUT", ONE, {"text": TEXT})
        await doors.ask(ADMIN, "PUT", "/v1/apps", {"text": OTHER})
        mary = await _token(doors, "operate", "Other")
        path = f"{ONE}/instances/Other"
        status, answer = await doors.ask(mary, "PUT", path, {"values": {"kind": "a"}})
        assert (status, "no instance" in str(answer)) == (409, True), answer
        assert (await doors.ask(mary, "DELETE", path))[0] == 404
        assert (await doors.ask(ADMIN, "GET", "/v1/apps/Other"))[1]["text"] == OTHER


async def test_who_deploys_a_text_cannot_make_it_an_instance() -> None:
    """One made by hand, with values that nobody can read, would break everybody's list."""
    async with running() as (doors, _):
        await doors.ask(ADMIN, "PUT", ONE, {"text": TEXT})
        dave = await _token(doors, "deploy", "Other")
        for settings in ({"template": "Big ones"}, {"template.values": "{"}):
            for method in ("POST", "PUT"):
                body = {"text": OTHER, "settings": settings}
                status, answer = await doors.ask(dave, method, "/v1/apps", body)
                assert (status, "instances of templates" in answer["detail"]) == (400, True)
        assert (await doors.ask(ADMIN, "GET", "/v1/apps/Other"))[0] == 404


@pytest.mark.parametrize("values", ["{", "5", '{"a": [1]}', "[" * 5_000])
async def test_an_instance_that_was_made_by_hand_breaks_no_list(values: str) -> None:
    """Earlier releases took such settings: it is listed without values."""
    async with running("coordinator") as (doors, process):
        await doors.ask(ADMIN, "PUT", ONE, {"text": TEXT})
        await doors.ask(ADMIN, "PUT", "/v1/apps", {"text": OTHER})
        deployments = process._world.store.deployments
        (known,) = await deployments.list()
        settings = {"template": "Big ones", "template.values": values}
        byhand = replace(known, life=known.life.next, settings=settings)
        assert isinstance(await deployments.put(byhand, epoch=2**62), Written)
        status, answer = await doors.ask(ADMIN, "GET", "/v1/templates")
        assert status == 200, answer
        (found,) = answer["templates"]
        assert [(one["app"], one["values"]) for one in found["instances"]] == [("Other", {})]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("'${app}${kind}'", "more than the name of the instance"),
        ("'Mine2'", "makes an app of another name"),
    ],
)
async def test_who_operates_an_app_replaces_no_other_by_a_template(name: str, says: str) -> None:
    """An earlier release kept a template whose name another parameter can change: it starts nothing
    any more, is listed, and can be put right."""
    async with running() as (doors, process):
        for app in ("M", "Mine2"):
            text = OTHER.replace("Other", app)
            await doors.ask(ADMIN, "PUT", "/v1/apps", {"text": text})
        deployments = process._world.store.deployments
        (mine2,) = [one for one in await deployments.list() if one.app == "Mine2"]
        as_instance = replace(mine2, life=mine2.life.next, settings={"template": "Big ones"})
        assert isinstance(await deployments.put(as_instance, epoch=2**62), Written)
        text = TEXT.replace("'${app}'", name).replace("'a', 'b'", "'', 'ine2'")
        await process._world.store.documents.put("template", "Big ones", text)
        before = (await doors.ask(ADMIN, "GET", "/v1/apps/Mine2"))[1]
        mary = await _token(doors, "operate", "M")
        for kind in ("ine2", ""):
            given = {"values": {"kind": kind}}
            status, answer = await doors.ask(mary, "PUT", f"{ONE}/instances/M", given)
            assert (status, says in str(answer)) == (400, True), answer
        after = (await doors.ask(ADMIN, "GET", "/v1/apps/Mine2"))[1]
        assert (after["version"], after["text"]) == (before["version"], before["text"])
        (found,) = (await doors.ask(ADMIN, "GET", "/v1/templates"))[1]["templates"]
        assert [one["app"] for one in found["instances"]] == ["Mine2"]
        assert (await doors.ask(ADMIN, "PUT", ONE, {"text": text}))[0] == 400
        assert (await doors.ask(ADMIN, "PUT", ONE, {"text": TEXT}))[0] == 200
        assert (await doors.ask(ADMIN, "DELETE", f"{ONE}/instances/Mine2"))[0] == 200


async def test_a_template_that_an_earlier_release_took_and_this_one_refuses_breaks_no_list() -> (
    None
):
    """Its default has quotation marks that no value can have: it says so, and gives its text."""
    text = TEXT.replace("in ('a', 'b')", "= '\"a\"'")
    async with running("coordinator") as (doors, process):
        await process._world.store.documents.put("template", "Big ones", text)
        (found,) = (await doors.ask(ADMIN, "GET", "/v1/templates"))[1]["templates"]
        assert found["template"] == "Big ones"
        assert "It cannot be started: line 4: has quotation marks" in found["about"]
        assert (await doors.ask(ADMIN, "GET", ONE))[1]["text"] == text
        status, answer = await doors.ask(ADMIN, "PUT", f"{ONE}/instances/Mine", {})
        assert (status, "quotation marks" in str(answer)) == (400, True)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"text": TEXT.replace("Big ones", "Others")}, "its name is 'Others'"),
        ({"text": "@app:name('a')"}, "a template has one name"),
        ({"text": TEXT.replace("${least}", "${lest}")}, "there is no parameter 'lest'"),
        ({"text": TEXT.replace("n >=", "m >=")}, "m"),
    ],
)
async def test_a_template_that_cannot_be_is_refused(body: dict[str, str], says: str) -> None:
    """Before anybody starts it."""
    async with running("coordinator") as (doors, _):
        status, answer = await doors.ask(ADMIN, "PUT", ONE, body)
        assert status == 400, answer
        assert says in str(answer)


async def test_values_that_do_not_fit_are_told() -> None:
    """With the parameter's name."""
    async with running("coordinator") as (doors, _):
        await doors.ask(ADMIN, "PUT", ONE, {"text": TEXT})
        for values, says in (
            ({}, "parameter 'kind'"),
            ({"kind": "c"}, "one of 'a', 'b'"),
            ({"kind": "a", "least": 101}, "0 to 100"),
            ({"kind": "a", "most": 1}, "there is no parameter 'most'"),
        ):
            status, answer = await doors.ask(
                ADMIN, "PUT", f"{ONE}/instances/Mine", {"values": values}
            )
            assert (status, says in str(answer)) == (400, True), answer


async def test_code_takes_a_right_of_its_own() -> None:
    """As in apps."""
    text = TEXT.replace(
        "define stream", "define function f[python] return long { return 1 };\ndefine stream", 1
    )
    async with running("coordinator") as (doors, _):
        dave = await _token(doors, "deploy", "*")
        assert (await doors.ask(dave, "PUT", ONE, {"text": text}))[0] == 403
        assert (await doors.ask(dave, "PUT", ONE, {"text": TEXT}))[0] == 201


async def test_by_command(tmp_path: Path) -> None:
    """From the file to the instance and back."""
    file = tmp_path / "big.siddhi"
    file.write_text(TEXT)
    async with running() as (doors, _):

        async def run(*arguments: str) -> str:
            given = ["--url", doors.url, "--token", CLUSTER, "templates", *arguments]
            done = await asyncio.to_thread(CliRunner().invoke, command, given)
            assert done.exit_code == 0, done.output
            return done.stdout

        assert "kept Big ones" in await run("put", str(file))
        assert "started Mine: least=5, kind=b" in await run("start", "Big ones", "Mine", "kind=b")
        assert "Mine runs so already" in await run("start", "Big ones", "Mine", "kind=b")
        shown = await run("show", "Big ones")
        assert "0 to 100" in shown
        assert "Mine" in shown
        assert await run("show", "Big ones", "--text") == TEXT
        assert "least, kind" in await run("list")
        assert "stopped Mine" in await run("stop", "Big ones", "Mine")
        assert "removed Big ones" in await run("remove", "Big ones")
