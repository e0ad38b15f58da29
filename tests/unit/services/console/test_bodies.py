"""Bodies of requests from strangers: none is larger than a form."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.types import Message, Receive, Scope, Send

from lockstep_services.console.bodies import FORM_MAX_BYTES, Bounded

CHUNK = b"x" * 8_192


@pytest.fixture
def door(application: FastAPI) -> AsyncClient:
    """Who asks it."""
    return AsyncClient(transport=ASGITransport(app=application), base_url="http://127.0.0.1:8260")


async def chunks(count: int) -> AsyncIterator[bytes]:
    """A body that does not say how long it is."""
    for _ in range(count):
        yield CHUNK


@pytest.mark.parametrize("path", ["/login", "/invitation", "/logout", "/nowhere"])
async def test_a_body_that_says_it_is_too_large_is_refused(door: AsyncClient, path: str) -> None:
    """Whatever its form is; nothing of it is read."""
    form = {f"field{number}": "x" * 1_000 for number in range(1_000)}
    for answer in (
        await door.post(path, data=form),
        await door.post(path, files={"file": CHUNK * 9}),
    ):
        assert (answer.status_code, str(FORM_MAX_BYTES) in answer.text) == (413, True)
        assert answer.headers["connection"] == "close"
        assert "content-security-policy" in answer.headers


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=B"]
)
async def test_a_body_that_does_not_say_how_large_it_is(door: AsyncClient, kind: str) -> None:
    """It is counted as it comes."""
    headers = {"Content-Type": kind}
    for count, is_refused in ((9, True), (8, False)):
        answer = await door.post("/invitation", content=chunks(count), headers=headers)
        assert (answer.status_code == 413) is is_refused


async def test_the_longest_form_that_can_be_filled_in_passes(door: AsyncClient) -> None:
    """It was read, as its passwords are found to differ."""
    widest = "\U0001f600"
    form = {"invitation": widest * 4_096, "password": widest * 256, "again": widest * 255}
    answer = await door.post("/invitation", data=form)
    assert (answer.status_code, "differ" in answer.text) == (400, True)


async def heard(path: str, *messages: Message) -> list[Message]:
    """What the application behind it gets of a chunked body, message by message."""
    found: list[Message] = []
    waiting = [*messages]

    async def application(_scope: Scope, receive: Receive, _send: Send) -> None:
        found.extend([await receive() for _ in messages])

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        assert message["type"].startswith("http.response")

    headers = [(b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    await Bounded(application)(scope, receive, send)
    return found


async def test_who_goes_in_the_midst_is_seen_to_have_gone() -> None:
    """Half a form is none."""
    part: Message = {"type": "http.request", "body": b"user=a", "more_body": True}
    gone: Message = {"type": "http.disconnect"}
    assert await heard("/login", part, gone, gone) == [part, gone, gone]


async def test_what_open_pages_send_is_not_counted() -> None:
    """Uploads may be larger than forms."""
    part: Message = {"type": "http.request", "body": b"x" * 100_000, "more_body": False}
    assert await heard("/_nicegui/client/1/upload/2", part) == [part]
    assert await heard("/login", part) == []
