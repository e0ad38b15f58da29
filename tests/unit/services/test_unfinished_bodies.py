"""Bodies that do not come to their end: no door keeps much of them, or keeps them for long, and
nobody else is kept out by them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from lockstep.frame import bodies
from lockstep.frame.bodies import Pace, parts_of, read_body
from lockstep.frame.problems import Problem
from lockstep.tls import TlsFiles
from lockstep_services.coordinator.forward import Forwarder
from tests.unit.services.suite import CLUSTER, Doors, bearer, running
from tests.unit.services.test_bad_requests import captured_log

APP = """
@app:name('A')
define stream In (n long);
@source(type='http-service', source.id='s', receiver.url='http://0.0.0.0:1/asked',
    @map(type='json'))
define stream Asked (n long);
@sink(type='http-service-response', source.id='s', message.id='{{id}}', @map(type='json'))
define stream Out (n long, id string);
from In select n, 'x' as id insert into Out;
from Asked select n, 'x' as id insert into Out;
"""
STREAM = "/v1/apps/A/streams/In/events"
EVENT = {"n": 1}
ANSWER_S = 20
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def begun(url: str, path: str, *lines: str, body: bytes = b"") -> AsyncIterator[Connection]:
    """A request of which no more is sent than that."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    given = ("Host: a", "Content-Type: application/json", f"Authorization: {bearer(CLUSTER)}")
    head = "\r\n".join((f"POST {path} HTTP/1.1", *given, *lines)) + "\r\n\r\n"
    writer.write(head.encode() + body)
    try:
        yield reader, writer
    finally:
        writer.close()


async def answered(reader: asyncio.StreamReader) -> tuple[int, Any]:
    """Status, and what is told."""
    async with asyncio.timeout(ANSWER_S):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.split("content-length:")[1].split()[0])
        return int(head.split()[1]), json.loads(await reader.readexactly(length))


@contextlib.asynccontextmanager
async def deployed(**overrides: str) -> AsyncIterator[Doors]:
    """A receiver that knows the app."""
    services = ("coordinator", "processor", "receiver")
    given = {f"LOCKSTEP_RECEIVER__{name}": value for name, value in overrides.items()}
    async with running(*services, **given) as (doors, _):
        status, answer = await doors.ask(bearer(CLUSTER), "POST", "/v1/apps", {"text": APP})
        assert status == 201, answer
        yield doors


async def sent(doors: Doors) -> tuple[int, Any]:
    """By somebody else, meanwhile."""
    return await doors.ask(bearer(CLUSTER), "POST", STREAM, EVENT)


@pytest.mark.parametrize("path", ["/v1/login", "/v1/invitation"])
async def test_a_stranger_s_body_is_refused_where_it_is_too_long(path: str) -> None:
    """Sent in chunks it announces no length; its end does not have to come."""
    async with running("coordinator") as (doors, _):
        chunk = b"%x\r\n%b" % (17 * 1_024, b"x" * 17 * 1_024)
        async with begun(doors.url, path, "Transfer-Encoding: chunked", body=chunk) as (reader, _):
            status, told = await answered(reader)
    assert (status, told["detail"]) == (413, "the body is larger than 16384 bytes")


async def test_many_who_announce_much_and_send_nothing_keep_out_nobody() -> None:
    """What has come counts, not what is said of it; nor do begun requests take places."""
    limits = {"MAX_INFLIGHT_REQUESTS": "4", "MAX_WAITING_REQUESTS": "4"}
    async with deployed(**limits) as doors, contextlib.AsyncExitStack() as open_:
        for path in (STREAM, "/asked"):
            for _ in range(8):
                much = begun(doors.url, path, "Content-Length: 8388608", body=b'{"n":')
                await open_.enter_async_context(much)
        await asyncio.sleep(0.3)
        status, answer = await sent(doors)
        assert (status, answer.get("accepted")) == (200, 1), answer
        short = {"Authorization": bearer(CLUSTER)}
        asking = doors.session.post(f"{doors.url}/asked", json=EVENT, headers=short)
        with contextlib.suppress(TimeoutError):  # the app says nothing that is for it
            async with asyncio.timeout(1), asking as response:
                assert response.status != 429, await response.text()


async def test_a_body_that_stops_coming_is_given_up() -> None:
    """408, to be sent again; what it held is free."""
    async with (
        deployed(BODY_IDLE_MS="300", BODY_MIN_BYTES_PER_S="1") as doors,
        begun(doors.url, STREAM, "Content-Length: 12", body=b'{"n":') as (reader, _),
    ):
        status, told = await answered(reader)
        assert (status, "after 5 bytes nothing came for 300 ms" in told["detail"]) == (408, True)
        assert "send again" in told["hint"]
        _, page = await doors.ask(bearer(CLUSTER), "GET", "/metrics")
        assert "lockstep_receiver_inflight_bytes 0.0" in page


async def test_a_body_that_comes_byte_by_byte_is_given_up_and_a_slow_one_is_not() -> None:
    """By how much has come, whatever the size: a slow line is not a broken one."""
    document = json.dumps(EVENT).encode()
    slow = {"BODY_IDLE_MS": "1000", "BODY_MIN_BYTES_PER_S": "1000"}
    async with deployed(**slow) as doors:
        length = f"Content-Length: {4_000 + len(document)}"
        async with begun(doors.url, STREAM, length) as (reader, writer):
            for _ in range(8):  # 2,000 bytes a second, for twice the time of silence
                await asyncio.sleep(0.25)
                writer.write(b" " * 500)
            writer.write(document)
            assert (await answered(reader))[0] == 200
        async with begun(doors.url, STREAM, length) as (reader, writer):
            answer = asyncio.create_task(answered(reader))
            while not answer.done():
                writer.write(b" ")
                await asyncio.sleep(0.1)
            status, told = await answer
        assert (status, "less than 1000 bytes came in a second" in told["detail"]) == (408, True)


async def test_a_full_door_says_so_once_in_the_log() -> None:
    """Not for every sender who is told to come back; again when it was half empty between."""
    body = [EVENT] * 20
    with captured_log() as lines:
        async with deployed(MAX_INFLIGHT_BYTES="1000") as doors:
            for _ in range(2):
                filling = begun(doors.url, STREAM, "Content-Length: 900", body=b" " * 899)
                async with filling as (reader, writer), asyncio.timeout(ANSWER_S):
                    while (await doors.ask(bearer(CLUSTER), "POST", STREAM, body))[0] != 429:
                        await asyncio.sleep(0.05)
                    status, _ = await doors.ask(bearer(CLUSTER), "POST", STREAM, body)
                    assert status == 429
                    writer.write(b"1")
                    await answered(reader)
    told = [one for one in lines() if "door is full" in one["message"]]
    assert [(one["level"], one["limit"]) for one in told] == [
        ("warning", "receiver.max_inflight_bytes")
    ] * 2


async def test_a_document_for_a_door_has_to_come_in_time() -> None:
    """Likewise where no receiver reads it."""
    told: list[Problem] = []

    async def take(request: web.Request) -> web.Response:
        try:
            await read_body(request, Any, max_bytes=1_000, pace=Pace(200, 1_000))
        except Problem as problem:
            told.append(problem)
        return web.json_response({})

    async with (
        serving(take) as url,
        begun(url, "/", "Content-Length: 12", body=b'{"n":') as (reader, _),
    ):
        await answered(reader)
    assert [one.status for one in told] == [408]


@contextlib.asynccontextmanager
async def serving(handler: Any) -> AsyncIterator[str]:
    """One handler, without a service around it."""
    application = web.Application()
    application.router.add_post("/", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a minute is long for a test."""

    def parts(request: web.Request, _pace: Pace) -> AsyncIterator[bytes]:
        # However slow the machine, it is silence that ends it, not a low rate.
        return parts_of(request, Pace(200, 1))

    monkeypatch.setattr(bodies, "parts_of", parts)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize(
    ("service", "path"), [("coordinator", "/siddhi-apps"), ("presenter", "/grafana/search")]
)
async def test_what_other_products_send_has_to_come_in_time(service: str, path: str) -> None:
    """A text, and a question that may be none at all."""
    async with running(service) as (doors, _):
        length = "Content-Length: 12"
        async with begun(doors.url, path, length, body=b"{") as (reader, _):
            status, told = await answered(reader)
        assert (status, "after 1 bytes nothing came" in told["detail"]) == (408, True)
        async with begun(doors.url, path, "Content-Length: 0") as (reader, writer):
            head = (await reader.readline()).decode()
            writer.write_eof()
        assert int(head.split()[1]) != 408


@pytest.mark.usefixtures("_quick")
async def test_what_is_passed_on_to_the_leader_has_to_come_in_time() -> None:
    """One that comes whole is passed on, and so is one of nothing."""
    told: list[Problem] = []

    async def lead(request: web.Request) -> web.Response:
        return web.json_response((await request.read()).decode())

    async with serving(lead) as leader:
        keeper: Any = SimpleNamespace(held=False)
        beats = [SimpleNamespace(leading=True, url=leader)]
        watch: Any = SimpleNamespace(alive=lambda _service: beats)
        forwarder = Forwarder(keeper, watch, TlsFiles())
        handle = forwarder.by_leader(lead)

        async def follow(request: web.Request) -> web.Response:
            try:
                return await handle(request)
            except Problem as problem:
                told.append(problem)
                return web.json_response("given up")

        async with serving(follow) as url:
            for body, size, answer in ((b"abc", 3, "abc"), (b"", 0, ""), (b"ab", 3, "given up")):
                length = f"Content-Length: {size}"
                async with begun(url, "/", length, body=body) as (reader, _):
                    assert await answered(reader) == (200, answer)
            await forwarder.close()
    assert [one.status for one in told] == [408]
