"""`lockstep connectors`, `pause` and `resume` on a running suite, and what its metrics say."""

from __future__ import annotations

import asyncio

from typer.testing import CliRunner

from lockstep.cli.command import app as command
from lockstep.cli.commands.connectors import paused_said
from lockstep.telemetry import LogTail
from tests.unit.services.suite import CLUSTER, bearer, running_with

TEXT = (
    "@app:name('Hot') @source(type='http', receiver.url='http://h/hot', @map(type='json'))"
    " define stream In (n long); @sink(type='log') define stream Out (n long);"
    " from In select n insert into Out;"
)


async def test_pausing_by_command() -> None:
    """Named by its stream; told in the list, the status and the metrics, until it is resumed."""
    async with running_with(LogTail(max_lines=5, max_bytes=1_000)) as (doors, _):
        given = ["--url", doors.url, "--token", CLUSTER]

        async def run(*arguments: str, fails: bool = False) -> str:
            done = await asyncio.to_thread(CliRunner().invoke, command, [*given, *arguments])
            assert done.exit_code == (2 if fails else 0), done.output
            return done.output

        async def states() -> dict[str, str]:
            _, found = await doors.ask(bearer(CLUSTER), "GET", "/v1/apps/Hot/connectors")
            return {one["element"]: one["state"] for one in found["connectors"]}

        async def become(source: str, sink: str) -> None:
            async with asyncio.timeout(60):
                while await states() != {"source:In.0.http": source, "sink:Out.0.log": sink}:
                    await asyncio.sleep(0.05)

        status, answer = await doors.ask(bearer(CLUSTER), "PUT", "/v1/apps", {"text": TEXT})
        assert status == 201, answer
        await become("running", "running")
        assert "that do not run" not in await run("status", "Hot")
        paused = await run("pause", "Hot", "Out", "--why", "new disk")
        assert "paused of Hot: sink:Out.0.log\n" in paused
        await become("running", "paused")
        assert "new disk" in await run("connectors", "Hot")
        assert "that do not run" in await run("status", "Hot")
        paused = await run("pause", "Hot")
        assert "paused of Hot: sink:Out.0.log, source:In.0.http\n" in paused
        await become("paused", "paused")
        status, answer = await doors.ask(bearer(CLUSTER), "POST", "/hot", {"event": {"n": 1}})
        assert (status, answer["title"]) == (503, "Service Unavailable")
        _, shown = await doors.ask(bearer(CLUSTER), "GET", "/metrics")
        assert 'lockstep_publisher_paused{app="Hot",sink="Out.0.log"} 1.0' in str(shown)
        assert 'lockstep_receiver_source_paused{app="Hot",source="In.0.http"} 1.0' in str(shown)
        assert "has no source or sink 'Nowhere'" in await run(
            "resume", "Hot", "Nowhere", fails=True
        )
        assert "still paused of Hot: nothing\n" in await run("resume", "Hot", "In", "Out.0.log")
        await become("running", "running")
        status, answer = await doors.ask(bearer(CLUSTER), "POST", "/hot", {"event": {"n": 1}})
        assert status == 200, answer
        _, audit = await doors.ask(bearer(CLUSTER), "GET", "/v1/audit?app=Hot")
        done = [one["path"] for one in audit["entries"] if "connectors" in one["path"]]
        assert "/v1/apps/Hot/connectors/Out/pause" in done


def test_what_is_said_of_an_app_that_has_nothing_to_pause() -> None:
    """A pause that did nothing does not read like a resume that did its work."""
    assert paused_said("Hot", "pause", []).startswith("Hot has no sources or sinks to pause")
    assert paused_said("Hot", "resume", []) == "still paused of Hot: nothing"
