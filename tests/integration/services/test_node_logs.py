"""What real processes tell of themselves: their version, what they take of their host, and their
last log lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lockstep import __version__
from lockstep.cli.processes import ProcessSuite, running_processes
from tests.integration.services.cluster import until

CLUSTER, SECRET = "c" * 40, "s3cr3t-hook"
PLAN = tuple((name, name) for name in ("coordinator", "processor", "publisher", "receiver"))
PLAN += (("presenter", "presenter"),)
APP = """@app:name('Loud') define stream In (a int);
@sink(type='http', publisher.url='http://127.0.0.1:9/${secret:hook}', @map(type='json'),
      headers="'Authorization: Bearer ${secret:hook}'")
define stream Out (a int);
from In select a insert into Out;"""

pytestmark = pytest.mark.servers


class Asking:
    """The suite, as somebody with a token."""

    def __init__(self, suite: ProcessSuite, session: aiohttp.ClientSession) -> None:
        self._suite = suite
        self._session = session

    async def ask(
        self, method: str, path: str, body: Any = None, *, token: str = CLUSTER, at: str = ""
    ) -> tuple[int, Any]:
        """Status and answer, of the coordinator or of the process that is named."""
        url = self._suite.processes[at].url if at else self._suite.addresses.coordinator
        headers = {"Authorization": f"Bearer {token}"}
        async with self._session.request(
            method, url + path, json=body, headers=headers
        ) as response:
            return response.status, await response.json()

    async def log(self, node: str, query: str = "") -> list[dict[str, str]]:
        """Its last lines."""
        status, answer = await self.ask("GET", f"/v1/nodes/{node}/log?lines=500{query}")
        assert status == 200, answer
        found: list[dict[str, str]] = answer["lines"]
        return found


async def test_processes_tell_what_they_take_and_what_they_have_logged(tmp_path: Path) -> None:
    """A processor's line is seen through the coordinator, as it stands in its file; no secret of an
    app and no token is in any; who may not is refused; of who was killed that is said."""
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "hook").write_text(SECRET)
    settings = {
        "LOCKSTEP_SERVER__TOKEN": CLUSTER,
        "LOCKSTEP_SECRETS__FOLDER": str(secrets),
        "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
        "LOCKSTEP_COORDINATOR__REPLICAS": "1",
        "LOCKSTEP_TELEMETRY__LOG_LEVEL": "debug",
    }
    async with (
        running_processes(tmp_path / "suite", plan=PLAN, overrides=settings) as suite,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        people = Asking(suite, session)
        await _all_tell(people)
        status, answer = await people.ask("PUT", "/v1/apps", {"text": APP})
        assert status == 201, answer

        async def built() -> bool:
            return any('"app": "Loud"' in one["line"] for one in await people.log("processor"))

        await until(built, "a line of the processor about the app")
        await _fails_loudly(people)
        written = suite.processes["processor"].log.read_text()
        lines = await people.log("processor")
        assert all(one["line"] in written for one in lines)
        assert json.loads(lines[-1]["line"])["level"] == lines[-1]["level"]
        logs = [one["line"] for node, _ in PLAN for one in await people.log(node)]
        assert len(logs) > len(PLAN)
        assert not [line for line in logs if SECRET in line or CLUSTER in line]
        await _refused(people)
        await suite.processes["processor"].kill()
        status, answer = await people.ask("GET", "/v1/nodes/processor/log")
        assert (status, answer["detail"]) == (503, "no log of 'processor': it does not answer")


async def _all_tell(people: Asking) -> None:
    """Every service: its version, and processor time as soon as there were two looks."""

    async def told() -> Any:
        _, answer = await people.ask("GET", "/v1/nodes")
        nodes = answer["nodes"]
        known = [one for one in nodes if one["process_cpu_percent"] is not None]
        return nodes if len(known) == len(PLAN) else None

    nodes = await until(told, "what all processes take")
    assert {one["version"] for one in nodes} == {__version__}
    assert min(one["resident_bytes"] for one in nodes) > 10_000_000


async def _fails_loudly(people: Asking) -> None:
    """A sink that nobody listens to, and a stranger's token: both could be told in a log."""
    path = "/v1/apps/Loud/streams/In/events"

    async def sent() -> bool:
        status, _ = await people.ask("POST", path, [[1]], at="receiver")
        return status == 200

    await until(sent, "an event that is taken")

    async def warned() -> bool:
        found = await people.log("publisher", "&level=warning")
        assert all(one["level"] in ("warning", "error") for one in found)
        return any("Loud" in one["line"] for one in found)

    await until(warned, "what the publisher says of its sink")
    status, _ = await people.ask("GET", "/v1/apps", token=CLUSTER + "x")
    assert status == 401


async def _refused(people: Asking) -> None:
    """At the process's own door, and at the coordinator."""
    body = {"name": "bob", "grants": [{"role": "deploy"}], "expires_in_ms": 60_000}
    status, answer = await people.ask("POST", "/v1/tokens", body)
    assert status == 201, answer

    async def is_known() -> bool:
        status, _ = await people.ask("GET", "/log", token=answer["token"], at="processor")
        return status != 401

    # A process that was just asked by a stranger looks for new tokens a moment later.
    await until(is_known, "the processor to know the new token")
    for token, expected in ((answer["token"], 403), ("nothing", 401)):
        for path, at in (("/v1/nodes/processor/log", ""), ("/log", "processor")):
            status, answer = await people.ask("GET", path, token=token, at=at)
            assert status == expected, (path, answer)
