"""A server of events, by aiohttp-sse, in a process of its own that may be killed.

`python -m tests.contract.connectors.sse_server FILE PORT`. What is posted to /push is a line of
FILE before it is answered. /events gives each line an id, its number from 1, and goes on behind
Last-Event-ID; /live gives what is posted from then on, without ids. /guarded is /events for who
shows a token of /token; only the newest one is good.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import aiohttp
from aiohttp import encode_basic_auth, web
from aiohttp_sse import EventSourceResponse, sse_response

from tests.contract.connectors.brokers import Broker, free_port

HOST = "127.0.0.1"
RETRY_MS = 50
CLIENT = encode_basic_auth("key", "secret")


class Events:
    """The routes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines = path.read_text().splitlines()
        self._changed = asyncio.Condition()
        self._tokens = 0
        self.listening = 0

    async def push(self, request: web.Request) -> web.Response:
        """Kept when it is answered."""
        line = await request.text()
        os.write(self._file, line.encode() + b"\n")
        os.fsync(self._file)
        async with self._changed:
            self._lines.append(line)
            self._changed.notify_all()
        return web.json_response({"listening": self.listening})

    async def events(self, request: web.Request) -> EventSourceResponse:
        """All, or what is behind the one that is named."""
        return await self._stream(request, int(request.headers.get("Last-Event-ID", 0)))

    async def live(self, request: web.Request) -> EventSourceResponse:
        """What comes from now on."""
        return await self._stream(request, len(self._lines), with_ids=False)

    async def guarded(self, request: web.Request) -> web.StreamResponse:
        """To who has the newest token."""
        if request.headers.get("Authorization") != f"Bearer t{self._tokens}":
            return web.Response(status=401)
        return await self.events(request)

    async def token(self, request: web.Request) -> web.Response:
        """The next one."""
        assert request.headers["Authorization"] == CLIENT
        self._tokens += 1
        return web.json_response({"access_token": f"t{self._tokens}"})

    async def _stream(
        self, request: web.Request, at: int, *, with_ids: bool = True
    ) -> EventSourceResponse:
        async with sse_response(request) as response:
            self.listening += 1
            try:
                while True:
                    async with self._changed:
                        await self._changed.wait_for(lambda: len(self._lines) > at)  # noqa: B023
                    for line in self._lines[at:]:
                        at += 1
                        await response.send(line, id=str(at) if with_ids else None, retry=RETRY_MS)
            finally:
                self.listening -= 1


class EventServer(Broker):
    """The process; `stop` kills it, and what was pushed is there again after `start`."""

    def __init__(self, directory: Path, *, path: str = "events") -> None:
        self.port = free_port()
        self.url = f"http://{HOST}:{self.port}/{path}"
        command = [sys.executable, "-m", "tests.contract.connectors.sse_server"]
        super().__init__([*command, str(directory / "events"), str(self.port)], {}, [self.port])

    async def send(self, payload: bytes) -> None:
        """Kept when this returns."""
        await self.push(payload)

    async def push(self, payload: bytes) -> int:
        """How many listen."""
        url = f"http://{HOST}:{self.port}/push"
        async with aiohttp.ClientSession() as session, session.post(url, data=payload) as response:
            assert response.status == 200
            return int((await response.json())["listening"])


def main(path: str, port: str) -> None:
    """Until it is killed."""

    async def made() -> web.Application:
        events = Events(Path(path))
        app = web.Application()
        app.router.add_post("/push", events.push)
        app.router.add_post("/token", events.token)
        app.router.add_get("/events", events.events)
        app.router.add_get("/live", events.live)
        app.router.add_get("/guarded", events.guarded)
        return app

    web.run_app(made(), host=HOST, port=int(port), print=None)


if __name__ == "__main__":
    main(*sys.argv[1:])
