"""The last log lines of a process: by its door, and by the coordinator."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from lockstep.control import Heartbeat
from lockstep.control.messages import HEARTBEATS
from lockstep.telemetry import LogTail
from tests.unit.services.suite import CLUSTER, Doors, bearer, running_with

ADMIN = bearer(CLUSTER)


def filled() -> LogTail:
    """Three lines, one of each kind."""
    tail = LogTail(max_lines=10, max_bytes=1_000)
    for level in ("info", "warning", "error"):
        tail.add(level, f"<b>{level}</b>")
    return tail


async def _token(doors: Doors, role: str, app: str | None) -> str:
    body = {"name": role, "grants": [{"role": role, "app": app}], "expires_in_ms": 60_000}
    status, answer = await doors.ask(ADMIN, "POST", "/v1/tokens", body)
    assert status == 201, answer
    return bearer(answer["token"])


async def _until_known(doors: Doors, node: str) -> dict[str, Any]:
    while True:
        _, answer = await doors.ask(ADMIN, "GET", "/v1/nodes")
        for one in answer["nodes"]:
            if one["node"] == node:
                found: dict[str, Any] = one
                return found


@pytest.mark.parametrize("path", ["/log", "/v1/nodes/all/log"])
async def test_administrators_read_the_last_lines(path: str) -> None:
    """So many as they ask for, of a level at least; nobody else does."""
    async with running_with(filled(), "coordinator") as (doors, _):
        await _until_known(doors, "all")
        status, answer = await doors.ask(ADMIN, "GET", path)
        assert status == 200, answer
        assert [one["level"] for one in answer["lines"]] == ["info", "warning", "error"]
        _, answer = await doors.ask(ADMIN, "GET", f"{path}?lines=1")
        assert answer["lines"] == [{"level": "error", "line": "<b>error</b>"}]
        _, answer = await doors.ask(ADMIN, "GET", f"{path}?lines=9&level=warning")
        assert [one["level"] for one in answer["lines"]] == ["warning", "error"]
        for wrong in ("lines=0", "lines=-1", "lines=x", "level=loud"):
            status, answer = await doors.ask(ADMIN, "GET", f"{path}?{wrong}")
            assert (status, "expected" in answer["detail"]) == (400, True), wrong
        assert (await doors.ask(None, "GET", path))[0] == 401
        for role, app in (("deploy", None), ("view", None), ("administer", "One")):
            shown = await _token(doors, role, app)
            assert (await doors.ask(shown, "GET", path))[0] == 403, role
        everywhere = await _token(doors, "administer", None)
        assert (await doors.ask(everywhere, "GET", path))[0] == 200


async def test_lines_that_could_not_be_written_are_counted() -> None:
    """On the page of metrics of the process that has them in memory."""
    tail = filled()
    async with running_with(tail, "coordinator") as (doors, _):
        tail.count_lost()
        tail.count_lost()
        status, page = await doors.ask(ADMIN, "GET", "/metrics")
    assert (status, "lockstep_log_lines_lost_total 2.0" in page.splitlines()) == (200, True)


async def test_a_process_that_nobody_knows_is_said() -> None:
    """With those that live; a service by its name, too."""
    async with running_with(filled(), "coordinator", "receiver") as (doors, _):
        await _until_known(doors, "all")
        status, answer = await doors.ask(ADMIN, "GET", "/v1/nodes/nobody/log")
        assert (status, answer["hint"]) == (404, "these live: all")
        status, answer = await doors.ask(ADMIN, "GET", "/v1/nodes/all/log?service=receiver")
        assert (status, answer["service"]) == (200, "receiver")
        status, answer = await doors.ask(ADMIN, "GET", "/v1/nodes/all/log?service=publisher")
        assert (status, answer["detail"]) == (404, "no publisher 'all' is known")


@pytest.mark.parametrize("node", ["gone", "a/b"])
async def test_a_process_that_does_not_answer_is_said(node: str) -> None:
    """It was heard of, and nobody listens at its address."""
    async with running_with(filled(), "coordinator") as (doors, process):
        url = "http://127.0.0.1:9"
        beat = Heartbeat(node, "processor", url, sent_ms=1, interval_ms=60_000, version="9.9.9")
        await process.running.contexts["coordinator"].world.bus.topics.publish(
            HEARTBEATS, msgspec.json.encode(beat)
        )
        known = await _until_known(doors, node)
        assert (known["version"], known["resident_bytes"]) == ("9.9.9", None)
        path = f"/v1/nodes/{quote(node, safe='')}/log"
        status, answer = await doors.ask(ADMIN, "GET", path)
        assert (status, answer["detail"]) == (503, f"no log of '{node}': it does not answer")
        assert f"the processor at {url} was last heard of" in answer["hint"]
