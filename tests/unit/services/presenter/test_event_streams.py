"""Event streams: who takes nothing, how many there may be, and what the live page is sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.unit.services.presenter.rows import ALLOWED, STREAM, send, shown, suite
from tests.unit.services.suite import CLUSTER, Doors, bearer

ROWS, LIVE = f"{STREAM}/sse", "/v1/apps/A/live"
EVENTS = "/v1/apps/B/streams/In/events"
LARGE_TEXT = "x" * 400_000


async def listeners(doors: Doors, kind: str) -> float:
    """How many of a kind there are."""
    _, text = await doors.ask(bearer(CLUSTER), "GET", "/metrics")
    start = f'lockstep_presenter_listeners{{kind="{kind}"'
    found = (float(one.split()[-1]) for one in text.splitlines() if one.startswith(start))
    return next(found, 0.0)


@contextlib.asynccontextmanager
async def taking_nothing(doors: Doors, path: str) -> AsyncIterator[socket.socket]:
    """A client with a small buffer that has asked, and does not read."""
    host, _, port = doors.url.removeprefix("http://").partition(":")
    lines = (f"GET {path} HTTP/1.1", f"Host: {host}", f"Authorization: {bearer(CLUSTER)}", "", "")
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, (host, int(port)))
        await loop.sock_sendall(client, "\r\n".join(lines).encode())
        yield client


@pytest.mark.parametrize(("kind", "path"), [("sse", ROWS), ("live", LIVE)])
async def test_a_client_that_takes_nothing_is_cut(kind: str, path: str) -> None:
    """Its place is another's then."""
    async with (
        suite(LOCKSTEP_PRESENTER__SEND_LIMIT_MS="300") as (doors, _),
        taking_nothing(doors, path) as client,
        asyncio.timeout(60),
    ):
        while await listeners(doors, kind) != 1:
            await asyncio.sleep(0.02)
        number = 0
        while await listeners(doors, kind):
            await send(doors, number, text=LARGE_TEXT)
            number += 1
        with contextlib.suppress(ConnectionError):
            while await asyncio.get_running_loop().sock_recv(client, 65_536):
                pass


async def test_live_pages_count_as_listeners() -> None:
    """One too many is refused; whoever leaves makes room."""
    async with suite(LOCKSTEP_PRESENTER__MAX_LISTENERS="1") as (doors, _):
        async with doors.session.get(doors.url + LIVE, headers=ALLOWED) as first:
            assert first.status == 200
            for path in (LIVE, ROWS):
                status, answer = await doors.ask(bearer(CLUSTER), "GET", path)
                assert (status, "no more are taken" in answer["detail"]) == (503, True)
        async with asyncio.timeout(60):
            while await listeners(doors, "live"):
                await asyncio.sleep(0.02)
        async with doors.session.get(doors.url + LIVE, headers=ALLOWED) as next_one:
            assert next_one.status == 200


async def digest(response: aiohttp.ClientResponse) -> Any:
    """The next one."""
    async for line in response.content:
        if line.startswith(b"data: "):
            return json.loads(line[6:])
    raise AssertionError("no digest")


async def test_the_live_page_learns_of_which_app_its_figures_are() -> None:
    """It compares that with what it has loaded."""
    async with suite() as (doors, _):
        await send(doors, 7)
        await shown(doors, 1)
        _, loaded = await doors.ask(bearer(CLUSTER), "GET", "/v1/live/A")
        async with doors.session.get(doors.url + LIVE, headers=ALLOWED) as response:
            found = await digest(response)
        assert found["edition"] == loaded["edition"]
        assert found["streams"]["Out"]["rows"][0][2:] == [7, ""]


OBJECTS = (
    "@app:name('B') define stream In (o object);"
    " @sink(type='log') define stream Out (o object);"
    " from In select o insert into Out;"
)


async def test_the_live_page_is_sent_no_number_that_a_browser_would_round() -> None:
    """Within an object neither."""
    large = 2**53 + 1
    async with suite() as (doors, _), asyncio.timeout(60):
        status, _ = await doors.ask(bearer(CLUSTER), "PUT", "/v1/apps", {"text": OBJECTS})
        assert status == 201
        body = [[{"n": [large, 2**53, True, None], "at": -large}]]
        while (await doors.ask(bearer(CLUSTER), "POST", EVENTS, body))[0] != 200:
            await asyncio.sleep(0.02)
        live = doors.url + LIVE.replace("/A/", "/B/")
        async with doors.session.get(live, headers=ALLOWED) as response:
            while not (rows := (await digest(response))["streams"]["Out"]["rows"]):
                pass
    assert rows[0][2] == {"n": [str(large), 2**53, True, None], "at": str(-large)}
