"""A destination for HTTP sinks."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.Response]]


@contextlib.asynccontextmanager
async def webhook(answer: Answer) -> AsyncIterator[str]:
    """A server on a free port of this machine that answers what is posted to it; its URL."""
    server = web.Application()
    server.router.add_post("/hook", answer)
    runner = web.AppRunner(server)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    finally:
        await runner.cleanup()
