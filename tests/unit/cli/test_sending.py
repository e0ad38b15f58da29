"""`lockstep send` against services in this process: what it says became of the events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from typer.testing import Result

from tests.unit.cli.conftest import Lockstep
from tests.unit.services.suite import CLUSTER, Doors, bearer, running

APP = """
@app:name('My__App')
define stream Sale (page string, n int);
define stream Other (page string, n int);
from Sale select page, n insert into Out;
from Other select page, n insert into Out;
"""
EVENT = '{"page":"x","n":1}'


@pytest.fixture
async def doors() -> AsyncIterator[Doors]:
    """A receiver that knows the app."""
    async with running("coordinator", "processor", "receiver") as (found, _):
        status, answer = await found.ask(bearer(CLUSTER), "POST", "/v1/apps", {"text": APP})
        assert status == 201, answer
        yield found


class Sending:
    """Runs the command beside the services."""

    def __init__(self, doors: Doors, lockstep: Lockstep) -> None:
        self._url = doors.url
        self._lockstep = lockstep

    async def __call__(self, stream: str, *more: str) -> Result:
        command = ("--url", self._url, "send", "My__App", stream, EVENT, *more)
        return await asyncio.to_thread(self._lockstep, *command)


@pytest.fixture
def send(doors: Doors, lockstep: Lockstep, monkeypatch: pytest.MonkeyPatch) -> Sending:
    """With the cluster's token."""
    monkeypatch.setenv("LOCKSTEP_CLIENT__TOKEN", CLUSTER)
    return Sending(doors, lockstep)


async def test_an_id_is_one_of_its_stream(send: Sending) -> None:
    """What is sent to another stream under it is in, too; what was there already is told as such,
    and to programs as a member of the answer."""
    for stream in ("Sale", "Other"):
        first, again = await send(stream, "--id", "z"), await send(stream, "--id", "z")
        assert (first.exit_code, first.stdout) == (0, "accepted 1 event\n"), first.stderr
        assert (again.exit_code, again.stdout) == (0, "1 event: was there already\n")
    told = json.loads((await send("Sale", "--id", "z", "--json")).stdout)
    assert (told["accepted"], told["duplicate"]) == (1, True)


async def test_an_empty_id_is_no_id(send: Sending) -> None:
    """It would make nothing harmless; so the receiver refuses it, and says what to do."""
    refused = await send("Sale", "--id", "")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Idempotency-Key: 1 to 200 characters" in refused.stderr
    assert "leave it out" in refused.stderr
