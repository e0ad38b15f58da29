"""Rows of a run into a stream of an app, through the receiver: sent again they are there once."""

from __future__ import annotations

import asyncio

import pyarrow as pa
import pytest

from lockstep.batch.model import Run
from lockstep.batch.outputs import ToStream
from lockstep.client.errors import NotAcceptedError
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import UnavailableError
from lockstep_services.publisher.batch.sending import Sender
from tests.unit.services.suite import CLUSTER, bearer, running

TEXT = """
@app:name('Counting')
define stream Clicked (page string, n long, at long);
from Clicked select count() as events, sum(n) as total, max(at) as latest insert into Counted;
"""
ROWS = pa.table(
    {
        "at": pa.array([1_700_000_000_000] * 1_100, pa.timestamp("ms", "UTC")),
        "n": list(range(1_100)),
        "page": ["/"] * 1_100,
    }
)


async def test_rows_that_are_sent_twice_are_in_the_app_once() -> None:
    """By whoever sends them: the ids are the run's. Another run's rows are others."""
    async with running() as (doors, process):
        root = bearer(CLUSTER)
        assert (await doors.ask(root, "PUT", "/v1/apps", {"text": TEXT}))[0] == 201
        output = ToStream("Counting", "Clicked")
        last = ROWS.slice(1_099)
        for due_ms, rows in ((60, ROWS), (60, ROWS), (120, ROWS), (180, last)):
            sender = Sender(
                lambda: [process.running.url], CLUSTER, SystemClock(), SystemRandomness()
            )
            await sender.send(rows, Run("s", 1, "digest", due_ms), output)
        path = "/v1/apps/Counting/streams/Counted/latest?limit=1"
        async with asyncio.timeout(60):
            found = ""
            while '"events": 2201' not in found:
                found = str((await doors.ask(root, "GET", path))[1]).replace("'", '"')
                await asyncio.sleep(0.05)
        assert f'"total": {2 * sum(range(1_100)) + 1_099}' in found
        assert '"latest": 1700000000000' in found
        with pytest.raises(NotAcceptedError):
            await sender.send(ROWS, Run("s", 1, "digest", 1), ToStream("Nobody", "Clicked"))
    with pytest.raises(UnavailableError, match="no receiver"):
        await Sender(list, CLUSTER, SystemClock(), SystemRandomness()).send(
            ROWS, Run("s", 1, "digest", 1), output
        )
