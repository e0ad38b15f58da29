"""Commands and clients on apps whose names hold what an address uses for itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from lockstep.cli.addresses import Addresses
from lockstep.cli.caller import Caller
from lockstep.cli.client import Client
from lockstep.cli.command import app as command
from lockstep.client import EventClient
from tests.unit.services.suite import CLUSTER, running

TEXT = """@app:name('{app}')
define stream `In/?` (n long);
@sink(type='log') define stream Log (n long);
define table T (n long);
from `In/?` select n insert into `Out#`;
from `In/?` select n insert into Log;
from `In/?` select n insert into T;
"""
ODD = "../a?b=#c%20d%%e &ü"
COMMANDS = (
    ("status",), ("figures",), ("failovers",), ("flow",), ("snapshot",), ("revisions",),
    ("restore",), ("connectors",), ("pause",), ("resume",), ("errors",), ("errors", "--purge-all"),
    ("versions",), ("versions", "--show", "1"), ("asyncapi",), ("query", "from T select n"),
    ("send", "In/?", '{"n": 1}'),
)  # fmt: skip
Run = Callable[..., Awaitable[str]]


async def test_an_app_is_removed_and_no_other_one(tmp_path: Path) -> None:
    """The address of one has those of others in it."""
    async with running() as (doors, _):
        run = _running(doors.url)
        odd = ("X#2", "X?purge=true", "X/y", "X%20y")
        for app in ("X", "X y", *odd):
            await _deploy(run, tmp_path, app)
        for app in odd:
            await run("undeploy", app)
        assert {one["app"] for one in json.loads(await run("list", "--json"))} == {"X", "X y"}


async def test_each_command_and_client_finds_an_app_of_an_odd_name(tmp_path: Path) -> None:
    """With streams of odd names."""
    rows = tmp_path / "rows.ndjson"
    rows.write_text('{"n": 1}\n')
    async with running() as (doors, _):
        run, addresses = _running(doors.url), Addresses(doors.url, doors.url, doors.url, CLUSTER)
        await _deploy(run, tmp_path, ODD)
        for name, *rest in COMMANDS:
            await run(name, ODD, *rest)
        await run("archive", "status", ODD)
        await run("replay", ODD, "In/?", str(rows))
        assert f"'{ODD}' is not folding" in await run("cancel", ODD, fails=True)
        async with EventClient([doors.url], ODD, token=CLUSTER) as sending:
            one = await sending.send("In/?", {"n": 1})
            chunk = await sending.send_chunk("In/?", [{"n": 2}])
        assert chunk.first_position > one.last_position
        async with Client(addresses) as client:
            assert (await client.send(ODD, "In/?", b'{"n": 3}'))["accepted"] == 1
            line = b'{"stream": "In/?", "event": [4]}'
            assert (await client.send_mixed(ODD, line))["accepted"] == 1
            assert (await client.status(ODD))["app"] == ODD
            assert len(await client.versions(ODD)) == 1
        assert await _followed(run, addresses) == {"n": 7}


def _running(url: str) -> Run:
    async def run(*arguments: str, fails: bool = False) -> str:
        """What the command says."""
        given = ["--url", url, "--token", CLUSTER, *arguments]
        done = await asyncio.to_thread(CliRunner().invoke, command, given)
        assert done.exit_code == (2 if fails else 0), (arguments, done.output)
        return done.stderr if fails else done.stdout

    return run


async def _deploy(run: Run, folder: Path, app: str) -> None:
    file = folder / "app.siddhi"
    file.write_text(TEXT.format(app=app))
    assert app in await run("deploy", str(file))


async def _followed(run: Run, addresses: Addresses) -> Any:
    """A row that came meanwhile; those of what was sent before may still be under way. Two commands
    at once in this process mix their outputs."""
    rows = Caller(addresses).follow(ODD, "Out#", lambda _: None)
    events = (row["event"] for _, row in rows if row["event"]["n"] > 4)
    first = asyncio.create_task(asyncio.to_thread(next, events))
    while not first.done():
        await run("send", ODD, "In/?", '{"n": 7}')
    return await first
