"""A service's HTTP door without a socket: requests travel the simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import HttpVersion11, web, web_app
from aiohttp.http_parser import RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from lockstep.events import UnavailableError
from lockstep.frame.web import Door
from tests.simulation.loop import Host
from tests.simulation.network import Answer, Network

MAX_BODY_BYTES: Final = 10_000_000


class SimDoor(Door):
    """Answers as the real one does: same routes, same checks, same errors."""

    is_open = False

    async def open(self) -> None:
        """Frozen, as a listening application is."""
        self.application.freeze()
        self.is_open = True

    async def close(self) -> None:
        """Refuses from now on."""
        self.is_open = False


def forget_doors() -> None:
    """aiohttp remembers the handlers of the last thousand routes that were asked, and with them the
    whole simulations that these belong to."""
    web_app._cached_build_middleware.cache_clear()


@dataclass(frozen=True)
class Reply:
    """Status and body."""

    status: int
    body: bytes


class _Payload:
    """A request's body, all there at once."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def set_read_chunk_size(self, _size: int) -> None:
        """There is one chunk."""

    def at_eof(self) -> bool:
        """Nothing is left."""
        return not self._body

    async def readany(self) -> bytes:
        """Everything, then nothing."""
        body, self._body = self._body, b""
        return body


class _Protocol:
    """What aiohttp asks a connection."""

    transport = None
    ssl_context = None
    peername = None
    sockname = None


def request_of(
    door: SimDoor, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> web.Request:
    """As a parser would have made it."""
    found = CIMultiDict({"Host": "localhost", "Content-Length": str(len(body)), **headers})
    message = RawRequestMessage(
        method, path, HttpVersion11, CIMultiDictProxy(found), (), False, None, False, False,
        URL(path),
    )  # fmt: skip
    nobody: Any = None
    payload: Any = _Payload(body)
    protocol: Any = _Protocol()
    return web.Request(
        message, payload, protocol, nobody, nobody, nobody,
        client_max_size=MAX_BODY_BYTES, host="localhost", scheme="http", remote="",
    )  # fmt: skip


async def call(
    network: Network,
    client: Host,
    server: Host,
    door: SimDoor,
    method: str,
    path: str,
    *,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    timeout_ms: int,
) -> Reply:
    """A request from one host to another; UnavailableError when no answer came."""

    def serve(answer: Answer) -> None:
        if server.dead or not door.is_open:
            answer(UnavailableError(f"{server.name} refuses"))
            return
        request = request_of(door, method, path, headers or {}, body)

        async def handle() -> None:
            response: Any = await door.application._handle(request)
            answer(Reply(response.status, bytes(response.body or b"")))

        task = network.loop.create_task(handle(), context=server.context)
        task.add_done_callback(_came_to_an_end)

    reply: Reply = await network.call(client, server.name, serve, timeout_ms=timeout_ms)
    return reply


def _came_to_an_end(done: asyncio.Task[None]) -> None:
    """A handler of ours does not raise: what it raises is an error of the simulation."""
    if not done.cancelled():
        done.result()
