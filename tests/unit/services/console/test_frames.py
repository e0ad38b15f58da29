"""Pages while the suite is silent: each is there with its frame, and fills itself later."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from fastapi import FastAPI, Request
from httpx import ASGITransport, AsyncClient

from lockstep.cli.addresses import Addresses
from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from lockstep.events.paths import app_path
from lockstep.settings import load_settings
from lockstep_services.console import guard, shell
from lockstep_services.console.allowed import WITHIN_S
from lockstep_services.console.pages.apps import row_of
from lockstep_services.console.suite import Doors, Suite
from lockstep_services.console.workshops import Workshops
from tests.unit.services.console.on_a_page import started

NAMED = (
    "/write?app=Hot", "/watch?app=Hot", "/watch/Rooms", "/apps/Hot", "/apps/Hot/tables",
    "/apps/Hot/flow",
    "/apps/Hot/simulate", "/apps/Hot/versions", "/apps/Hot/figures", "/nodes/one/log",
)  # fmt: skip
PAGES = [*(path for path, *_ in shell.PLACES), *NAMED]
KEYS = Path(shell.__file__).parent / "static" / "keys.js"


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """The address of a suite that takes every connection and never answers."""
    held: list[asyncio.StreamWriter] = []

    async def hold(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in held:
            writer.close()


async def framed(door: AsyncClient, path: str) -> str:
    """The path where the page there has no frame; else nothing."""
    answer = await door.get(path)
    is_there = answer.status_code == 200 and 'aria-label="Pages"' in answer.text
    return "" if is_there and "page-head" in answer.text else f"{path}: {answer.text[:200]}"


async def test_a_silent_suite_leaves_the_frame(application: FastAPI) -> None:
    """NiceGUI gives up a page that is not built after three seconds: none waits for an answer."""
    settings = load_settings({})
    transport = ASGITransport(app=application)
    async with (
        silent() as url,
        started(application),
        AsyncClient(transport=transport, base_url="http://127.0.0.1:8260") as door,
    ):
        doors = Doors.open(Addresses(url, url, url))
        world = shell.World(doors, settings, VirtualClock(), Workshops(settings.console))
        world.known.add(None)
        await shell.close()
        shell.open_with(world)
        found = await asyncio.gather(*(framed(door, path) for path in PAGES))
        await doors.session.close()
    assert "".join(found) == ""


APP = {"seen": {}, "units": 1, "replicas": 1, "version": "1", "updated_ms": 0}


@pytest.mark.parametrize("name", ["a/b", "a%2Fb", "a%%20b", "é x?q=1#h", "50%"])
async def test_a_name_may_hold_what_separates_addresses(
    application: FastAPI, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The link to it leads to a page of that very name, and so do those below it."""
    link, asked = row_of({**APP, "app": name})[0].link, list[str]()

    async def ask(_suite: Suite, path: str, **_: str) -> None:
        asked.append(path)
        raise UnavailableError("it is away")

    monkeypatch.setattr(Suite, "ask", ask)
    async with (
        started(application),
        AsyncClient(
            transport=ASGITransport(app=application), base_url="http://127.0.0.1:8260"
        ) as door,
    ):
        for path in (link, f"{link}/tables", f"{link}/flow"):
            assert (await door.get(path)).status_code == 200
    assert {f"{app_path(name)}/status", app_path(name), f"{app_path(name)}/flow"} <= set(asked)


async def _late(_: web.Request) -> web.Response:
    """Refuses after what a service needs to look once more."""
    await asyncio.sleep(2 * WITHIN_S)
    return web.json_response({"title": "Unauthorized", "status": 401}, status=401)


async def test_a_stranger_sees_nothing_before_the_suite_knows_him(application: FastAPI) -> None:
    """No frame either: the refusal of a token that nobody knows takes longer than others."""
    settings, far = load_settings({}), web.Application()
    far.router.add_get("/v1/me", _late)
    async with (
        TestServer(far) as suite,
        started(application),
        AsyncClient(
            transport=ASGITransport(app=application), base_url="http://127.0.0.1:8260"
        ) as door,
    ):
        url = str(suite.make_url("")).rstrip("/")
        doors = Doors.open(Addresses(url, url, url))
        world = shell.World(doors, settings, VirtualClock(), Workshops(settings.console))
        await shell.close()
        shell.open_with(world)
        world.known.add(None)
        known = await door.get("/apps?x=1")
        world.known.remove(None)
        unknown = await door.get("/apps?x=1")
        await doors.session.close()
    assert (known.status_code, unknown.status_code) == (200, 303)
    assert unknown.headers["Location"] == "/login?to=/apps%3Fx%3D1"
    assert not unknown.text


def test_each_page_has_its_key_and_its_metrics() -> None:
    """What the list of keys says works, and no page counts as another one."""
    written = re.search(r"places = \{(.+?)\}", KEYS.read_text("utf-8"))
    assert written is not None
    keys = dict(re.findall(r'(\w): "(/\w+)"', written[1]))
    assert keys == {key: path for path, _, key, _ in shell.PLACES}
    assert {path for path, *_ in shell.PLACES} <= guard.ROUTES


async def test_all_that_a_page_waits_for_shares_one_time() -> None:
    """What who asks has taken of it is not there for the rows any more."""
    clock, settings = VirtualClock(), load_settings({})
    doors = Doors.open(Addresses("http://a", "http://a", "http://a"))
    world = shell.World(doors, settings, clock, Workshops(settings.console))
    request = Request({"type": "http"})
    view = shell.View(request, world, Suite(doors, None), asked_ms=clock.monotonic_ms())
    assert view.left_s() == shell.FIRST_WITHIN_S == 0.15
    await clock.advance_ms(100)
    assert round(view.left_s(), 3) == 0.05
    await clock.advance_ms(100)
    assert view.left_s() == 0.0
    await doors.session.close()
