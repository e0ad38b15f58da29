"""A suite whose one app gives out what it is sent, for tests of those who follow its rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tests.unit.services.suite import CLUSTER, Doors, bearer, running

TEXT = (
    "@app:name('A') define stream In (v int, s string);"
    " @sink(type='log') define stream Out (v int, s string);"
    " from In select v, s insert into Out;"
)
STREAM = "/v1/apps/A/streams/Out"
ALLOWED = {"Authorization": bearer(CLUSTER)}


@contextlib.asynccontextmanager
async def suite(**overrides: str) -> AsyncIterator[tuple[Doors, Any]]:
    """With the app running."""
    async with running(**overrides) as (doors, process):
        status, answer = await doors.ask(bearer(CLUSTER), "PUT", "/v1/apps", {"text": TEXT})
        assert status == 201, answer
        async with asyncio.timeout(60):
            while (await doors.ask(bearer(CLUSTER), "GET", "/siddhi-apps/A/status"))[1].get(
                "status"
            ) != "active":
                await asyncio.sleep(0.02)
        yield doors, process


async def send(doors: Doors, *values: int, text: str = "") -> None:
    """Events."""
    path = "/v1/apps/A/streams/In/events"
    status, answer = await doors.ask(bearer(CLUSTER), "POST", path, [[v, text] for v in values])
    assert status == 200, answer


async def shown(doors: Doors, count: int) -> None:
    """Waits until the presenter has so many rows."""
    async with asyncio.timeout(60):
        while (await doors.ask(bearer(CLUSTER), "GET", f"{STREAM}/latest"))[1]["total"] < count:
            await asyncio.sleep(0.02)
