"""What stands before every route of a door: no stranger's page, and nobody without the right that
the route's row of the table asks for. A route without a row is shut."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from lockstep.clock import Clock
from lockstep.events import LockstepError, UnavailableError
from lockstep.frame.addresses import is_loopback
from lockstep.frame.audit import AuditTrail, added_note
from lockstep.frame.callers import (
    FORWARDED_FOR,
    TOKEN_COOKIE,
    Callers,
    bearer_of,
    caller_of,
    opens_socket,
    remember,
)
from lockstep.frame.problems import Problem, respond
from lockstep.rights import Need, Principal, Scope, StrangerError, refusal
from lockstep.rights.audit import NOBODY, AuditEntry, cut, is_told
from lockstep.rights.needs import KNOWN, OPEN
from lockstep.settings import ServerSettings

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
METRICS: Final = "/metrics"
PROBES: Final = frozenset({"/healthz", "/health", "/readyz"})
"""What answers also those who show no certificate: they tell nothing else."""


def is_encrypted(request: web.Request) -> bool:
    """Whether the caller speaks TLS, with us or with a proxy in front of us."""
    return request.secure or request.headers.get("X-Forwarded-Proto", "").lower() == "https"


def has_begun(request: web.Request) -> bool:
    """Whether anything of the answer has been written."""
    return request.writer.output_size > 0


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """A request that was let in."""

    caller: Principal | None
    need: Need
    app: str | None


class Guard:
    """Judges requests by the table of needs."""

    def __init__(
        self,
        settings: ServerSettings,
        callers: Callers,
        needs: Mapping[tuple[str, str], Need],
        clock: Clock,
        trail: AuditTrail | None = None,
    ) -> None:
        self._settings = settings
        self._callers = callers
        self._needs = needs
        self._clock = clock
        self._trail = trail
        self._node = settings.node
        self._under_way: dict[asyncio.Task[object], _UnderWay] = {}
        self._ended: dict[asyncio.Task[object], LockstepError] = {}

    @property
    def middleware(self) -> Middleware:
        """For the application."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._refuse_unproven(request)
            need = self._need(request)
            if need.scope is Scope.OPEN and request.method in SAFE_METHODS:
                remember(request, None)
                return await handler(request)
            return await self._told(request, need, lambda: judge(request, handler, need))

        async def judge(request: web.Request, handler: Handler, need: Need) -> web.StreamResponse:
            if need.scope is not Scope.OPEN or request.method not in SAFE_METHODS:
                self._refuse_strangers(request)
            caller = None if need.scope is Scope.OPEN else await self._callers.of(request)
            remember(request, caller)
            app = request.match_info.get("app")
            refused = refusal(caller, need, app)
            if refused is None:
                return await self._watched(request, handler, _UnderWay(caller, need, app))
            if isinstance(refused, StrangerError):
                entered = await self._entered(request)
                if entered is not None:
                    return entered
            raise refused

        return guard

    async def _watched(
        self, request: web.Request, handler: Handler, one: _UnderWay
    ) -> web.StreamResponse:
        """An answer may go on for days; its caller may lose the right meanwhile. One that has begun
        breaks off then; before that the caller is told why."""
        task = asyncio.current_task()
        assert task is not None
        self._under_way[task] = one
        try:
            return await handler(request)
        except asyncio.CancelledError:
            why = self._ended.get(task)
            if why is None or task.uncancel() or has_begun(request):
                raise
            raise Problem(
                HTTPStatus(respond(why).status),
                f"this was ended while it was under way: {why.message}",
                hint="it may have been done before that: look before you send it again",
            ) from why
        finally:
            self._under_way.pop(task, None)
            self._ended.pop(task, None)

    async def _told(
        self,
        request: web.Request,
        need: Need,
        judge: Callable[[], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        """What came of it, with a note in the audit log where it is of that kind."""
        if self._trail is None:
            return await judge()
        status = int(HTTPStatus.INTERNAL_SERVER_ERROR)
        try:
            response = await judge()
            status = response.status
        except LockstepError as error:
            status = respond(error).status
            raise
        except web.HTTPException as error:
            status = error.status
            raise
        finally:
            if is_told(need, request.method, status):
                await self._trail.note(
                    self._entry(request, status),
                    now=status not in (401, 403),
                    address=self._callers.address_of(request),
                )
        return response

    def _entry(self, request: web.Request, status: int) -> AuditEntry:
        caller = caller_of(request)
        resource = request.match_info.route.resource
        forwarded = request.headers.get(FORWARDED_FOR, "")
        return AuditEntry(
            at_ms=self._clock.now_ms(),
            who=NOBODY if caller is None else cut(str(caller)),
            address=request.remote or "",
            forwarded=cut(forwarded),
            method=request.method,
            route="" if resource is None else resource.canonical,
            path=cut(request.path + added_note(request)),
            app=cut(request.match_info.get("app", "")),
            status=status,
            node=self._node,
        )

    def look_again(self) -> None:
        """Ends what is under way for callers who may not any more; but not whoever has just changed
        that, who is told how it went."""
        asking = asyncio.current_task()
        for task, one in list(self._under_way.items()):
            if task is asking:
                continue
            refused = self._refused_by_now(one)
            if refused is not None and task not in self._ended:
                self._ended[task] = refused
                task.cancel()

    def _refused_by_now(self, one: _UnderWay) -> LockstepError | None:
        try:
            return refusal(self._callers.still(one.caller), one.need, one.app)
        except UnavailableError as error:
            return error

    def _need(self, request: web.Request) -> Need:
        resource = request.match_info.route.resource
        if resource is None:
            return KNOWN  # what is not there is nobody's business who is not known
        if resource.canonical == METRICS and self._settings.open_metrics:
            return OPEN
        method = "GET" if request.method == "HEAD" else request.method
        need = self._needs.get((method, resource.canonical))
        if need is None:
            raise Problem(HTTPStatus.FORBIDDEN, "nobody has said who may use this route")
        return need

    async def _entered(self, request: web.Request) -> web.Response | None:
        """Browsers cannot send the header for a page: a token in the address becomes a cookie
        once."""
        token = request.query.get("token", "")
        if request.method != "GET" or not token or await self._callers.by_token(token) is None:
            return None
        query = {name: value for name, value in request.query.items() if name != "token"}
        response = web.Response(
            status=303, headers={"Location": str(request.rel_url.with_query(query))}
        )
        response.set_cookie(
            TOKEN_COOKIE, token, httponly=True, samesite="Strict", secure=is_encrypted(request)
        )
        return response

    def _refuse_unproven(self, request: web.Request) -> None:
        """Where callers have to show a certificate. One that is shown has been checked."""
        if not self._settings.tls_client_ca_file or request.path in PROBES:
            return
        if not request.get_extra_info("peercert"):
            raise Problem(
                HTTPStatus.FORBIDDEN, "this door wants to see a client certificate",
                hint="for `lockstep`: --certificate and --key, or LOCKSTEP_CLIENT__TLS_*",
            )  # fmt: skip

    def _refuse_strangers(self, request: web.Request) -> None:
        """Pages of other sites may not use a browser on this machine to reach an open door, nor
        its cookie or password for a WebSocket, which browsers open to any site."""
        origin = request.headers.get("Origin")
        if opens_socket(request):
            is_safe = self._callers.are_asked and bearer_of(request) is not None
        else:
            is_safe = request.method in SAFE_METHODS
        if origin and not is_safe and urlsplit(origin).netloc != request.host:
            raise Problem(HTTPStatus.FORBIDDEN, f"requests from pages of {origin} are refused")
        host = urlsplit(f"//{request.host}").hostname or ""
        is_private = is_loopback(self._settings.host) and not self._callers.are_asked
        if is_private and not is_loopback(host):
            raise Problem(
                HTTPStatus.FORBIDDEN, f"this door answers to loopback names only, not to '{host}'"
            )
