"""The HTTP door: who may come in, how errors look, what is open to all."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from lockstep.clock import SystemClock
from lockstep.events import InvalidEventError, LockstepError, UnavailableError
from lockstep.frame import web as frame_web
from lockstep.frame.health import Readiness
from lockstep.frame.problems import Problem
from lockstep.frame.web import Door, OpenDoorError, check_host, check_sources_host
from lockstep.rights import ROUTES
from lockstep.rights.needs import KNOWN
from lockstep.settings import ServerSettings, load_settings
from lockstep.telemetry import Metrics, get_logger

NEEDS = {
    **ROUTES,
    ("GET", "/raise/{kind}"): KNOWN,
    ("GET", "/hello"): KNOWN,
    ("POST", "/hello"): KNOWN,
}


def server_settings(**given: str) -> ServerSettings:
    """The server section with some values."""
    variables = {f"LOCKSTEP_SERVER__{name.upper()}": value for name, value in given.items()}
    return load_settings(variables).server


async def raises(request: web.Request) -> web.Response:
    """Raises what the path names."""
    errors: dict[str, Exception] = {
        "user": InvalidEventError("bad", field="price"),
        "external": UnavailableError("away", where="/secret/folder"),
        "internal": LockstepError("secret detail"),
        "bug": RuntimeError("secret detail"),
        "problem": Problem(web.HTTPConflict.status_code, "taken", hint="wait"),  # type: ignore[arg-type]
    }
    raise errors[request.match_info["kind"]]


@contextlib.asynccontextmanager
async def open_door(**given: str) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """A listening door with a route that raises, and one that answers."""
    readiness = Readiness()
    readiness.open()
    door = Door(
        server_settings(**given), readiness, Metrics(), SystemClock(), get_logger(),
        max_body_bytes=1_000, needs=NEEDS,
    )  # fmt: skip

    async def hello(_: web.Request) -> web.Response:
        return web.json_response({"hello": True})

    door.application.router.add_get("/raise/{kind}", raises)
    door.application.router.add_route("*", "/hello", hello)
    await door.open()
    try:
        async with aiohttp.ClientSession() as session:
            yield door.url, session
    finally:
        await door.close()


@pytest.mark.parametrize(
    ("kind", "status"),
    [("user", 400), ("external", 503), ("internal", 500), ("bug", 500), ("problem", 409)],
)
async def test_errors_are_problems_and_keep_what_is_inside(kind: str, status: int) -> None:
    """problem+json by whose fault it is; no stack trace, no inner detail."""
    async with open_door() as (url, session), session.get(f"{url}/raise/{kind}") as response:
        body = await response.json()
        assert response.content_type == "application/problem+json"
        assert (response.status, body["status"]) == (status, status)
        assert "secret" not in str(body)
        assert ("Retry-After" in response.headers) == (kind == "external")


async def test_unknown_paths_and_methods_are_problems_too() -> None:
    """404 and 405 in the same shape."""
    async with open_door() as (url, session):
        async with session.get(f"{url}/nowhere") as response:
            assert (response.status, (await response.json())["status"]) == (404, 404)
        async with session.post(f"{url}/healthz") as response:
            assert response.status == 405


async def test_a_token_is_asked_for_everywhere_but_for_health() -> None:
    """Bearer header, or a cookie got by the address of the page."""
    async with open_door(token="s3cret") as (url, session):
        for path, status in (
            ("/healthz", 200),
            ("/readyz", 200),
            ("/hello", 401),
            ("/metrics", 401),
        ):
            async with session.get(url + path) as response:
                assert response.status == status, path
        for given, status in (("Bearer s3cret", 200), ("Bearer nope", 401), ("Basic s3cret", 401)):
            async with session.get(f"{url}/hello", headers={"Authorization": given}) as response:
                assert response.status == status
        async with session.get(f"{url}/hello?token=nope") as response:
            assert response.status == 401
        async with session.get(f"{url}/hello?token=s3cret", allow_redirects=False) as response:
            assert (response.status, response.headers["Location"]) == (303, "/hello")
            cookie = response.cookies["lockstep_token"]
            assert cookie["httponly"]
            assert cookie["samesite"] == "Strict"
        kept = {"Cookie": f"lockstep_token={cookie.value}"}
        async with session.get(f"{url}/hello", headers=kept) as response:
            assert response.status == 200


async def test_a_route_without_a_row_is_shut() -> None:
    """Also for those who may everything."""
    async with open_door() as (url, session), session.put(f"{url}/hello") as response:
        assert response.status == 403
        assert "who may use" in (await response.json())["detail"]


async def test_metrics_are_open_where_the_settings_say_so() -> None:
    """And nothing else is."""
    async with open_door(token="s3cret", open_metrics="true") as (url, session):
        for path, status in (("/metrics", 200), ("/openapi.json", 401), ("/nowhere", 401)):
            async with session.get(url + path) as response:
                assert response.status == status, path


async def test_pages_of_other_sites_cannot_use_an_open_door() -> None:
    """A foreign Origin may not write, a foreign name (rebinding) may not even read."""
    async with open_door() as (url, session):
        foreign = {"Origin": "http://evil.example"}
        async with session.post(f"{url}/hello", headers=foreign) as response:
            assert response.status == 403
        async with session.get(f"{url}/hello", headers={"Host": "evil.example"}) as response:
            assert response.status == 403
        own = {"Origin": url}
        async with session.post(f"{url}/hello", headers=own) as response:
            assert response.status == 200


async def test_a_request_that_nobody_answers_does_not_hold_the_end_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The door closes a moment later: its client hears that the connection is gone."""
    monkeypatch.setattr(frame_web, "LAST_ANSWERS_S", 0.01)
    door = Door(
        server_settings(), Readiness(), Metrics(), SystemClock(), get_logger(),
        max_body_bytes=1_000, needs=NEEDS,
    )  # fmt: skip
    is_there = asyncio.Event()

    async def hangs(_: web.Request) -> web.Response:
        is_there.set()
        return await asyncio.Future()

    door.application.router.add_post("/hello", hangs)
    await door.open()
    async with asyncio.timeout(30), aiohttp.ClientSession() as session:
        asked = asyncio.ensure_future(session.post(f"{door.url}/hello"))
        await is_there.wait()
        await door.close()
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await asked


def test_an_open_host_needs_a_token_or_permission() -> None:
    """Beyond the loopback: refused unless guarded or explicitly allowed."""
    with pytest.raises(OpenDoorError, match=r"0\.0\.0\.0"):
        check_host(server_settings(host="0.0.0.0"))
    check_host(server_settings(host="0.0.0.0", token="x"))
    check_host(server_settings(host="0.0.0.0", allow_open_host="true"))
    for host in ("127.0.0.1", "::1", "localhost"):
        check_host(server_settings(host=host))


def test_the_servers_of_sources_stay_on_the_loopback_unless_it_is_said() -> None:
    """Their protocols know no token, so a token is no permission."""
    with pytest.raises(OpenDoorError, match=r"0\.0\.0\.0"):
        check_sources_host("0.0.0.0", server_settings(host="127.0.0.1", token="x"))
    check_sources_host("0.0.0.0", server_settings(host="127.0.0.1", allow_open_host="true"))
    check_sources_host("127.0.0.1", server_settings(host="127.0.0.1"))


async def test_readiness_names_what_is_unwell() -> None:
    """503 with the reason of each check."""
    readiness = Readiness()
    assert await readiness.report() == {"service": "starting"}

    async def unwell() -> str | None:
        return "the bus does not answer"

    async def fails() -> str | None:
        raise UnavailableError("gone")

    readiness.open()
    readiness.register("bus", unwell)
    readiness.register("store", fails)
    report = await readiness.report()
    assert report == {"service": None, "bus": "the bus does not answer", "store": "gone"}
