"""Those who are on duty: a mail server and a web hook that get the sample's alerts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from email import message_from_bytes
from typing import Any, Final

from aiohttp import web
from aiosmtpd.controller import Controller

from lockstep.clock import SystemClock
from lockstep.embedded import free_port
from tests.integration.services.webhook import webhook

CLOCK: Final = SystemClock()
WAIT_MS: Final = 120_000
POLL_MS: Final = 250
MAIL: Final = "host = 'mail.example.org'"
HOOK: Final = "https://hooks.example.org/security"


class Duty:
    """What arrived, by identity."""

    def __init__(self) -> None:
        self.mails: dict[str, str] = {}
        self.posts: dict[str, dict[str, Any]] = {}
        self.again = 0
        self._port = free_port()
        self._hook = ""

    @contextlib.asynccontextmanager
    async def there(self) -> AsyncIterator[Duty]:
        """Both servers run."""
        controller = Controller(self, hostname="127.0.0.1", port=self._port)
        await asyncio.to_thread(controller.start)
        try:
            async with webhook(self._posted) as self._hook:
                yield self
        finally:
            await asyncio.to_thread(controller.stop)

    def called_by(self, text: str) -> str:
        """The sample with the sinks that stand in its comments, and these servers' addresses."""
        lines = text.splitlines()
        first = next(number for number, line in enumerate(lines) if line.startswith("-- @sink("))
        last = next(number for number, line in enumerate(lines) if line.startswith("@sink("))
        lines[first:last] = [line.removeprefix("-- ") for line in lines[first:last]]
        found = "\n".join(lines)
        assert MAIL in found
        assert HOOK in found
        mail = f"host = '127.0.0.1', port = '{self._port}', ssl.enable = 'false', auth = 'false'"
        return found.replace(MAIL, mail).replace(HOOK, self._hook)

    async def got(self, alerts: Collection[Any]) -> bool:
        """Whether each alert has come as a mail and as a request, in its time."""
        deadline_ms = CLOCK.monotonic_ms() + WAIT_MS
        while CLOCK.monotonic_ms() < deadline_ms:
            if min(len(self.mails), len(self.posts)) >= len(alerts):
                break
            await CLOCK.sleep_ms(POLL_MS)
        return len(self.mails) == len(self.posts) == len(alerts)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        """As aiosmtpd calls it, in a thread of its own."""
        mail = message_from_bytes(envelope.content)
        self.again += mail["Message-ID"] in self.mails
        self.mails[mail["Message-ID"]] = mail["Subject"]
        return "250 taken"

    async def _posted(self, request: web.Request) -> web.Response:
        key = request.headers["Idempotency-Key"]
        self.again += key in self.posts
        self.posts[key] = await request.json()
        return web.Response()
