"""The sse source against a server of events that is killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import encode_basic_auth, web

from lockstep.clock import SystemClock
from lockstep.connectors.sse.source import SseSource
from lockstep.siddhiql.catalogue import Delivery
from lockstep.sources import PassingNote, Place, Received
from lockstep.testing.connectors import keeps_source, promise_of
from tests.contract.connectors.sse_server import EventServer
from tests.tls.certificates import Authority
from tests.tls.terminator import terminating

CLOCK = SystemClock()
SOURCE = promise_of("source", "sse")
QUICK = {"retry.interval": "20"}
WAIT_MS = 10_000


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[EventServer]:
    """Not started yet."""
    made = EventServer(tmp_path)
    yield made
    await made.stop()


def place(note: PassingNote) -> Place:
    """Of a source with a note that outlives it."""
    return Place("App", "In", 0, "127.0.0.1", CLOCK, note=note)


def known(url: str, id_: str) -> str:
    """The identity of an event of that address."""
    return f"{hashlib.sha256(url.encode()).hexdigest()[:12]}/{id_}"


async def taken(source: SseSource, count: int, *, acknowledge: bool = True) -> list[Received]:
    """So many."""
    found: list[Received] = []
    while len(found) < count:
        found += await source.read(max_messages=count - len(found), wait_ms=WAIT_MS)
    for each in found:
        if acknowledge:
            await each.acknowledge()
    return found


async def test_the_source_keeps_its_promise(server: EventServer) -> None:
    """Over its own death and the server's: what comes again has the id of the first time."""
    note = PassingNote()
    options = {**QUICK, "receiver.url": server.url}
    assert SOURCE.delivery is Delivery.EXACTLY_ONCE
    tally = await keeps_source(SOURCE, lambda: SseSource(options, place(note)), server)
    assert (tally.lost, tally.died, tally.identified) == (0, 0, True)
    assert tally.duplicated == 20, "those that nobody had acknowledged"


async def test_without_ids_it_delivers_at_most_once(tmp_path: Path) -> None:
    """What dies with the receiver is gone; nothing comes twice."""
    live = EventServer(tmp_path, path="live")
    note = PassingNote()
    options = {**QUICK, "receiver.url": live.url}
    tally = await keeps_source(SOURCE, lambda: SseSource(options, place(note)), live, weaker=True)
    await live.stop()
    assert (tally.died, tally.duplicated, tally.identified) == (20, 0, False)
    assert await note.get() == ""


async def test_it_goes_on_behind_what_was_acknowledged_in_a_row(server: EventServer) -> None:
    """The note is moved when it is closed; another address begins anew, at `last.event.id`."""
    await server.start()
    for number in range(6):
        await server.send(b"%d" % number)
    note = PassingNote()
    first = SseSource({"receiver.url": server.url}, place(note))
    found = await taken(first, 5, acknowledge=False)
    assert [(one.payload, one.properties) for one in found[:2]] == [
        (b"0", {"event": "message", "id": "1"}), (b"1", {"event": "message", "id": "2"}),
    ]  # fmt: skip
    for number in (0, 1, 3):
        await found[number].acknowledge()
    assert list(await first.close()) == []
    second = SseSource({"receiver.url": server.url}, place(note))
    assert [one.id for one in await taken(second, 4)] == [
        known(server.url, id_) for id_ in ("3", "4", "5", "6")
    ]
    await second.close()
    other = {"receiver.url": f"{server.url}?other", "last.event.id": "4"}
    third = SseSource(other, place(note))
    assert [one.payload for one in await taken(third, 2)] == [b"4", b"5"]
    await third.close()


async def test_ids_of_another_address_are_others(server: EventServer) -> None:
    """Servers count alike: what one has at its first id is not what another one has there."""
    await server.start()
    await server.send(b"a")
    note = PassingNote()
    identities = set()
    for url in (server.url, f"{server.url}?other", server.url):
        source = SseSource({"receiver.url": url}, place(note))
        (found,) = await taken(source, 1)
        identities.add(found.id)
        assert found.properties["id"] == "1"
        await source.close()
    assert len(identities) == 2


async def test_a_note_of_an_older_release_keeps_its_ids(server: EventServer) -> None:
    """Bare ones, as long as the address stays: what the server sends again is known by them."""
    await server.start()
    for number in range(3):
        await server.send(b"%d" % number)
    note = PassingNote()
    address = hashlib.sha256(server.url.encode()).hexdigest()[:24]
    await note.put(json.dumps({"of": address, "id": "1"}))
    for id_ in ("2", "3"):
        source = SseSource({"receiver.url": server.url}, place(note))
        assert [one.id for one in await taken(source, 1)] == [id_]
        await source.close()


async def test_ids_that_mean_nothing_are_left_alone(server: EventServer) -> None:
    """With `resume='false'` all comes that the server sends, as if it were new."""
    await server.start()
    await server.send(b"a")
    note = PassingNote()
    options = {"receiver.url": server.url, "resume": "false"}
    for _ in range(2):
        source = SseSource(options, place(note))
        (found,) = await taken(source, 1)
        assert (found.id, found.properties["id"]) == (None, "1")
        await source.close()
    assert await note.get() == ""


async def test_a_note_is_moved_while_events_flow(server: EventServer) -> None:
    """So little comes again when the receiver dies without a word."""
    await server.start()
    note = PassingNote()
    source = SseSource({"receiver.url": server.url}, place(note))
    await server.send(b"a")
    await taken(source, 1)
    assert await source.read(max_messages=1, wait_ms=1) == []
    assert '"id": "1"' in await note.get()
    await source.close()


async def test_a_server_that_is_away_is_asked_again_after_a_pause(server: EventServer) -> None:
    """The reason is told each time; nobody connects before the pause is over."""
    note = PassingNote()
    options = {"receiver.url": server.url, "retry.interval": "60000"}
    source = SseSource(options, place(note))
    with pytest.raises(OSError, match="events: connection refused"):
        await source.read(max_messages=1, wait_ms=1)
    await source.close()
    await server.start()
    again = SseSource(options, place(note))
    with pytest.raises(OSError, match="events: connection refused"):
        await again.read(max_messages=1, wait_ms=1)
    await again.close()
    quicker = SseSource({**options, "retry.interval": "1"}, place(note))
    assert await quicker.read(max_messages=1, wait_ms=1) == []
    await quicker.close()


async def test_tokens_are_fetched_and_a_new_one_when_one_is_refused(server: EventServer) -> None:
    """The same as of other clients over HTTP."""
    await server.start()
    await server.send(b"a")
    base = server.url.removesuffix("/events")
    options = {
        **QUICK, "receiver.url": f"{base}/guarded", "token.url": f"{base}/token",
        "consumer.key": "key", "consumer.secret": "secret",
    }  # fmt: skip
    note, other = PassingNote(), PassingNote()
    source = SseSource(options, place(note))
    assert len(await taken(source, 1)) == 1
    rival = SseSource(options, Place("App", "Other", 0, "127.0.0.1", CLOCK, note=other))
    assert len(await taken(rival, 1)) == 1  # its token is the newest one now
    await server.stop()
    with pytest.raises(OSError, match="guarded"):
        await source.read(max_messages=1, wait_ms=WAIT_MS)
    await source.close()
    await server.start()
    again = SseSource(options, place(note))
    await server.send(b"b")
    async with asyncio.timeout(WAIT_MS / 1000):
        while True:
            try:
                found = await taken(again, 1)
                break
            except OSError:
                await again.close()
                again = SseSource(options, place(note))
    assert [one.payload for one in found] == [b"b"]
    await again.close()
    await rival.close()
    stranger = SseSource({"receiver.url": f"{base}/guarded"}, place(PassingNote()))
    with pytest.raises(OSError, match="it answered 401"):
        await stranger.read(max_messages=1, wait_ms=1)
    await stranger.close()


async def test_over_tls_the_server_has_to_be_trusted(server: EventServer, tmp_path: Path) -> None:
    """With the authority that the option names, and no other."""
    await server.start()
    await server.send(b"a")
    authority = Authority(tmp_path / "tls")
    async with terminating(server.port, authority.files(authority.give("server"))) as port:
        mine = authority.give("client")
        url = {**QUICK, "receiver.url": f"https://127.0.0.1:{port}/events"}
        tls = {
            "tls.ca.file": str(authority.file), "tls.certificate.file": str(mine.certificate),
            "tls.key.file": str(mine.key),
        }  # fmt: skip
        source = SseSource({**url, **tls}, place(PassingNote()))
        assert [one.payload for one in await taken(source, 1)] == [b"a"]
        await source.close()
        stranger = SseSource(url, place(PassingNote()))
        with pytest.raises(OSError, match="not to be trusted"):
            await stranger.read(max_messages=1, wait_ms=1)
        await stranger.close()


class Scripted:
    """A server that writes what it is told to, and then ends the stream, or stays."""

    def __init__(self, text: bytes, *, content_type: str = "text/event-stream") -> None:
        self.text = text
        self._type = content_type
        self.asked: list[dict[str, str]] = []
        self.stays = False
        self.is_silent = False
        self.written = 0
        self.url = ""

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_get("/", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.headers))
        response = web.StreamResponse(headers={"Content-Type": self._type})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            await response.write(self.text)
            self.written += 1
            if self.is_silent:
                await asyncio.Event().wait()
            while self.stays:
                await response.write(b": " + b"x" * 100_000 + b"\n")
                self.written += 1
        return response


async def test_types_of_events_are_chosen_and_headers_sent() -> None:
    """What nobody wants is passed over; the last id goes on."""
    script = Scripted(
        b"id: 1\nevent: row\ndata: a\n\nid: 2\nevent: gap\ndata: b\n\nevent: end\ndata: c\n\n"
    )
    note = PassingNote()
    async with script.serving() as url:
        options = {
            "receiver.url": url, "event.types": "row, end", "headers": "'X-A:1','Accept:text/*'",
            "basic.auth.username": "u", "basic.auth.password": "p",
        }  # fmt: skip
        source = SseSource(options, place(note))
        found = await taken(source, 2)
        assert [(one.payload, one.id, one.properties) for one in found] == [
            (b"a", known(url, "1"), {"event": "row", "id": "1"}),
            (b"c", None, {"event": "end", "id": "2"}),
        ]  # fmt: skip
        with pytest.raises(OSError, match="the server has ended the stream"):
            await source.read(max_messages=1, wait_ms=WAIT_MS)
        await source.close()
    assert '"id": "2"' in await note.get()
    (headers,) = script.asked
    assert (headers["X-A"], headers["Accept"]) == ("1", "text/*")
    assert headers["Authorization"] == encode_basic_auth("u", "p")


async def test_what_is_no_stream_of_events_is_told() -> None:
    """With the beginning of what came in its place."""
    async with Scripted(b"{}", content_type="application/json").serving() as url:
        source = SseSource({"receiver.url": url}, place(PassingNote()))
        with pytest.raises(OSError, match=r"answered 200, application/json: \{\}"):
            await source.read(max_messages=9, wait_ms=WAIT_MS)
        await source.close()


async def test_no_redirect_is_followed() -> None:
    """It would show what the headers hold to another server. The new address is told."""
    script = Scripted(b"data: a\n\n")

    async def moved(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": there})

    app = web.Application()
    app.router.add_get("/", moved)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    here = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    async with script.serving() as there:
        options = {"receiver.url": here, "headers": "'X-Api-Key:secret'"}
        source = SseSource(options, place(PassingNote()))
        with pytest.raises(OSError, match=f"it answered 307 and leads to '{there}'"):
            await source.read(max_messages=1, wait_ms=WAIT_MS)
        await source.close()
    await runner.cleanup()
    assert script.asked == []


async def test_what_is_too_large_is_refused_and_the_others_are_taken() -> None:
    """The source goes on behind it."""
    note = PassingNote()
    text = b"id: 1\ndata: a\n\nid: 2\ndata: " + b"x" * 50 + b"\n\nid: 3\ndata: b\n\n"
    async with Scripted(text).serving() as url:
        options = {"receiver.url": url, "max.event.bytes": "40"}
        source = SseSource(options, place(note))
        found = await taken(source, 3)
        why = "the event has more than 40 bytes: max.event.bytes"
        assert [one.refused for one in found] == ["", why, ""]
        assert [one.payload for one in found] == [b"a", b"x" * 50, b"b"]
        for one in found:
            await one.acknowledge()
        await source.close()
    assert '"id": "3"' in await note.get()


async def test_a_server_that_says_nothing_is_left() -> None:
    """It may be gone without a word."""
    script = Scripted(b"")
    script.is_silent = True
    async with script.serving() as url:
        source = SseSource({"receiver.url": url, "idle.timeout": "100"}, place(PassingNote()))
        with pytest.raises(OSError, match="no answer in time"):
            await source.read(max_messages=1, wait_ms=WAIT_MS)
        await source.close()


async def test_a_source_that_reads_no_more_makes_the_server_wait() -> None:
    """It holds one piece of what comes, and no more."""
    script = Scripted(b"data: a\n\n")
    script.stays = True
    async with script.serving() as url:
        source = SseSource({"receiver.url": url, "max.event.bytes": "200000"}, place(PassingNote()))
        assert [one.payload for one in await taken(source, 1)] == [b"a"]
        seen = -1
        while seen != script.written:
            seen = script.written
            await asyncio.sleep(0.3)
        assert script.written < 200, "the buffers of the two sockets are full"
        script.stays = False
        await source.close()
