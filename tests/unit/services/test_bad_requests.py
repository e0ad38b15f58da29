"""Requests that no proper client sends: each is the sender's fault, and disturbs nobody."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import aiohttp
import pytest
import structlog
from yarl import URL

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import Process, World, open_world
from lockstep.frame.bodies import whole_number
from lockstep.frame.strangers import SERVER_NAME
from lockstep.settings import load_settings
from lockstep.telemetry import configure_logging
from tests.unit.services.suite import CLUSTER, bearer
from tests.unit.services.test_openapi import SETTINGS, WIRES

APP = """
@app:name('A')
define stream In (n long);
define stream Any (what object);
@sink(type='log') define stream Out (n long);
from In select n insert into Out;
from Any select 1L as n insert into Out;
"""
DEEP = b"[" * 100_000
NESTED = b'{"a":' * 100_000
STREAM = "/v1/apps/A/streams/In/events"
ANY = "/v1/apps/A/streams/Any/events"
READY_S = 60


class Suite:
    """All services in this process, with the app deployed."""

    def __init__(self, session: aiohttp.ClientSession, url: str, world: World) -> None:
        self._session = session
        self.url = url
        self.world = world

    async def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, Any, str]:
        """Status, the decoded answer, and who says that it answers."""
        given = {"Authorization": bearer(CLUSTER)} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        url = URL(self.url + path, encoded=True)
        async with self._session.request(method, url, data=body, headers=given) as response:
            text = await response.text()
            told = json.loads(text) if "json" in response.content_type else text
            return response.status, told, response.headers["Server"]

    async def refused(self, status: int, method: str, path: str, body: bytes | None = None,
                      **headers: str) -> Any:  # fmt: skip
        """The answer, which has to be of that status, by problem+json."""
        found, told, _ = await self.ask(method, path, body, **headers)
        assert found == status, (method, path, found, told)
        return told


@contextlib.asynccontextmanager
async def suite() -> AsyncIterator[Suite]:
    """Until the app is led."""
    given = {**SETTINGS, "LOCKSTEP_SERVER__TOKEN": CLUSTER}
    settings = load_settings(given)
    world = await open_world(settings, SystemClock(), SystemRandomness())
    process = Process(settings, world, SystemClock(), SystemRandomness())
    try:
        for service, wire in WIRES.items():
            process.add(service, wire)
        await process.start()
        async with aiohttp.ClientSession(auto_decompress=False) as session:
            one = Suite(session, process.running.url, world)
            await one.refused(201, "POST", "/v1/apps", json.dumps({"text": APP}).encode())
            async with asyncio.timeout(READY_S):
                while (await one.ask("GET", "/siddhi-apps/A/status"))[1].get("status") != "active":
                    await asyncio.sleep(0.05)
            yield one
    finally:
        await process.stop()
        await world.close()


async def test_what_is_nested_too_deep_is_refused_at_every_door() -> None:
    """400 with a hint, whichever way the body is read."""
    async with suite() as one:
        for method, path, body in (
            ("POST", "/v1/apps", DEEP),
            ("POST", "/v1/validate", b'{"text": "x", "more": ' + DEEP),
            ("POST", "/v1/users", NESTED),
            ("PUT", "/v1/dashboards/d", NESTED[:200_000]),
            ("POST", "/v1/apps/A/query", NESTED[:60_000]),
            ("POST", "/stores/query", NESTED[:60_000]),
            ("POST", STREAM, DEEP),
            ("POST", STREAM, b'{"n": 1, "more": ' + DEEP),
            ("POST", STREAM, b'[{"n": 1, "more": ' + DEEP),
            ("POST", ANY, b'{"what": ' + DEEP),
            ("POST", ANY, b'[{"what": ' + b"[" * 300 + b"]" * 300 + b"}]"),
            ("POST", ANY, b'[[' + b"[" * 300 + b"]" * 300 + b"]]"),
            ("POST", ANY, b'[{"what": ' + b"[" * 300 + b"]" * 300 + b"}" + b', {"what": 1}' * 999
             + b"]"),
            ("POST", "/A/Any", b'{"what": ' + DEEP),
        ):  # fmt: skip
            if path == "/v1/users":
                method, path = "PUT", "/v1/users/somebody"
            told = await one.refused(400, method, path, body)
            assert told["hint"] if body in (DEEP, NESTED) else "nested" in str(told), (path, told)
        lines = {"Content_Type": "application/x-ndjson"}
        for path, body in (
            (STREAM, b'{"n": 1, "more": ' + DEEP + b"\n"),
            ("/v1/apps/A/events", b'{"stream": "Any", "event": ' + DEEP),
            ("/v1/apps/A/events", b'{"stream": "In", "event": {"n": 1}, "x": ' + DEEP),
        ):
            told = await one.refused(400, "POST", path, body, **lines)
            assert "nested" in str(told["errors"])
        deep_enough = b'{"what": ' + b"[" * 90 + b"]" * 90 + b"}"
        await one.refused(200, "POST", ANY, deep_enough)


async def test_over_the_bus_it_is_a_dead_letter_and_its_neighbours_go_on() -> None:
    """Before, the receiver tried the same message for ever, and what came with it."""
    async with suite() as one:
        ingress = one.world.bus.ingress
        good = b'{"n": 1}'
        await ingress.publish("A", "In", good)
        await ingress.publish("A", "In", DEEP)
        await ingress.publish("A", "Any", b'{"what": ' + b"[" * 400 + b"]" * 400 + b"}")
        await ingress.publish("A", "In", good, headers={"Timestamp-Ms": "²"})
        await ingress.publish("A", "In", good, headers={"Timestamp-Ms": "9" * 5_000})
        await ingress.publish("A", "In", good)
        async with asyncio.timeout(READY_S):
            while len(letters := await one.world.bus.dead_letters.read("A")) < 4:
                await asyncio.sleep(0.05)
            while (latest := await one.ask("GET", "/v1/apps/A/streams/Out/latest"))[1]["total"] < 2:
                await asyncio.sleep(0.05)
        assert latest[1]["total"] == 2
        reasons = [one.letter.reason for one in letters]
        assert sorted("nested" in reason for reason in reasons) == [False, False, True, True]
        assert sum("milliseconds" in reason for reason in reasons) == 2


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate"])
async def test_junk_under_an_encoding_is_refused(encoding: str) -> None:
    """400, and the next request is answered."""
    async with suite() as one:
        for path in (STREAM, "/v1/validate", "/stores/query"):
            told = await one.refused(400, "POST", path, b"\x00junk" * 50, Content_Encoding=encoding)
            assert "ncoding" in str(told)
        await one.refused(200, "POST", STREAM, b'{"n": 1}')


STRANGE = (
    "/v1/apps/%00", "/v1/apps/a%0Ab", "/v1/apps/A/errors?stream=%00", "/v1/apps/%C2%85",
    "/v1/users/x%00y", "/nothing/%7F",
)  # fmt: skip


@pytest.mark.parametrize("path", STRANGE)
async def test_control_characters_in_an_address_are_refused(path: str) -> None:
    """400 for all, before anything looks for such a name."""
    async with suite() as one:
        told = await one.refused(400, "GET", path)
        assert "control characters" in told["detail"]


async def test_numbers_that_only_look_like_numbers_are_refused() -> None:
    """Digits of other scripts are digits to Python, and no numbers."""
    texts = ("7", "99", "100", "²", "٣", "-1", "", "9" * 9_999)
    assert [whole_number(text, 99) for text in texts] == [7, 99, *[None] * 6]
    two = "%C2%B2"
    async with suite() as one:
        for path in (
            f"/v1/apps/A/streams/Out/latest?limit={two}",
            f"/v1/apps/A/streams/Out/poll?after={two}.{two}",
            f"/v1/apps/A/streams/Out/poll?after={two}.1.1",
            f"/v1/apps/A/errors?limit={two}",
        ):
            await one.refused(400, "GET", path)
        await one.refused(400, "POST", f"{STREAM}?timestamp_ms={two}", b'{"n": 1}')


async def test_questions_to_an_app_that_there_is_not_are_404() -> None:
    """Nobody waits for a leader that will never come."""
    async with suite() as one:
        body = {"appName": "Nowhere", "query": "from T select *"}
        told = await one.refused(404, "POST", "/stores/query", json.dumps(body).encode())
        strange = {"appName": "A", "query": "from T select *", "details": [1]}
        await one.refused(400, "POST", "/stores/query", json.dumps(strange).encode())
        assert "no app named 'Nowhere'" in told["detail"]
        await one.refused(404, "POST", "/v1/apps/Nowhere/query", json.dumps(body).encode())


async def test_where_the_archive_is_is_not_told() -> None:
    """Neither of an app that nothing is archived of, nor of one that no folder can be called."""
    folder = SETTINGS["LOCKSTEP_ARCHIVE__FOLDER"]
    async with suite() as one:
        body = {"text": APP.replace("'A'", "'B'"), "past": {"from_ms": 1}}
        told = await one.refused(400, "POST", "/v1/apps", json.dumps(body).encode())
        assert "archive" in told["detail"]
        assert folder not in str(told)
        told = await one.refused(200, "GET", f"/v1/apps/{'x' * 3_000}/archive")
        assert told["tables"] == []


async def test_a_header_that_is_no_text_is_refused() -> None:
    """Also where a token is looked for in it."""
    async with suite() as one:
        told = await _raw(one.url, b"GET /v1/apps HTTP/1.1\r\nHost: localhost\r\n"
                          b"Authorization: Bearer \xff\xfe\r\n\r\n")  # fmt: skip
        assert told.startswith(b"HTTP/1.1 400")
        assert b"Authorization is not UTF-8" in told


async def test_nobody_is_told_which_versions_answer() -> None:
    """In no answer, not even to what is no HTTP."""
    async with suite() as one:
        for path in ("/healthz", "/v1/apps", "/nowhere"):
            assert (await one.ask("GET", path))[2] == SERVER_NAME
        told = await _raw(one.url, b"\x16\x03\x01 junk\r\n\r\n")
        assert b"Server: Lockstep\r\n" in told
        assert b"aiohttp" not in told


async def test_a_caller_who_hangs_up_is_one_quiet_line_of_the_log() -> None:
    """In the middle of a body: nobody is there to be answered."""
    async with suite() as one:
        with captured_log() as lines:
            for path in (STREAM, "/v1/validate", "/stores/query"):
                sent = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90\r\n"
                sent += f"Authorization: {bearer(CLUSTER)}\r\n\r\n{{"
                assert await _raw(one.url, sent.encode(), ends=True) == b""
            async with asyncio.timeout(READY_S):
                while len(lines()) < 3:
                    await asyncio.sleep(0.05)
    assert {(line["level"], line["message"]) for line in lines()} == {
        ("info", "a caller has hung up")
    }


async def test_what_is_no_http_is_one_quiet_line_of_the_log() -> None:
    """Without a traceback, and without what was sent."""
    async with suite() as one:
        with captured_log() as lines:
            for sent in (
                b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"hunter2" * 9_000 + b"\r\n\r\n",
            ):
                assert b" 400 Bad Request" in (await _raw(one.url, sent))[:32]
    found = lines()
    assert [line["level"] for line in found if "no HTTP" in line["message"]] == ["info"] * 2
    for word in ("hunter2", "Traceback", "aiohttp"):
        assert word not in str(found)


@contextlib.contextmanager
def captured_log() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What the process logs within; the configuration is undone afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    captured = io.StringIO()
    configure_logging(service="receiver", stream=captured)
    try:
        yield lambda: [json.loads(line) for line in captured.getvalue().splitlines()]
    finally:
        root.handlers[:], root.level = handlers, level
        structlog.reset_defaults()


async def _raw(url: str, sent: bytes, *, ends: bool = False) -> bytes:
    """What is answered; nothing, where the door closes. `ends`: nothing more is sent."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(sent)
        await writer.drain()
        if ends:
            writer.write_eof()
            return await reader.read()
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
            return head + await reader.read(4_096)
    finally:
        writer.close()
