"""The http sink with OAuth, against a token server and a resource that checks tokens."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import encode_basic_auth, web

from lockstep.events import UnavailableError
from lockstep.testing.connectors import message
from lockstep_services.publisher.sinks.http import HttpSink


class Guarded:
    """Gives the tokens t1, t2 …; the first `past` are no more good. Not `open`: it gives none.
    `moved_to`: where it sends those who ask for one."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.got: list[bytes] = []
        self.open = True
        self.moved_to = ""
        self.never = False
        self.past = 0
        self.url = ""

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_post("/token", self._give)
        app.router.add_post("/in", self._take)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield
        finally:
            await runner.cleanup()

    async def _give(self, request: web.Request) -> web.Response:
        if self.moved_to:
            return web.Response(status=307, headers={"Location": self.moved_to})
        if not self.open:
            return web.Response(status=503)
        assert request.headers["Authorization"] == encode_basic_auth("key", "secret")
        self.asked.append({name: str(value) for name, value in (await request.post()).items()})
        number = len(self.asked)
        return web.json_response({"access_token": f"t{number}", "refresh_token": f"r{number}"})

    async def _take(self, request: web.Request) -> web.Response:
        token = request.headers["Authorization"].removeprefix("Bearer t")
        if self.never or int(token) <= self.past:
            return web.Response(status=401)
        self.got.append(await request.read())
        return web.Response()

    def sink(self, **more: str) -> HttpSink:
        """To the resource, with the client's credentials and what else is given."""
        options = {"publisher.url": f"{self.url}/in", "token.url": f"{self.url}/token"}
        named = {name.replace("_", "."): value for name, value in more.items()}
        return HttpSink({**options, "consumer.key": "key", "consumer.secret": "secret", **named})


@pytest.mark.parametrize(
    ("more", "first", "second"),
    [
        ({}, {"grant_type": "client_credentials"}, {"grant_type": "client_credentials"}),
        (
            {"oauth_username": "ann", "oauth_password": "p", "oauth_scope": "s"},
            {"scope": "s", "username": "ann", "password": "p", "grant_type": "password"},
            {"scope": "s", "username": "ann", "password": "p", "grant_type": "password"},
        ),
        (
            {"refresh_token": "r0"},
            {"grant_type": "refresh_token", "refresh_token": "r0"},
            {"grant_type": "refresh_token", "refresh_token": "r1"},
        ),
    ],
)
async def test_a_token_is_fetched_once_and_again_when_it_is_refused(
    more: dict[str, str], first: dict[str, str], second: dict[str, str]
) -> None:
    """The grant follows from the options; messages share a token as long as it is good."""
    guarded = Guarded()
    async with guarded.serving():
        sink = guarded.sink(**more)
        await sink.send(message(1))
        await sink.send(message(2))
        assert guarded.asked == [first]
        guarded.past += 1
        await sink.send(message(3))
        assert guarded.asked == [first, second]
        assert len(guarded.got) == 3
        await sink.close()


async def test_no_token_and_a_new_one_that_is_refused_are_tried_again() -> None:
    """A token server that is away is no fault of the message, nor is a new token that is refused:
    the client's secret may be changing just now."""
    guarded = Guarded()
    async with guarded.serving():
        guarded.open = False
        sink = guarded.sink()
        with pytest.raises(UnavailableError, match="gives no token: 503"):
            await sink.send(message(1))
        guarded.open, guarded.never = True, True
        with pytest.raises(UnavailableError, match=r"answered 401.*secrets"):
            await sink.send(message(1))
        assert len(guarded.asked) == 2
        guarded.never = False
        await sink.send(message(1))
        assert guarded.got == [message(1).payload]
        await sink.close()


async def test_the_clients_secret_does_not_follow_a_redirect() -> None:
    """A token server that leads elsewhere gives no token; nothing is shown to the other one."""
    guarded, other = Guarded(), Guarded()
    async with guarded.serving(), other.serving():
        guarded.moved_to = f"{other.url}/token"
        sink = guarded.sink()
        with pytest.raises(UnavailableError, match="gives no token: 307"):
            await sink.send(message(1))
        await sink.close()
        assert other.asked == []
