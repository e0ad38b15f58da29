"""The JSON routes give what their description says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from inspect import getdoc
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from lockstep.bus import LogName
from lockstep.events import Operation, OutputId, OutputRecord, OutputRow
from lockstep_services.presenter.api import Api, Lookup
from lockstep_services.presenter.described import Latest, Polled
from lockstep_services.presenter.feed import READING
from lockstep_services.presenter.models import ALL_ROWS, TRIMMED
from tests.unit.services.presenter.feeds import World, running, view

TABLE = (
    "@app:name('A') define stream In (k string, v int); @store(type='rdbms') @PrimaryKey('k')"
    " define table T (k string, v int); from In select k, v update or insert into T on T.k == k;"
)


@asynccontextmanager
async def asking(world: World) -> AsyncIterator[TestClient[web.Request, web.Application]]:
    """A client of the routes over a feed."""
    application = web.Application()
    Api(Lookup(world.feed), world.listeners, world.clock, 10).add_to(application.router)
    async with TestClient(TestServer(application)) as client:
        yield client


async def asked(client: TestClient[web.Request, web.Application], path: str) -> Any:
    """What a route of the app answers."""
    async with client.get(f"/v1/apps/A/{path}") as answer:
        assert answer.status == 200, await answer.text()
        return await answer.json()


async def test_the_order_of_rows_is_what_the_description_says() -> None:
    """The newest rows come newest first, those behind an identity in their order."""
    async with running() as world, asking(world) as client:
        log = await world.bus.output_log(LogName("A"))
        for _ in range(3):
            await world.publish(log, "One")
        await world.found()
        latest = await asked(client, "streams/One/latest?limit=2")
        assert [row["event"]["v"] for row in latest["events"]] == [3, 2]
        assert latest["total"] == 3
        assert "newest first" in (getdoc(Latest) or "")
        polled = await asked(client, "streams/One/poll?after=0.0")
        assert [row["event"]["v"] for row in polled["events"]] == [1, 2, 3]
        assert "oldest first" in (getdoc(Polled) or "")


async def test_a_table_with_a_trimmed_log_says_that_rows_may_be_missing() -> None:
    """And why, and what to do; while the log is still read, that this is so."""
    async with running() as world, asking(world) as client:
        log = await world.bus.output_log(LogName("A"))
        world.apps.stored["A"] = view(TABLE)
        for at, key in enumerate("ab", 1):
            change = OutputRow(OutputId(at, 0), "T", 1, (key, at), Operation.UPSERT)
            await log.append(OutputRecord(1, (change,)), expected_sequence=at - 1)
        await log.trim(1)
        await world.feed.find("A")
        models = world.feed.models("A")
        assert models is not None
        assert models.missing(models.tables["T"]) == READING
        await world.clock.advance_ms(10)
        found = await asked(client, "tables/T")
        assert (found["rows"], found["complete"]) == ([{"k": "b", "v": 2}], False)
        assert found["missing"] == f"Rows may be missing: {TRIMMED}. {ALL_ROWS}"
