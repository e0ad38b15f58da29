"""What connectors declare, played by the kit: our own, that of EXTENDING.md, and some that lie."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from aiohttp import web

from lockstep.clock import SystemClock
from lockstep.connectors.file.source import FileSource
from lockstep.connectors.logins import row_brings_login
from lockstep.events import UnavailableError
from lockstep.siddhiql.catalogue import Delivery, Promise
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep.sources import Place
from lockstep.testing.connectors import (
    Arrived,
    Tally,
    contradictions,
    keeps_sink,
    keeps_source,
    message,
    promise_of,
)
from lockstep_services.publisher.sinks.http import HttpSink
from tests.contract.connectors.brokers import free_port
from tests.contract.connectors.test_file import Writer

PAGE = Path(__file__).parents[3] / "libs/lockstep/EXTENDING.md"
PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
POISON = message(0, payload=b'{"n":"never"}')


class Hook:
    """A web server that keeps what is posted to it, but poison. `redirect`: its answer to all."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}/hook"
        self.redirect: web.Response | None = None
        self._got: list[Arrived] = []
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        server = web.Application()
        server.router.add_route("*", "/hook", self._take)
        self._runner = web.AppRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        port = int(self.url.split(":")[2].split("/")[0])
        await web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True).start()

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def received(self) -> Sequence[Arrived]:
        return self._got

    async def _take(self, request: web.Request) -> web.Response:
        payload = await request.read()
        if self.redirect is not None:
            return self.redirect
        if payload == POISON.payload:
            return web.Response(status=422)
        self._got.append(Arrived(payload, request.headers["Idempotency-Key"]))
        return web.Response()


async def test_the_http_sink_keeps_its_promise() -> None:
    """With identities at the other side, and poison that delays nothing."""
    hook = Hook()
    promise = promise_of("sink", "http")
    assert promise.delivery is Delivery.IDENTIFIED
    tally = await keeps_sink(
        promise, lambda: HttpSink({"publisher.url": hook.url}), hook, poison=POISON
    )
    await hook.stop()
    assert (tally.sent, tally.lost, tally.refused, tally.identified) == (60, 0, 1, True)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, MessageRefusedError),
        (302, MessageRefusedError),
        (303, MessageRefusedError),
        (307, UnavailableError),
        (308, UnavailableError),
    ],
)
async def test_the_http_sink_follows_no_redirect(status: int, kind: type[Exception]) -> None:
    """The new address is told: a redirect may turn the message into a GET without it, and would
    show its headers to another server. What wants the same request elsewhere is tried again."""
    old, new = Hook(), Hook()
    old.redirect = web.Response(status=status, headers={"Location": new.url})
    await old.start()
    await new.start()
    sink = HttpSink({"publisher.url": old.url, "headers": "'X-Api-Key:secret'"})
    with pytest.raises(kind, match=f"answered {status} and leads to '{new.url}'"):
        await sink.send(message(1))
    await sink.close()
    assert list(await new.received()) == []
    await old.stop()
    await new.stop()


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"headers": "'Authorization:Bearer s','X-Id:{{n}}'"}, UnavailableError),
        ({"headers": "'X-Api-Key:s','X-Id:{{n}}'"}, UnavailableError),
        ({"basic.auth.username": "ann", "headers": "'X-Api-Key:{{n}}'"}, UnavailableError),
        ({"headers": "'X-Id:1'"}, UnavailableError),
        ({"headers": "'authorization:Bearer {{n}}','X-Api-Key:s'"}, MessageRefusedError),
        ({"headers": "'X-Id:{{n}}'"}, MessageRefusedError),
    ],
)
async def test_a_login_that_is_refused_is_the_rows_fault_where_the_row_brings_it(
    options: dict[str, str], kind: type[Exception]
) -> None:
    """That of the sink may be changing just now: rows wait. A right that is missing (403) refuses
    them."""
    hook = Hook()
    await hook.start()
    sink = HttpSink({"publisher.url": hook.url, **options})
    for status, wanted in ((401, kind), (403, MessageRefusedError)):
        hook.redirect = web.Response(status=status)
        with pytest.raises(wanted, match=f"answered {status}") as caught:
            await sink.send(message(1))
        assert ("look at its secrets" in str(caught.value)) == (wanted is UnavailableError)
    await sink.close()
    await hook.stop()


async def test_the_file_source_keeps_its_promise(tmp_path: Path) -> None:
    """What was not acknowledged comes again, and is known."""
    path = tmp_path / "a.log"
    options = {"file.uri": f"file:{path}", "tailing": "true"}
    promise = promise_of("source", "file")
    assert promise.delivery is Delivery.EXACTLY_ONCE
    tally = await keeps_source(promise, lambda: FileSource(options, PLACE), Writer(path))
    assert (tally.duplicated, tally.identified) == (20, True)


async def test_the_source_of_the_page_keeps_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module and its test, exactly as shown but for the port, which somebody else may have."""
    source, tests = (
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        if "datagrams" in block
    )
    assert len(source.splitlines()) <= 40
    module, tested = ModuleType("datagrams"), ModuleType("test_datagrams")
    monkeypatch.setitem(sys.modules, "datagrams", module)
    exec(source, module.__dict__)
    exec(tests.replace("5140", str(free_port())), tested.__dict__)
    played: list[Tally] = []

    async def kept(*args: Any) -> None:
        played.append(await keeps_source(*args))

    monkeypatch.setattr(tested, "keeps_source", kept)
    await asyncio.to_thread(tested.test_it_keeps_its_promise)
    # What the protocol cannot do is noticed.
    assert contradictions(Delivery.AT_LEAST_ONCE, played[0], way="source") == [
        "20 messages died with who had not acknowledged them"
    ]


class Twice(Sink):
    """Sends each message two times, under an identity of its own making."""

    def __init__(self, hook: Hook) -> None:
        self._sink = HttpSink({"publisher.url": hook.url})

    async def send(self, message: Message) -> None:
        await self._sink.send(message)
        await self._sink.send(replace(message, id=f"{message.id}-again"))

    async def close(self) -> None:
        await self._sink.close()


async def test_a_sink_that_promises_too_much_is_told_all_of_it() -> None:
    """Copies, and identities that are none."""
    hook = Hook()
    once = Promise(Delivery.EXACTLY_ONCE, "", "", "", "", "with luck", Delivery.IDENTIFIED)
    with pytest.raises(AssertionError, match="60 messages came again"):
        await keeps_sink(once, lambda: Twice(hook), hook)
    await hook.stop()
    hook = Hook()
    with pytest.raises(AssertionError, match="another one when they come again"):
        await keeps_sink(once, lambda: Twice(hook), hook, count=2, weaker=True)
    await hook.stop()
    with pytest.raises(ValueError, match="nothing weaker"):
        await keeps_sink(
            promise_of("sink", "http"), lambda: Twice(hook), hook, count=1, weaker=True
        )
    await hook.stop()


FINE = Tally(sent=9, lost=0, duplicated=0, reordered=0, identified=True)


def test_a_type_that_nobody_declares() -> None:
    """It is said."""
    with pytest.raises(LookupError, match="there is no sink 'nowhere'"):
        promise_of("sink", "nowhere")


@pytest.mark.parametrize(
    ("way", "delivery", "tally", "says"),
    [
        ("source", Delivery.AT_MOST_ONCE, replace(FINE, lost=3, identified=False), ""),
        ("source", Delivery.AT_MOST_ONCE, replace(FINE, duplicated=1), "came again"),
        ("source", Delivery.AT_LEAST_ONCE, replace(FINE, duplicated=3, identified=False), ""),
        ("source", Delivery.AT_MOST_ONCE, replace(FINE, died=1), ""),
        ("source", Delivery.AT_LEAST_ONCE, replace(FINE, died=1), "1 messages died"),
        ("source", Delivery.AT_LEAST_ONCE, replace(FINE, lost=1), "1 of 9 messages were lost"),
        ("source", Delivery.EXACTLY_ONCE, replace(FINE, duplicated=3), ""),
        ("source", Delivery.EXACTLY_ONCE, replace(FINE, identified=False), "have no identity"),
        ("sink", Delivery.EXACTLY_ONCE, replace(FINE, duplicated=1), "1 messages came again"),
        ("sink", Delivery.EXACTLY_ONCE, replace(FINE, identified=False), ""),
        ("sink", Delivery.IDENTIFIED, replace(FINE, identified=False), "have no identity"),
        ("sink", Delivery.AT_MOST_ONCE, replace(FINE, reordered=2), "2 messages came before"),
        ("sink", Delivery.AT_LEAST_ONCE, replace(FINE, refused=0), "poison was not refused"),
        ("sink", Delivery.AT_LEAST_ONCE, replace(FINE, refused=1), ""),
    ],
)
def test_what_a_delivery_excludes(way: str, delivery: Delivery, tally: Tally, says: str) -> None:
    """And what it allows."""
    found = "; ".join(contradictions(delivery, tally, way=way))  # type: ignore[arg-type]
    assert says in found
    assert bool(says) == bool(found)


@pytest.mark.parametrize(
    ("headers", "is_the_rows"),
    [
        ("'X-API-Key: k','Idempotency-Key: {{id}}'", False),
        ("'X-API-Key: k','Routing-Key: {{symbol}}'", False),
        ("'X-API-Key: k','X-Session: {{s}}'", False),
        ("'Idempotency-Key: {{id}}'", False),
        ("'X-API-Key: {{k}}'", True),
        ("'X-Who: {{k}}'", True),
    ],
)
def test_a_login_that_is_the_same_for_all_rows_is_the_sinks(
    headers: str, is_the_rows: bool
) -> None:
    """A key of the message says nothing about who is calling."""
    assert row_brings_login(headers, "http://h/x") is is_the_rows
