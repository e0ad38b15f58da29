"""The receiver's HTTP routes: bodies in, positions out once everything is durable."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from aiohttp import web, web_urldispatcher
from multidict import CIMultiDict

from lockstep.connectors.endpoints import without_credentials
from lockstep.connectors.http_service import MESSAGE_ID
from lockstep.control import AppView
from lockstep.events import LockstepError
from lockstep.frame.bodies import Pace, parts_of
from lockstep.frame.callers import caller_of, may, require
from lockstep.frame.problems import Problem, problem_response
from lockstep.rights import Kind, Permission, StrangerError
from lockstep.settings import ReceiverSettings
from lockstep_services.receiver.accept import Accepted, Acceptor, Sending, UnknownNameError
from lockstep_services.receiver.decode import (
    JSON,
    NDJSON,
    TIMESTAMP_HEADER,
    UnknownFormatError,
    timestamp_of,
)
from lockstep_services.receiver.gate import Gate, Share
from lockstep_services.receiver.service import Held, Services, place_of
from lockstep_services.receiver.sources import Source

KEY_HEADER = "Idempotency-Key"
TRACE_HEADER = "traceparent"
MAX_KEY_CHARACTERS = 200
SHOWN_REFUSALS = 1_000

Take = Callable[[str, bytes, Sending], Awaitable[Accepted]]
Answering = Callable[[web.Request], Awaitable[web.Response]]
Resolved = tuple[web_urldispatcher.UrlMappingMatchInfo | None, set[str]]


class ClaimedPaths(web_urldispatcher.DynamicResource):
    """Every path that somebody claims at the time of the request; the others are not here."""

    def __init__(self, is_claimed: Callable[[str], bool]) -> None:
        super().__init__("/{path:.+}")
        self._is_claimed = is_claimed

    async def resolve(self, request: web.Request) -> Resolved:
        if request.method != "POST" or not self._is_claimed(request.path):
            return None, set()
        return await super().resolve(request)


class Routes:
    """Handlers over an acceptor and a gate."""

    def __init__(
        self, acceptor: Acceptor, gate: Gate, services: Services, settings: ReceiverSettings
    ) -> None:
        self._acceptor = acceptor
        self._gate = gate
        self._services = services
        self._max_body_bytes = settings.max_body_bytes
        self._pace = Pace(settings.body_idle_ms, settings.body_min_bytes_per_s)

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        one, many, named = map(self._noted, (self._one_stream, self._many_streams, self._by_name))
        router.add_post("/v1/apps/{app}/streams/{stream}/events", one)
        router.add_post("/v1/apps/{app}/events", many)
        # Where the apps' own http sources want to be found.
        claimed = ClaimedPaths(lambda path: self._acceptor.sources.at_path(path) is not None)
        router.register_resource(claimed)
        claimed.add_route("POST", self._noted(self._by_path))
        # The address form of the older products' HTTP sources.
        router.add_post("/{app}/{stream}", named)

    def _noted(self, handler: Answering) -> Answering:
        """Senders who are told that a server is away are counted with all who are pushed back."""

        async def noted(request: web.Request) -> web.Response:
            try:
                return await handler(request)
            except LockstepError as error:
                self._gate.note(error)
                raise

        return noted

    async def _one_stream(self, request: web.Request) -> web.Response:
        app, stream = request.match_info["app"], request.match_info["stream"]
        return await self._take(request, app, self._into(stream), JSON)

    async def _by_path(self, request: web.Request) -> web.Response:
        source = self._acceptor.sources.at_path(request.path)
        if source is None:
            raise web.HTTPNotFound
        if not may(request, Permission.SEND, source.app):
            raise _nobodys(request)
        _refuse_nameless(request, source)
        return await self._by_source(request, source)

    async def _by_name(self, request: web.Request) -> web.Response:
        app, stream = request.match_info["app"], request.match_info["stream"]
        source = self._acceptor.sources.at_door(await self._deployed(request, app), stream)
        _refuse_nameless(request, source)
        if source is None:
            return await self._take(request, app, self._into(stream), JSON)
        return await self._by_source(request, source)

    async def _by_source(self, request: web.Request, source: Source) -> web.Response:
        self._acceptor.health.refuse_paused(source)
        if source.is_service:
            return await self._ask(request, source)
        take = self._into(source.stream, source.number)
        return await self._take(request, source.app, take, JSON)

    async def _ask(self, request: web.Request, source: Source) -> web.Response:
        """Waits for what the app says."""
        services, take = self._services, self._into(source.stream, source.number)
        view = await self._deployed(request, source.app)
        caller = str(caller_of(request))
        services.check_room()
        with ExitStack() as until_answered:
            held: Held | None = None

            async def asked(app: str, body: bytes, sending: Sending) -> Accepted:
                nonlocal held
                # From here on, not while its body comes: many that never end would leave no room.
                services.check_room()
                held = until_answered.enter_context(services.waiting.holding())
                message_id = services.message_id(
                    source, view.log.since_ms, caller, sending.key, body
                )
                held.expect(place_of(source, message_id))
                properties = CIMultiDict(sending.properties)
                properties[MESSAGE_ID] = message_id
                return await take(app, body, replace(sending, properties=properties))

            accepted = await self._taken(request, source.app, asked, JSON)
            if accepted.receipt is None or held is None:
                return _answer(accepted)
            return await services.answered(request, source, held, accepted)

    async def _deployed(self, request: web.Request, app: str) -> AppView:
        """UnknownNameError with the nearest name, for those who may see all names."""
        try:
            return await self._acceptor.view(app)
        except UnknownNameError:
            if may(request, Permission.VIEW):
                raise
            raise UnknownNameError(f"no app named '{app}' is deployed") from None

    def _into(self, stream: str, source: int | None = None) -> Take:
        async def take(app: str, body: bytes, sending: Sending) -> Accepted:
            return await self._acceptor.accept(app, stream, body, replace(sending, source=source))

        return take

    async def _many_streams(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        return await self._take(request, app, self._acceptor.accept_mixed, NDJSON)

    async def _take(
        self, request: web.Request, app: str, take: Take, default_type: str
    ) -> web.Response:
        return _answer(await self._taken(request, app, take, default_type))

    async def _taken(
        self, request: web.Request, app: str, take: Take, default_type: str
    ) -> Accepted:
        """Durable. Errors: Problem, and what the acceptor raises."""
        await self._deployed(request, app)
        announced = request.content_length or 0
        if announced > self._max_body_bytes:
            raise _too_large(self._max_body_bytes)
        with self._gate.coming(app, announced) as share:
            body = _unpacked(request, await self._read(request, share), self._max_body_bytes)
            share.grow_to(len(body))
            share.enter()
            sending = _sending(request, default_type)
            try:
                return await take(app, body, sending)
            except UnknownFormatError as error:
                raise Problem(
                    HTTPStatus.UNSUPPORTED_MEDIA_TYPE, error.message, hint=error.hint
                ) from error

    async def _read(self, request: web.Request, share: Share) -> bytes:
        """The body, counted as it comes: one that is sent in chunks, or packed, announces nothing
        of its size, or too little. Problem 429 when there is no room for it, 413 beyond the
        largest body, 408 when it comes too slowly."""
        body = bytearray()
        async for part in parts_of(request, self._pace):
            body += part
            if len(body) > self._max_body_bytes:
                raise _too_large(self._max_body_bytes)
            share.grow_to(len(body))
        return bytes(body)


def _nobodys(request: web.Request) -> Exception:
    """What would be said of this path if no source had claimed it."""
    names = request.path.strip("/").split("/")
    if len(names) == 2:
        require(request, Permission.SEND, names[0])
    return web.HTTPNotFound()


def _refuse_nameless(request: web.Request, source: Source | None) -> None:
    """StrangerError where a source asks who sends and the door does not: there are no users yet.
    What the caller may is judged before."""
    if source is None or not source.asks_who_sends:
        return
    caller = caller_of(request)
    if caller is None or caller.kind is Kind.ANYBODY:
        raise StrangerError(
            f"the source of stream '{source.stream}' asks for a user's name and password"
            " (basic.auth.enabled), and this suite has no users yet",
            hint="make an administrator first: lockstep users add <name> --role administer; then"
            f" a user with the role send on {source.app}",
        )


def _sending(request: web.Request, default_type: str) -> Sending:
    given = request.query.get("timestamp_ms") or request.headers.get(TIMESTAMP_HEADER)
    timestamp_ms = None if given is None else timestamp_of(given)
    key = request.headers.get(KEY_HEADER)
    if key is not None and not 0 < len(key) <= MAX_KEY_CHARACTERS:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            f"{KEY_HEADER}: 1 to {MAX_KEY_CHARACTERS} characters, not {len(key)}",
            hint="one of its own for each send, the same when that is repeated; or leave it out",
        )
    content_type = request.headers.get("Content-Type", default_type)
    row_chunks = request.query.get("chunk", "batch") == "row"
    trace = request.headers.get(TRACE_HEADER, "")
    properties = CIMultiDict(without_credentials(request.headers))
    return Sending(content_type, timestamp_ms, key, row_chunks, properties=properties, trace=trace)


def _unpacked(request: web.Request, body: bytes, limit: int) -> bytes:
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding in ("", "identity") or not body.startswith(b"\x1f\x8b"):
        if encoding not in ("", "identity", "gzip", "deflate"):
            raise Problem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"content encoding '{encoding}' is not supported",
                hint="use gzip or none",
            )
        return body
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as unpacking:
            plain = unpacking.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"malformed gzip: {error}") from error
    if len(plain) > limit:
        raise _too_large(limit)
    return plain


def _too_large(limit: int) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body is larger than {limit} bytes",
        hint="send several smaller bodies",
    )


def _answer(accepted: Accepted) -> web.Response:
    refused: list[dict[str, Any]] = [
        {"line": refusal.line, "errors": [error.as_json() for error in refusal.errors]}
        for refusal in accepted.refused[:SHOWN_REFUSALS]
    ]
    receipt = accepted.receipt
    if receipt is None:
        return problem_response(
            HTTPStatus.BAD_REQUEST,
            f"all {len(accepted.refused)} lines were refused",
            errors=refused,
        )
    body = {
        "accepted": accepted.events,
        "chunks": accepted.chunks,
        "first_position": receipt.first,
        "last_position": receipt.last,
        "duplicate": receipt.duplicate,
        "refused": refused,
        "refused_count": len(accepted.refused),
    }
    status = HTTPStatus.MULTI_STATUS if refused else HTTPStatus.OK
    return web.json_response(body, status=status)
