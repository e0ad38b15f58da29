"""Answers go out compressed. The files of the pages are compressed once and kept, so that a browser
that was never here does not wait while each of them is packed for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nicegui import __version__
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC: Final = f"/_nicegui/{__version__}/static/"
FILES: Final = (
    "/assets/", STATIC, f"/_nicegui/{__version__}/libraries/",
    f"/_nicegui/{__version__}/components/", f"/_nicegui/{__version__}/esm/",
)  # fmt: skip
"""Below these each address has the same answer as long as the process lives."""

EVERY_PAGE: Final = (
    *(f"/assets/{name}" for name in ("console.css", "theme.js", "keys.js", "icon.svg")),
    *(f"{STATIC}{name}" for name in (
        "fonts.css", "quasar.important.prod.css", "quasar.unimportant.prod.css", "nicegui.css",
        "vue.esm-browser.prod.js", "socket.io.min.js", "quasar.umd.prod.js",
        "lang/en-US.umd.prod.js", "nicegui.js", "dompurify.mjs",
    )),
)  # fmt: skip
"""What a browser loads for any page."""

MAX_KEPT_BYTES: Final = 16_777_216
_QUICK: Final = 4
"""The level at which a page is compressed, while somebody waits for it."""

_SMALL: Final = 9
_ALONE: Final = frozenset({"range", "if-none-match", "if-modified-since", "if-range"})
"""Headers that ask for less than the file."""


@dataclass(frozen=True, slots=True)
class _Kept:
    start: Message
    body: bytes


class Compressing:
    """An ASGI middleware. `MAX_KEPT_BYTES` are kept at most; what is beyond is packed each time."""

    def __init__(self, app: ASGIApp) -> None:
        self._pages = GZipMiddleware(app, compresslevel=_QUICK)
        self._files = GZipMiddleware(app, compresslevel=_SMALL)
        self._kept: dict[tuple[str, bool], _Kept] = {}
        self._kept_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on, compressed where the browser takes it."""
        if scope["type"] != "http" or not scope["path"].startswith(FILES):
            await self._pages(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["method"] != "GET" or not _ALONE.isdisjoint(headers.keys()):
            await self._files(scope, receive, send)
            return
        packed = "gzip" in headers.get("accept-encoding", "")
        key = (scope["path"], packed)
        kept = self._kept.get(key)
        if kept is None:
            found = _Heard(send)
            await self._files(scope, receive, found)
            self._keep(key, found)
            return
        # Whoever is outside of us writes headers of its own into what it is given.
        await send({**kept.start, "headers": list(kept.start["headers"])})
        await send({"type": "http.response.body", "body": kept.body})

    def _keep(self, key: tuple[str, bool], heard: _Heard) -> None:
        kept = heard.whole()
        if kept is None or self._kept_bytes + len(kept.body) > MAX_KEPT_BYTES:
            return
        if key not in self._kept:
            self._kept[key] = kept
            self._kept_bytes += len(kept.body)


class _Heard:
    """Sends on, and remembers what was sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._parts: list[bytes] = []
        self._is_whole = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = {**message, "headers": list(message["headers"])}
        elif message["type"] == "http.response.body":
            self._parts.append(bytes(message.get("body", b"")))
            self._is_whole = not message.get("more_body", False)
        await self._send(message)

    def whole(self) -> _Kept | None:
        """The answer; None for one that is no file, or was cut."""
        if self._start is None or not self._is_whole or self._start["status"] != 200:
            return None
        return _Kept(self._start, b"".join(self._parts))


async def prepare(application: ASGIApp, paths: Iterable[str] = EVERY_PAGE) -> None:
    """Asks for files as a browser would, so that they are kept before the first one does."""

    async def waits() -> Message:
        await asyncio.Event().wait()  # until the answer is there: it ends whoever listens
        return {"type": "http.disconnect"}

    async def nowhere(_message: Message) -> None:
        pass

    for path in paths:
        scope: Scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
            "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"accept-encoding", b"gzip")],
            "server": None, "client": None,
        }  # fmt: skip
        await application(scope, waits, nowhere)
