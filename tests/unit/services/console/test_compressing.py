"""Files of the pages: compressed once, kept, and all of those that any page loads."""

from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from lockstep_services.console import compressing
from lockstep_services.console.compressing import EVERY_PAGE, Compressing, prepare
from tests.unit.services.console.on_a_page import started

UNUSED = {"sass.default.js", "immutable.es.js"}
"""In the pages' map of modules; no page of ours loads them."""

TEXT = "a file of the pages; " * 200


@pytest.fixture
def asked() -> list[str]:
    """The paths that came through to the application."""
    return []


@pytest.fixture
async def door(asked: list[str]) -> AsyncIterator[AsyncClient]:
    """Who asks for files."""

    async def give(request: Request) -> Response:
        asked.append(request.url.path)
        if "nothing" in request.url.path:
            return PlainTextResponse("", status_code=404)
        return PlainTextResponse(TEXT, headers={"Cache-Control": "max-age=60"})

    application = Compressing(Starlette(routes=[Route("/{path:path}", give)]))
    transport = ASGITransport(app=application)
    async with AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


async def test_a_file_is_asked_for_once(door: AsyncClient, asked: list[str]) -> None:
    """Whatever stands behind its question mark; a browser that takes no gzip has its own."""
    first = await door.get("/assets/a.css")
    again = await door.get("/assets/a.css?x=1")
    assert (first.text, again.text, asked) == (TEXT, TEXT, ["/assets/a.css"])
    assert again.headers == first.headers
    assert (first.headers["content-encoding"], first.headers["cache-control"]) == (
        "gzip", "max-age=60",
    )  # fmt: skip
    plain = await door.get("/assets/a.css", headers={"Accept-Encoding": "identity"})
    assert (plain.text, "content-encoding" in plain.headers) == (TEXT, False)
    assert len(asked) == 2


async def test_what_is_no_whole_file_is_not_kept(door: AsyncClient, asked: list[str]) -> None:
    """Neither pages, nor what is missing, nor a part."""
    for _ in range(2):
        assert (await door.get("/apps")).headers["content-encoding"] == "gzip"
        assert (await door.get("/assets/nothing")).status_code == 404
        await door.get("/assets/b.css", headers={"Range": "bytes=0-9"})
        await door.head("/assets/b.css")
    assert len(asked) == 8


async def test_what_is_kept_has_a_limit(
    door: AsyncClient, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond it files are packed each time."""
    monkeypatch.setattr(compressing, "MAX_KEPT_BYTES", len(gzip.compress(TEXT.encode())) + 50)
    for _ in range(2):
        await door.get("/assets/a.css")
        await door.get("/assets/b.css")
    assert asked == ["/assets/a.css", "/assets/b.css", "/assets/b.css"]


async def test_all_that_every_page_loads_is_prepared(application: FastAPI) -> None:
    """The pages' makers may load other files in their next release: then this list changes."""
    transport = ASGITransport(app=application)
    statuses = []

    async def watched(scope: object, receive: object, send: object) -> None:
        async def told(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)  # type: ignore[operator]

        await application(scope, receive, told)  # type: ignore[arg-type]

    async with (
        started(application),
        AsyncClient(transport=transport, base_url="http://127.0.0.1:8260") as door,
    ):
        await prepare(watched)
        page = (await door.get("/apps")).text
    assert statuses == [200] * len(EVERY_PAGE)
    named = set(re.findall(r"""["'](/(?:assets|_nicegui/[^/"']+/static)/[^"']+?)["'?]""", page))
    assert {one for one in named if one.split("/")[-1] not in UNUSED} <= set(EVERY_PAGE)
