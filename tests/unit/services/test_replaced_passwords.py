"""What a password opens after there is another one: nothing that lasts, at no coordinator."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import aiohttp

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import Process, open_world
from lockstep.settings import load_settings
from tests.unit.services.suite import CLUSTER, Doors, running
from tests.unit.services.test_openapi import SETTINGS, WIRES
from tests.unit.services.test_people import PASSWORD, ROOT, add, basic, log_in, until_it_ends

OTHER = "another horse battery"
THIEFS = "the thief's own password"
SELDOM_MS = "500000"
"""A coordinator that looks so seldom knows nothing of what is changed at the other one."""


@contextlib.asynccontextmanager
async def two() -> AsyncIterator[tuple[Doors, Doors]]:
    """Two coordinators over one store, of which the second one has read of root and ann."""
    given = {
        **SETTINGS,
        "LOCKSTEP_SERVER__TOKEN": CLUSTER,
        "LOCKSTEP_RIGHTS__REFRESH_MS": SELDOM_MS,
    }
    world = await open_world(load_settings(given), SystemClock(), SystemRandomness())
    async with (
        contextlib.AsyncExitStack() as ending,
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        ending.push_async_callback(world.close)
        doors = []
        for node in ("one", "two"):
            settings = load_settings({**given, "LOCKSTEP_SERVER__NODE": node})
            process = Process(settings, world, SystemClock(), SystemRandomness())
            ending.push_async_callback(process.stop)
            process.add("coordinator", WIRES["coordinator"])
            await process.start()
            doors.append(Doors(session, process.running.url))
        here, there = doors
        await add(here, "root", role="administer")
        await add(here, "ann", password=PASSWORD)
        await there.ask(ROOT, "GET", "/v1/users")
        yield here, there


async def test_an_old_password_begins_no_session_where_nobody_has_read_of_the_new_one() -> None:
    """Neither of a user whose password was reset, nor of one who was removed and whose name is
    another's."""
    body = {"user": "ann", "password": PASSWORD}
    async with two() as (here, there):
        await add(here, "ann", password=OTHER)
        status, answer = await there.ask(None, "POST", "/v1/login", body)
        assert (status, answer["detail"]) == (401, "this password was replaced by another one")
        assert (await here.ask(await log_in(here, "ann", OTHER), "GET", "/v1/me"))[0] == 200
    async with two() as (here, there):
        assert (await here.ask(ROOT, "DELETE", "/v1/users/ann"))[0] == 200
        await add(here, "ann", password=OTHER)
        assert (await there.ask(None, "POST", "/v1/login", body))[0] == 401


async def test_an_old_password_or_an_ended_session_replaces_no_password() -> None:
    """Shown to a coordinator that has read of nothing yet."""
    body = {"old": PASSWORD, "new": THIEFS}
    async with two() as (here, there):
        session = await log_in(there, "ann")
        assert (await here.ask(session, "POST", "/v1/logout"))[0] == 200
        status, answer = await there.ask(session, "PUT", "/v1/me/password", body)
        assert (status, answer["detail"]) == (401, "this session has ended")
        await add(here, "ann", password=OTHER)
        status, answer = await there.ask(basic("ann", PASSWORD), "PUT", "/v1/me/password", body)
        assert (status, answer["detail"]) == (401, "this password was replaced by another one")
        assert (await here.ask(basic("ann", OTHER), "GET", "/v1/me"))[0] == 200
        assert (await here.ask(basic("ann", THIEFS), "GET", "/v1/me"))[0] == 401


async def test_a_stream_that_was_opened_with_a_password_ends_with_it() -> None:
    """As one that was opened with a session does."""
    async with running("coordinator", "presenter") as (doors, _):
        await add(doors, "root", role="administer")
        await add(doors, "ann", role="view", password=PASSWORD)
        text = {"text": "@app:name('Hot') define stream S (a int); from S select a insert into T;"}
        assert (await doors.ask(ROOT, "PUT", "/v1/apps", text))[0] == 201
        async with (
            aiohttp.ClientSession(headers={"Authorization": basic("ann", PASSWORD)}) as session,
            session.get(f"{doors.url}/v1/apps/Hot/live") as stream,
        ):
            assert stream.status == 200
            await add(doors, "ann", password=OTHER)
            await until_it_ends(stream)
        assert (await doors.ask(basic("ann", OTHER), "GET", "/v1/apps/Hot"))[0] == 200
