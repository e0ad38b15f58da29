"""The HTTP door of a process: health, readiness, metrics, the bearer token, errors as problem+json.

It listens on the loopback by default, and refuses any other host unless callers need a token or a
certificate, or the settings say that the network is private.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from lockstep.clock import Clock
from lockstep.events import Fault, LockstepError
from lockstep.frame.addresses import is_loopback, is_wildcard, outward_address
from lockstep.frame.audit import AuditTrail
from lockstep.frame.callers import Callers
from lockstep.frame.guard import Guard
from lockstep.frame.health import Readiness
from lockstep.frame.log_route import LogRoute
from lockstep.frame.openapi import DOOR, JSON, PATH, Described, document
from lockstep.frame.problems import Problem, problem_response, respond
from lockstep.frame.strangers import has_hung_up, keep_to_ourselves, readable, refuse_strange
from lockstep.rights import ROUTES, Need
from lockstep.settings import ServerSettings
from lockstep.telemetry import CONTENT_TYPE, Logger, LogTail, Metrics
from lockstep.tls import serving

BODY_MARGIN_BYTES: Final = 1_024
KEEPALIVE_S: Final = 75.0
LAST_ANSWERS_S: Final = 3.0
"""What is still being answered when the door closes has so long: the services have stopped."""


class OpenDoorError(LockstepError):
    """The settings would open an unguarded door to a network."""

    fault = Fault.USER


def check_host(settings: ServerSettings) -> None:
    """Raises OpenDoorError for a host beyond the loopback where nothing is asked of callers."""
    is_guarded = settings.token.get_secret_value() or settings.tls_client_ca_file
    if is_loopback(settings.host) or is_guarded or settings.allow_open_host:
        return
    raise OpenDoorError(
        f"refusing to listen on {settings.host} without a token",
        hint="set LOCKSTEP_SERVER__TOKEN, or LOCKSTEP_SERVER__TLS_CLIENT_CA_FILE, or"
        " LOCKSTEP_SERVER__ALLOW_OPEN_HOST=true on a private network",
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
        node: str = "",
        needs: Mapping[tuple[str, str], Need] = ROUTES,
        callers: Callers | None = None,
        trail: AuditTrail | None = None,
        tail: LogTail | None = None,
    ) -> None:
        check_host(settings)
        keep_to_ourselves()
        self._settings = settings
        # Probes of health have no certificate: the guard looks at those of all others.
        self._tls = serving(settings.tls, insist=False)
        self._readiness = readiness
        self._node = node
        self._metrics = metrics
        self._clock = clock
        self._log = log
        self._runner: web.AppRunner | None = None
        self._host = settings.host
        self._port = settings.port
        callers = callers or Callers(settings.token.get_secret_value(), clock)
        guard = Guard(settings, callers, needs, clock, trail)
        self.look_again = guard.look_again
        self.application = web.Application(
            middlewares=[self._observed(), self._answered(), guard.middleware, readable()],
            client_max_size=max_body_bytes + BODY_MARGIN_BYTES,
        )
        self.application.router.add_get("/healthz", self._health)
        self.application.router.add_get("/health", self._health)
        self.application.router.add_get("/readyz", self._ready)
        self.application.router.add_get("/metrics", self._show_metrics)
        self.application.router.add_get(PATH, self._show_document)
        LogRoute(tail).add_to(self.application.router)
        self.before_metrics: Callable[[], Awaitable[None]] | None = None
        """Sets gauges for which servers have to be asked, whenever somebody wants the page."""
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
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self._port}"

    async def open(self) -> None:
        """Listens; OpenDoorError when the address is taken."""
        self._runner = web.AppRunner(
            self.application, access_log=None, keepalive_timeout=KEEPALIVE_S, handle_signals=False,
            shutdown_timeout=LAST_ANSWERS_S,
        )  # fmt: skip
        await self._runner.setup()
        site = web.TCPSite(
            self._runner, self._settings.host, self._settings.port, ssl_context=self._tls
        )
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise OpenDoorError(
                f"cannot listen on {self._settings.host}:{self._settings.port}: {error.strerror}",
                hint="another process uses the port; set LOCKSTEP_SERVER__PORT,"
                " or --port of `lockstep run`",
            ) from error
        self._port = int(self._runner.addresses[0][1])
        if is_wildcard(self._host):
            self._host = outward_address(self._host)

    async def close(self) -> None:
        """Stops listening and ends open connections, by force those that have no answer within
        LAST_ANSWERS_S; idempotent."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    async def _ready(self, _request: web.Request) -> web.Response:
        report = await self._readiness.report()
        ready = all(reason is None for reason in report.values())
        checks = {name: reason or "ok" for name, reason in report.items()}
        status = "ready" if ready else "not ready"
        body = {"status": status, "checks": checks, "node": self._node, "pid": os.getpid()}
        return web.json_response(body, status=200 if ready else 503)

    async def _show_metrics(self, _request: web.Request) -> web.Response:
        if self.before_metrics is not None:
            await self.before_metrics()
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
                refuse_strange(request)
                return await handler(request)
            except LockstepError as error:
                if error.fault is Fault.INTERNAL and not isinstance(error, Problem):
                    self._log.exception("request failed", path=request.path, error=str(error))
                return respond(error)
            except web.HTTPException as error:
                if error.status < HTTPStatus.BAD_REQUEST:
                    raise
                return problem_response(error.status, _http_detail(error, request))
            except asyncio.CancelledError:
                raise
            except Exception as error:
                if isinstance(error, ConnectionError) and has_hung_up(request):
                    raise
                self._log.exception("request failed", path=request.path)
                return problem_response(500, "something went wrong inside; the log has the details")

        return answer


def _http_detail(error: web.HTTPException, request: web.Request) -> str:
    if error.status == HTTPStatus.NOT_FOUND:
        return f"there is nothing at {request.path}"
    if error.status == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.method} is not possible at {request.path}"
    if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return "the body is larger than this door takes"
    return error.text or error.reason
