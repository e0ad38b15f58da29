"""`lockstep versions`, `nodes` and `logs` on a running suite."""

from __future__ import annotations

import asyncio
import json

from typer.testing import CliRunner

from lockstep import __version__
from lockstep.cli.command import app as command
from lockstep.telemetry import LogTail
from tests.unit.services.suite import CLUSTER, bearer, running_with

TEXT = "@app:name('Kept') define stream In (n long); from In[n > {n}] select n insert into Out;\n"


async def test_versions_nodes_and_logs_by_command() -> None:
    """Listed, shown, compared, deployed again; what is wrong is said, with exit code 2."""
    tail = LogTail(max_lines=5, max_bytes=1_000)
    tail.add("warning", json.dumps({"level": "warning", "message": "look out", "app": "Kept"}))
    async with running_with(tail) as (doors, _):

        async def run(*arguments: str, fails: bool = False) -> str:
            given = ["--url", doors.url, "--token", CLUSTER, *arguments]
            done = await asyncio.to_thread(CliRunner().invoke, command, given)
            assert done.exit_code == (2 if fails else 0), done.output
            # The services beside it log to standard error.
            return done.stderr if fails else done.stdout

        for number in (1, 2):
            body = {"text": TEXT.format(n=number)}
            status, answer = await doors.ask(bearer(CLUSTER), "PUT", "/v1/apps", body)
            assert status in (200, 201), answer
        listed = await run("versions", "Kept")
        assert listed.index("upgrade") < listed.index("new app")
        assert await run("versions", "Kept", "--show", "1") == TEXT.format(n=1)
        compared = await run("versions", "Kept", "--diff", "1", "2")
        assert "--- Kept version 1" in compared
        assert "+@app:name" in compared
        assert "have the same text" in await run("versions", "Kept", "--diff", "2", "2")
        assert "deployed Kept with the text of version 1" in await run(
            "versions", "Kept", "--deploy", "1"
        )
        assert "has the text of version 3 already" in await run("versions", "Kept", "--deploy", "3")
        assert "an earlier text again" in await run("versions", "Kept")
        assert "kept are 1 to 3" in await run("versions", "Kept", "--show", "7", fails=True)
        assert "only one of" in await run(
            "versions", "Kept", "--show", "1", "--deploy", "1", fails=True
        )
        assert __version__ in await run("nodes")
        assert await run("logs", "all", "--lines", "1") == "warning look out app=Kept\n"
        assert "these live: all" in await run("logs", "nobody", fails=True)
