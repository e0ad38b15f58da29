"""Calls of gRPC clients: @source(type='grpc') and @source(type='grpc-service') at ports of their
own.

A call is answered when its events are durable, or with what the app says. One port serves the
sources of all apps that name it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from multidict import CIMultiDict

from lockstep.clock import Clock
from lockstep.connectors.endpoints import without_credentials
from lockstep.connectors.grpc import MESSAGE_IDS, SERVICE
from lockstep.connectors.grpc.events import NoEventError, event_bytes, read_event
from lockstep.connectors.grpc.refusals import CallRefusedError
from lockstep.connectors.grpc.urls import MethodUrl
from lockstep.control import AppAnswer
from lockstep.events import Fault, LockstepError
from lockstep.frame.problems import Problem
from lockstep.telemetry import Logger
from lockstep_services.receiver.accept import Accepted, Acceptor, Sending
from lockstep_services.receiver.decode import JSON, MalformedBodyError
from lockstep_services.receiver.gate import Gate
from lockstep_services.receiver.service import Services, place_of, unanswered
from lockstep_services.receiver.sources import Source

KEY: Final = "idempotency-key"
TRACE: Final = "traceparent"
STREAM: Final = "stream.id"
"""The header of an event that says which stream it is for, where a port has several."""
CONTENT_TYPE: Final = "content-type"
MAX_KEY_CHARACTERS: Final = 200
MAX_ABREAST: Final = 256
"""Messages of one call that are on their way into the log."""
MAX_MESSAGE_BYTES: Final = 4_194_304
TIMEOUT_MS: Final = 10_000
PAUSE_MS: Final = 200
SHOWN: Final = 10
"""Mistakes, and refused messages of a stream, that an answer lists."""
_STATUSES: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "NOT_FOUND",
    HTTPStatus.TOO_MANY_REQUESTS: "RESOURCE_EXHAUSTED",
    HTTPStatus.GATEWAY_TIMEOUT: "DEADLINE_EXCEEDED",
    HTTPStatus.SERVICE_UNAVAILABLE: "UNAVAILABLE",
}


@dataclass(frozen=True, slots=True)
class Route:
    """A source and the method by which its messages come."""

    source: Source
    url: MethodUrl


@dataclass(frozen=True, slots=True)
class _Message:
    payload: bytes
    headers: Mapping[str, str]


class CallTaker:
    """Takes the calls of all ports. `end`: no more, and who waits is told so."""

    def __init__(
        self, acceptor: Acceptor, gate: Gate, services: Services, clock: Clock, log: Logger
    ) -> None:
        self._acceptor = acceptor
        self._gate = gate
        self._services = services
        self._clock = clock
        self._log = log
        self._ending = asyncio.Event()

    def end(self) -> None:
        """This receiver ends."""
        self._ending.set()

    async def take(
        self,
        routes: Sequence[Route],
        metadata: Mapping[str, str],
        messages: AsyncIterator[bytes],
    ) -> tuple[bytes, Mapping[str, str]]:
        """The answer of a call, and what goes along with it. `routes`: those of its path, at least
        one. Errors: CallRefusedError."""
        try:
            if self._ending.is_set():
                raise self._ends()
            key = _key_of(metadata)
            if routes[0].source.kind == SERVICE:
                return await self._asked(routes, metadata, key, messages)
            await self._streamed(routes, metadata, key, messages)
            return b"", {}
        except LockstepError as error:
            raise self._refusal(error) from error

    async def _asked(
        self,
        routes: Sequence[Route],
        metadata: Mapping[str, str],
        key: str | None,
        messages: AsyncIterator[bytes],
    ) -> tuple[bytes, Mapping[str, str]]:
        """What the app says to the one message of a call."""
        body = await anext(messages, None)
        if body is None:
            raise CallRefusedError("INVALID_ARGUMENT", "a call without a message")
        message = _read(routes[0].url, body)
        route = _route_for(routes, message)
        source, services = route.source, self._services
        view = await self._acceptor.view(source.app)
        services.check_room()
        with services.waiting.holding() as held:
            message_id = services.message_id(source, view.log.since_ms, "grpc", key, body)
            held.expect(place_of(source, message_id))
            properties = dict.fromkeys(MESSAGE_IDS, message_id)
            accepted = await self._accepted(
                route, message, metadata, key, properties, in_order=False
            )
            limit_ms = int(source.annotation.get("service.timeout") or TIMEOUT_MS)
            answer = await services.answer(held, limit_ms)
        if answer is None:
            raise unanswered(source, limit_ms, accepted)
        return _written(route.url, answer)

    async def _streamed(
        self,
        routes: Sequence[Route],
        metadata: Mapping[str, str],
        key: str | None,
        messages: AsyncIterator[bytes],
    ) -> None:
        """All messages of a call. Each is taken or refused by itself, in order; which were refused
        is told when all have come. A sender that is too fast waits."""
        taking = _Taking()
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            while (body := await self._next(messages, ending, taking)) is not None:
                message = _read(routes[0].url, body)
                route = _route_for(routes, message)
                while taking.count and self._gate.is_closed(route.source.app):
                    await self._clock.sleep_ms(PAUSE_MS)
                each = None if key is None else f"{key}/{taking.count}"
                await taking.add(self._accepted(route, message, metadata, each, {}))
            await taking.ended()
        finally:
            ending.cancel()
            taking.cancel()
        taking.raise_if_refused()

    async def _next(
        self, messages: AsyncIterator[bytes], ending: asyncio.Future[Any], taking: _Taking
    ) -> bytes | None:
        """The next message of a call; None behind the last. CallRefusedError when this receiver
        ends."""
        reading = asyncio.ensure_future(anext(messages, None))
        try:
            await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return reading.result()
        finally:
            reading.cancel()
        await taking.ended()
        raise self._ends(taking)

    async def _accepted(
        self,
        route: Route,
        message: _Message,
        metadata: Mapping[str, str],
        key: str | None,
        more: Mapping[str, str],
        *,
        in_order: bool = True,
    ) -> Accepted:
        """Durable; a message that does not fit its stream is a MalformedBodyError."""
        source, size = route.source, len(message.payload)
        self._acceptor.health.refuse_paused(source)
        limit = int(source.annotation.get("max.inbound.message.size") or MAX_MESSAGE_BYTES)
        if size > limit:
            raise CallRefusedError(
                "INVALID_ARGUMENT", f"a message of {size} bytes; {limit} may be",
                hint="send less, or raise the source's max.inbound.message.size",
            )  # fmt: skip
        properties: CIMultiDict[str] = CIMultiDict(message.headers)
        properties.update(without_credentials(metadata))
        properties.update(more)
        sending = Sending(
            JSON, key=key, source=source.number, properties=properties, in_order=in_order,
            trace=metadata.get(TRACE, ""),
        )  # fmt: skip
        with self._gate.passing(source.app, size):
            accepted = await self._acceptor.accept(
                source.app, source.stream, message.payload, sending
            )
        if accepted.receipt is None:
            errors = [error for refusal in accepted.refused for error in refusal.errors]
            raise MalformedBodyError("the message does not fit its stream", errors=errors)
        return accepted

    def _ends(self, taking: _Taking | None = None) -> CallRefusedError:
        self._gate.count("ending")
        said = "" if taking is None else taking.so_far
        return CallRefusedError(
            "UNAVAILABLE", f"this receiver ends{said}", hint="send to another one"
        )

    def _refusal(self, error: LockstepError) -> CallRefusedError:
        """By whose fault it is; of what went wrong inside only the log tells more."""
        if isinstance(error, CallRefusedError):
            return error
        self._gate.note(error)
        if isinstance(error, Problem):
            status = _STATUSES.get(error.status, "INVALID_ARGUMENT")
        elif error.fault is Fault.INTERNAL:
            self._log.error("a call failed", why=str(error))
            return CallRefusedError("INTERNAL", "something went wrong inside; the log has it")
        else:
            status = "INVALID_ARGUMENT" if error.fault is Fault.USER else "UNAVAILABLE"
        return CallRefusedError(status, _said(error), hint=error.hint)


class _Taking:
    """The messages of one call that are on their way, and which were refused."""

    def __init__(self) -> None:
        self.count = 0
        self._under_way: deque[tuple[int, asyncio.Task[Accepted]]] = deque()
        self._refused: list[tuple[int, LockstepError]] = []

    async def add(self, work: Any) -> None:
        """Begins another; waits while there are too many. What is nobody's fault who sends ends
        the call."""
        self._under_way.append((self.count, asyncio.create_task(work)))
        self.count += 1
        if len(self._under_way) >= MAX_ABREAST:
            await self._oldest()

    async def ended(self) -> None:
        """All are durable or refused."""
        while self._under_way:
            await self._oldest()

    async def _oldest(self) -> None:
        number, task = self._under_way.popleft()
        try:
            await task
        except LockstepError as error:
            if error.fault is not Fault.USER or isinstance(error, Problem):
                raise
            self._refused.append((number, error))

    def cancel(self) -> None:
        """Nobody waits for them any more."""
        for _, task in self._under_way:
            task.cancel()
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self._under_way.clear()

    @property
    def so_far(self) -> str:
        """When all that came have ended, and no more do: how many were taken, and which not."""
        if self._refused:
            return f"; {self._told()}; the others of them are in the app"
        return f"; the first {self.count} messages of the call have been taken"

    def _told(self) -> str:
        told = "; ".join(f"[{number}] {_said(error)}" for number, error in self._refused[:SHOWN])
        more = len(self._refused) - SHOWN
        return f"{len(self._refused)} of {self.count} messages were refused: {told}" + (
            f"; and {more} more" if more > 0 else ""
        )

    def raise_if_refused(self) -> None:
        """What the sender has to hear: the mistake, or which of the messages had one."""
        if not self._refused:
            return
        if self.count == 1:
            raise self._refused[0][1]
        raise CallRefusedError("INVALID_ARGUMENT", self._told(), hint="the others are in the app")


def _key_of(metadata: Mapping[str, str]) -> str | None:
    key = metadata.get(KEY)
    if key is not None and not 0 < len(key) <= MAX_KEY_CHARACTERS:
        raise CallRefusedError("INVALID_ARGUMENT", f"{KEY}: 1 to {MAX_KEY_CHARACTERS} characters")
    return key


def _read(url: MethodUrl, body: bytes) -> _Message:
    if not url.is_event_service:
        return _Message(body, {})
    try:
        payload, headers = read_event(body)
    except NoEventError as error:
        raise CallRefusedError("INVALID_ARGUMENT", str(error)) from error
    return _Message(payload.encode(), headers)


def _route_for(routes: Sequence[Route], message: _Message) -> Route:
    """Of several streams at one method the one that the message names."""
    named = message.headers.get(STREAM)
    if named is None and len(routes) == 1:
        return routes[0]
    found = next((route for route in routes if route.source.stream == named), None)
    if found is None:
        streams = ", ".join(route.source.stream for route in routes)
        said = "the event names no stream" if named is None else f"no stream {named!r} is here"
        raise CallRefusedError(
            "INVALID_ARGUMENT", said, hint=f"the header {STREAM!r} names one of {streams}"
        )
    return found


def _written(url: MethodUrl, answer: AppAnswer) -> tuple[bytes, Mapping[str, str]]:
    headers = {n: value for n, value in answer.headers.items() if n.lower() != CONTENT_TYPE}
    if not url.is_event_service:
        return answer.payload, {name.lower(): value for name, value in headers.items()}
    try:
        return event_bytes(answer.payload.decode(), headers), {}
    except UnicodeDecodeError as error:
        raise CallRefusedError(
            "INTERNAL", f"the app's answer is no text: {error}",
            hint="let its sink have a @map in text, as json",
        ) from error  # fmt: skip


def _said(error: LockstepError) -> str:
    """With the single mistakes."""
    errors = getattr(error, "errors", ())
    mistakes = [f"{each.field}: {each.message}" if each.field else each.message for each in errors]
    return ": ".join([error.message, *(["; ".join(mistakes[:SHOWN])] if mistakes else [])])
