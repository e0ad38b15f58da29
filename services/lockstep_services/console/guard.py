"""What stands before every request: no stranger's page reaches the console, and its own pages may
load nothing from elsewhere."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lockstep.clock import Clock
from lockstep.frame.addresses import is_loopback
from lockstep.frame.guard import SAFE_METHODS
from lockstep.frame.strangers import has_control
from lockstep.settings import ServerSettings
from lockstep.telemetry import Metrics

POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; worker-src 'self' blob:"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer browsers send our own forms as of `null`
    "Cross-Origin-Opener-Policy": "same-origin",
}


ONLY_TLS: Final = {"Strict-Transport-Security": "max-age=31536000"}
"""Said over TLS: browsers then come back over nothing else, for a year."""


class Guard:
    """An ASGI middleware for HTTP and WebSockets."""

    def __init__(
        self, app: ASGIApp, *, settings: ServerSettings, metrics: Metrics, clock: Clock
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock
        self._is_private = is_loopback(settings.host) and not settings.token.get_secret_value()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what may pass."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(refusal, scope, receive, send)
            return
        started_ms = self._clock.monotonic_ms()
        only_tls = ONLY_TLS if scope["scheme"] in ("https", "wss") else {}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS | only_tls)
                took_ms = self._clock.monotonic_ms() - started_ms
                route = "/" + scope["path"].split("/")[1]
                known = route if route in ROUTES else "other"
                self._metrics.count(
                    "lockstep_http_requests_total", route=known, status=message["status"]
                )
                self._metrics.observe("lockstep_http_request_ms", took_ms, route=known)
            await send(message)

        await self._app(routable(scope), receive, sending)

    def _refusal(self, scope: Scope, headers: Headers) -> str | None:
        address = scope["path"] + unquote(scope.get("query_string", b"").decode("latin-1"))
        if has_control(address):
            return "the address holds control characters"
        host = headers.get("host", "")
        name = urlsplit(f"//{host}").hostname or ""
        if self._is_private and not is_loopback(name):
            return f"this door answers to loopback names only, not to '{name[:100]}'"
        origin = headers.get("origin")
        is_change = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if origin and is_change and urlsplit(origin).netloc != host:
            return f"requests from pages of {origin[:100]} are refused"
        return None


ROUTES: Final = frozenset(
    {"/", "/apps", "/write", "/try", "/watch", "/errors", "/nodes", "/history", "/scripts",
     "/templates", "/login", "/logout", "/signin", "/invitation", "/assets",
     "/_nicegui", "/healthz", "/readyz", "/metrics"}
)  # fmt: skip


def routable(scope: Scope) -> Scope:
    """The same with a path in which a `/` or `%` that is part of a name is encoded still: the
    routes split at each `/`. `View.parameter` decodes the name."""
    raw = scope.get("raw_path") or b""
    if b"%" not in raw:
        return scope
    names = (unquote(one) for one in raw.decode("latin-1").split("/"))
    return {**scope, "path": "/".join(one.replace("%", "%25").replace("/", "%2F") for one in names)}


async def _refuse(reason: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
        return
    await PlainTextResponse(reason, status_code=403, headers=HEADERS)(scope, receive, send)
