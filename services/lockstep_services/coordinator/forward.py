"""Writes go to the leading coordinator: the others pass them on and give its answer back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web

from lockstep.control import HeartbeatWatch
from lockstep.frame import LeaseKeeper, Problem
from lockstep.frame.bodies import raw_body
from lockstep.tls import TlsFiles, calling

FORWARDED: Final = "X-Lockstep-Forwarded"
KEPT_HEADERS: Final = ("Content-Type", "Authorization", "Accept")
TIMEOUT_S: Final = 30.0
RETRY_AFTER_MS: Final = 1_000

Handler = Callable[[web.Request], Awaitable[web.Response]]


class Forwarder:
    """Wraps handlers that write."""

    def __init__(self, keeper: LeaseKeeper, watch: HeartbeatWatch, tls: TlsFiles) -> None:
        self._keeper = keeper
        self._watch = watch
        self._tls = calling(tls)
        self._session: aiohttp.ClientSession | None = None

    def by_leader(self, handler: Handler) -> Handler:
        """The handler, run by whoever leads."""

        async def handle(request: web.Request) -> web.Response:
            if self._keeper.held:
                return await handler(request)
            leader = self._leader_url()
            if leader is None or FORWARDED in request.headers:
                raise Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    "no coordinator leads right now",
                    hint="one will within seconds",
                    retry_after_ms=RETRY_AFTER_MS,
                )
            return await self._forward(request, leader)

        return handle

    async def close(self) -> None:
        """Closes connections."""
        if self._session is not None:
            await self._session.close()

    def _leader_url(self) -> str | None:
        for beat in self._watch.alive("coordinator"):
            if beat.leading:
                return beat.url
        return None

    async def _forward(self, request: web.Request, leader: str) -> web.Response:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
            connector = aiohttp.TCPConnector(ssl=self._tls or True)
            self._session = aiohttp.ClientSession(timeout=timeout, connector=connector)
        headers = {name: request.headers[name] for name in KEPT_HEADERS if name in request.headers}
        headers[FORWARDED] = "1"
        url = leader + str(request.rel_url)
        body = await raw_body(request)
        try:
            async with self._session.request(
                request.method, url, data=body, headers=headers
            ) as response:
                content = await response.read()
                kept = {
                    name: response.headers[name]
                    for name in ("Content-Type", "Location", "Retry-After")
                    if name in response.headers
                }
                return web.Response(status=response.status, body=content, headers=kept)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "the leading coordinator cannot be reached",
                retry_after_ms=RETRY_AFTER_MS,
            ) from error
