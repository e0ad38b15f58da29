"""Who may ask what takes long: one question of each person at a time, and a few of all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, TypeVar

from aiohttp import web

from lockstep.frame.callers import caller_of
from lockstep.frame.problems import Problem
from lockstep.rights import Kind

LOOKS_EVERY_S: Final = 0.2
AGAIN_AFTER_MS: Final = 1_000
T = TypeVar("T")


class Turns:
    """Of one service."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._asking: list[str] = []

    async def ask(self, request: web.Request, work: Awaitable[T]) -> T:
        """What `work` gives; it is cancelled when whoever asked has hung up. Problem 429, 400."""
        task = asyncio.ensure_future(work)
        try:
            async with self._turn(request):
                while not task.done():
                    await asyncio.wait({task}, timeout=LOOKS_EVERY_S)
                    if request.transport is None:  # whoever asked has hung up
                        raise Problem(HTTPStatus.BAD_REQUEST, "the query was given up")
                return await task
        finally:
            task.cancel()
            await asyncio.wait({task})

    @asynccontextmanager
    async def _turn(self, request: web.Request) -> AsyncIterator[None]:
        caller = caller_of(request)
        is_known = caller is not None and caller.kind not in (Kind.ANYBODY, Kind.CLUSTER)
        who = str(caller) if is_known else ""
        if (is_known and who in self._asking) or len(self._asking) >= self._limit:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "your last query has not ended" if who in self._asking else "too many are asking",
                hint="closing its connection ends a query",
                retry_after_ms=AGAIN_AFTER_MS,
            )
        self._asking.append(who)
        try:
            yield
        finally:
            self._asking.remove(who)
