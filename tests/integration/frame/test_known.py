"""Whom a door knows: what a process has read of users and tokens, beside what others change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest
from aiohttp import web

from lockstep.clock import Clock, SystemClock, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame.accounts import AccountBook
from lockstep.frame.callers import Callers
from lockstep.frame.health import Readiness
from lockstep.frame.web import Door
from lockstep.rights import ROUTES, Grant, Role
from lockstep.rights.accounts import Change, Token, User, digest_of, token_text
from lockstep.rights.needs import KNOWN
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import Metrics, get_logger

CLOCK = SystemClock()
ADMINISTRATOR = frozenset({Grant(Role.ADMINISTER)})
NEEDS = {**ROUTES, ("POST", "/wait"): KNOWN, ("POST", "/stream"): KNOWN, ("GET", "/hello"): KNOWN}


def book_of(store: MemoryStore, clock: Clock = CLOCK) -> AccountBook:
    """What one process knows."""
    return AccountBook(store.accounts, clock, load_settings({}).rights, get_logger())


async def add(store: MemoryStore, thing: User | Token) -> None:
    """Another process changes the accounts."""
    await book_of(store).change(lambda _: Change(put=(thing,)))


@dataclass(frozen=True, slots=True)
class Place:
    """A door, what its process knows, and requests that have been let in."""

    url: str
    book: AccountBook
    entered: asyncio.Event
    session: aiohttp.ClientSession


@contextlib.asynccontextmanager
async def door_to(store: MemoryStore, clock: Clock = CLOCK) -> AsyncIterator[Place]:
    """With routes that answer at once, never, and on and on."""
    book, entered = book_of(store, clock), asyncio.Event()
    readiness = Readiness()
    readiness.open()
    door = Door(
        load_settings({}).server, readiness, Metrics(), clock, get_logger(),
        max_body_bytes=1_000, needs=NEEDS, callers=Callers("", clock, book),
    )  # fmt: skip
    book.looked.append(door.look_again)

    async def hello(_: web.Request) -> web.Response:
        return web.json_response({"hello": True})

    async def wait(_: web.Request) -> web.Response:
        entered.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first")
        entered.set()
        await asyncio.Event().wait()
        return response

    door.application.router.add_get("/hello", hello)
    door.application.router.add_post("/wait", wait)
    door.application.router.add_post("/stream", stream)
    await book.begin()
    await door.open()
    try:
        async with aiohttp.ClientSession() as session:
            yield Place(door.url, book, entered, session)
    finally:
        await door.close()


async def test_a_request_that_is_ended_is_told_why() -> None:
    """The door was open to everybody when it came in; then the first user was added."""
    store = MemoryStore()
    async with door_to(store) as place, asyncio.TaskGroup() as tasks:

        async def ask() -> tuple[int, dict[str, str]]:
            async with place.session.post(f"{place.url}/wait") as response:
                return response.status, await response.json()

        asked = tasks.create_task(ask())
        await place.entered.wait()
        await add(store, User("ann", 1, grants=ADMINISTRATOR))
        await place.book.refresh()
        await place.book.refresh()  # a second look changes nothing for it
        status, said = await asked
        assert status == 401
        assert "ended while it was under way" in said["detail"]
        assert "look before you send it again" in said["hint"]


async def test_an_answer_that_has_begun_breaks_off() -> None:
    """Its status has been sent, so the connection ends."""
    store = MemoryStore()
    async with door_to(store) as place, place.session.post(f"{place.url}/stream") as response:
        assert await response.content.readexactly(5) == b"first"
        await place.entered.wait()
        await add(store, User("ann", 1, grants=ADMINISTRATOR))
        await place.book.refresh()
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.content.read()


@pytest.mark.parametrize(("after_ms", "status"), [(60_000, 401), (600_001, 503)])
async def test_a_store_that_is_away_keeps_nobody_in(after_ms: int, status: int) -> None:
    """A token runs out by the clock; beyond `rights.stale_max_ms` nobody knows any more who may be
    there."""
    store, clock, given = MemoryStore(), VirtualClock(0), token_text("abc123", "secret")
    expires_ms = 60_000 if status == 401 else 10**12
    await add(store, User("ann", 1, grants=ADMINISTRATOR))
    await add(store, Token("abc123", "wall", digest_of(given), 0, expires_ms, ADMINISTRATOR))
    async with door_to(store, clock) as place, asyncio.TaskGroup() as tasks:
        headers = {"Authorization": f"Bearer {given}"}

        async def ask() -> tuple[int, str]:
            async with place.session.post(f"{place.url}/wait", headers=headers) as response:
                return response.status, (await response.json())["detail"]

        async def away() -> int:
            raise UnavailableError("the store is away")

        asked = tasks.create_task(ask())
        await place.entered.wait()
        store.accounts.revision = away  # type: ignore[method-assign]
        await place.book.begin()
        assert not asked.done()
        clock.set_ms(after_ms)
        await place.book.begin()
        found, said = await asked
        assert found == status
        assert "ended while it was under way" in said


async def test_a_new_token_is_known_soon_after_a_strangers_question() -> None:
    """The question may be a moment after the last look; it waits for the next one."""
    store = MemoryStore()
    await add(store, User("ann", 1, grants=ADMINISTRATOR))
    given = token_text("abc123", "secret")
    async with door_to(store) as place:

        async def ask(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            async with place.session.get(f"{place.url}/hello", headers=headers) as response:
                return response.status

        assert await ask(token_text("nobody", "secret")) == 401
        now_ms = CLOCK.now_ms()
        await add(store, Token("abc123", "sensor", digest_of(given), now_ms, now_ms + 60_000,
                               grants=ADMINISTRATOR))  # fmt: skip
        assert await ask(given) == 200


async def test_all_who_ask_at_once_share_one_look() -> None:
    """Anybody may ask for what is not there, so that must not ask the store each time."""

    looks = 0

    def seen() -> None:
        nonlocal looks
        looks += 1

    store = MemoryStore()
    await add(store, User("ann", 1, grants=ADMINISTRATOR))
    book = book_of(store)
    await book.begin()
    book.looked.append(seen)
    await book.look_again()
    await asyncio.gather(*[book.look_again() for _ in range(100)])
    assert looks == 2
