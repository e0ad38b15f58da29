"""What a request may bring. Forms stand before the log-in, so strangers send them, too: nothing of
any size may wait in memory or on the disk until somebody looks at it."""

from __future__ import annotations

from collections import deque
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

FORM_MAX_BYTES: Final = 65_536
"""Of a body. The longest form holds a token, with twelve bytes for each character at most."""
PAGES: Final = "/_nicegui"
"""Below it, and beside it for sockets, are what open pages send: uploads of people who are logged
in, and events with a limit of their own."""


class Bounded:
    """An ASGI middleware: passes on a body that it has wholly, and answers 413 to a larger one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on."""
        if scope["type"] != "http" or scope["path"].startswith(PAGES):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        told = headers.get("content-length", "0")
        if told == "0" and "transfer-encoding" not in headers:
            await self._app(scope, receive, send)
            return
        is_told_too_large = told.isdecimal() and int(told[:18]) > FORM_MAX_BYTES
        came = None if is_told_too_large else await _came(receive)
        if came is None:
            # The rest is not read: no other request can come behind it.
            refusal = PlainTextResponse(
                f"the body is larger than {FORM_MAX_BYTES} bytes\n", 413, {"Connection": "close"}
            )
            await refusal(scope, receive, send)
            return

        async def receiving() -> Message:
            return came.popleft() if came else await receive()

        await self._app(scope, receiving, send)


async def _came(receive: Receive) -> deque[Message] | None:
    """What came up to the body's end, or until the sender went; None when that is too much."""
    messages: deque[Message] = deque()
    size_bytes = 0
    while True:
        message = await receive()
        size_bytes += len(message.get("body", b""))
        if size_bytes > FORM_MAX_BYTES:
            return None
        messages.append(message)
        if not message.get("more_body", False):
            return messages
