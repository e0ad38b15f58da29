"""The HTTP door of a process: health, readiness, metrics, the bearer token, errors as problem+json.

It listens on the loopback by default, and refuses any other host without a token unless the
settings say that the network is private.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from lockstep.clock import Clock
from lockstep.events import Fault, LockstepError
from lockstep.frame.health import Readiness
from lockstep.frame.openapi import DOOR, JSON, PATH, Described, document
from lockstep.frame.problems import Problem, problem_response, respond
from lockstep.settings import ServerSettings
from lockstep.telemetry import CONTENT_TYPE, Logger, Metrics

OPEN_ROUTES: Final = frozenset({"/healthz", "/readyz", "/health"})
TOKEN_COOKIE: Final = "lockstep_token"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
BODY_MARGIN_BYTES: Final = 1_024
KEEPALIVE_S: Final = 75.0


class OpenDoorError(LockstepError):
    """The settings would open an unguarded door to a network."""

    fault = Fault.USER


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this machine reaches."""
    if host in ("localhost", ""):
        return host == "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """True for the addresses that mean every interface: nobody can be reached there."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def outward_address(host: str) -> str:
    """The address with which this machine shows itself to others, in a pod the pod's own; the
    loopback where there is no network. Nothing is sent."""
    family, beyond, loopback = (
        (socket.AF_INET6, "2001:db8::1", "::1")
        if ":" in host
        else (socket.AF_INET, "192.0.2.1", "127.0.0.1")
    )
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((beyond, 9))
        except OSError:
            return loopback
        return str(probe.getsockname()[0])


def check_host(settings: ServerSettings) -> None:
    """Raises OpenDoorError for a host beyond the loopback without a token."""
    token = settings.token.get_secret_value()
    if is_loopback(settings.host) or token or settings.allow_open_host:
        return
    raise OpenDoorError(
        f"refusing to listen on {settings.host} without a token",
        hint="set LOCKSTEP_SERVER__TOKEN, or LOCKSTEP_SERVER__ALLOW_OPEN_HOST=true on a private"
        " network",
    )


def check_sources_host(host: str, settings: ServerSettings) -> None:
    """Raises OpenDoorError where apps' own servers would listen beyond the loopback, and nobody has
    said that it may be: most of their protocols know no token."""
    if not (is_loopback(host) or settings.allow_open_host):
        raise OpenDoorError(
            f"refusing to let the servers of sources listen on {host}",
            hint="set LOCKSTEP_SERVER__ALLOW_OPEN_HOST=true on a private network",
        )


class Door:
    """The aiohttp application of a process and the socket it listens on."""

    def __init__(
        self,
        settings: ServerSettings,
        readiness: Readiness,
        metrics: Metrics,
        clock: Clock,
        log: Logger,
        *,
        max_body_bytes: int,
    ) -> None:
        check_host(settings)
        self._settings = settings
        self._readiness = readiness
        self._metrics = metrics
        self._clock = clock
        self._log = log
        self._runner: web.AppRunner | None = None
        self._host = settings.host
        self._port = settings.port
        self.application = web.Application(
            middlewares=[self._observed(), self._answered(), self._guarded()],
            client_max_size=max_body_bytes + BODY_MARGIN_BYTES,
        )
        self.application.router.add_get("/healthz", self._health)
        self.application.router.add_get("/health", self._health)
        self.application.router.add_get("/readyz", self._ready)
        self.application.router.add_get("/metrics", self._show_metrics)
        self.application.router.add_get(PATH, self._show_document)
        self._services: list[str] = []
        self._described: list[Described] = [*DOOR]
        self._document: bytes | None = None

    def describe(self, service: str, routes: Sequence[Described]) -> None:
        """A service that is behind this door, and what it says of its routes."""
        self._services.append(service)
        self._described += routes

    @property
    def url(self) -> str:
        """Where others reach it; address and port are right once it listens."""
        if self._settings.advertised_url:
            return self._settings.advertised_url.rstrip("/")
        host = self._host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._port}"

    async def open(self) -> None:
        """Listens; OpenDoorError when the address is taken."""
        self._runner = web.AppRunner(
            self.application, access_log=None, keepalive_timeout=KEEPALIVE_S, handle_signals=False
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._settings.host, self._settings.port)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise OpenDoorError(
                f"cannot listen on {self._settings.host}:{self._settings.port}: {error.strerror}",
                hint="another process uses the port; set LOCKSTEP_SERVER__PORT",
            ) from error
        self._port = int(self._runner.addresses[0][1])
        if is_wildcard(self._host):
            self._host = outward_address(self._host)

    async def close(self) -> None:
        """Stops listening and ends open connections; idempotent."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    async def _ready(self, _request: web.Request) -> web.Response:
        report = await self._readiness.report()
        ready = all(reason is None for reason in report.values())
        checks = {name: reason or "ok" for name, reason in report.items()}
        body = {"status": "ready" if ready else "not ready", "checks": checks}
        return web.json_response(body, status=200 if ready else 503)

    async def _show_metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})

    async def _show_document(self, _request: web.Request) -> web.Response:
        if self._document is None:
            self._document = msgspec.json.encode(document(self._described, self._services))
        return web.Response(body=self._document, content_type=JSON)

    def _observed(self) -> Middleware:
        @web.middleware
        async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
            started_ms = self._clock.monotonic_ms()
            response = await handler(request)
            resource = request.match_info.route.resource
            route = "unknown" if resource is None else resource.canonical
            took_ms = self._clock.monotonic_ms() - started_ms
            self._metrics.count("lockstep_http_requests_total", route=route, status=response.status)
            self._metrics.observe("lockstep_http_request_ms", took_ms, route=route)
            return response

        return observe

    def _answered(self) -> Middleware:
        @web.middleware
        async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                return await handler(request)
            except LockstepError as error:
                if error.fault is Fault.INTERNAL and not isinstance(error, Problem):
                    self._log.exception("request failed", path=request.path, error=str(error))
                return respond(error)
            except web.HTTPException as error:
                if error.status < HTTPStatus.BAD_REQUEST:
                    raise
                return problem_response(error.status, _http_detail(error, request))
            except (ConnectionError, asyncio.CancelledError):
                raise
            except Exception:
                self._log.exception("request failed", path=request.path)
                return problem_response(500, "something went wrong inside; the log has the details")

        return answer

    def _guarded(self) -> Middleware:
        token = self._settings.token.get_secret_value()

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path in OPEN_ROUTES:
                return await handler(request)
            self._refuse_strangers(request, bool(token))
            if not token or _same(_given_token(request), token):
                return await handler(request)
            if request.method == "GET" and _same(request.query.get("token", ""), token):
                return _with_cookie(request, token)
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "a bearer token is needed",
                hint="send the header Authorization: Bearer <token>",
            )

        return guard

    def _refuse_strangers(self, request: web.Request, has_token: bool) -> None:
        """Pages of other sites may not use a browser on this machine to reach an open door."""
        origin = request.headers.get("Origin")
        if (
            origin
            and request.method not in SAFE_METHODS
            and urlsplit(origin).netloc != request.host
        ):
            raise Problem(HTTPStatus.FORBIDDEN, f"requests from pages of {origin} are refused")
        host = urlsplit(f"//{request.host}").hostname or ""
        if not has_token and is_loopback(self._settings.host) and not is_loopback(host):
            raise Problem(
                HTTPStatus.FORBIDDEN, f"this door answers to loopback names only, not to '{host}'"
            )


def _http_detail(error: web.HTTPException, request: web.Request) -> str:
    if error.status == HTTPStatus.NOT_FOUND:
        return f"there is nothing at {request.path}"
    if error.status == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.method} is not possible at {request.path}"
    if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return "the body is larger than this door takes"
    return error.text or error.reason


def _given_token(request: web.Request) -> str:
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    return request.cookies.get(TOKEN_COOKIE, "")


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _with_cookie(request: web.Request, token: str) -> web.Response:
    # Browsers cannot send the header for a page: the token in the address becomes a cookie once.
    query = {name: value for name, value in request.query.items() if name != "token"}
    response = web.Response(
        status=303, headers={"Location": str(request.rel_url.with_query(query))}
    )
    response.set_cookie(TOKEN_COOKIE, token, httponly=True, samesite="Strict")
    return response
