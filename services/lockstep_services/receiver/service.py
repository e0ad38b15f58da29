"""Requests that wait for the answer of an app: @source(type='http-service').

An answer comes from the publisher to every receiver (`lockstep.control.answers`). The newest ones
are kept for a while, so that a request that is sent again, here or elsewhere, gets the same answer.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web

from lockstep.clock import Clock, Randomness
from lockstep.control import AppAnswer
from lockstep.frame import wait_set
from lockstep.frame.problems import Problem, problem_response
from lockstep.frame.strangers import has_hung_up
from lockstep.settings import ReceiverSettings
from lockstep.telemetry import Metrics
from lockstep_services.receiver.accept import Accepted
from lockstep_services.receiver.sources import Source

LOOK_MS: Final = 1_000
"""So often a request that waits looks whether its client is still there."""
FRAME_BYTES: Final = 512
"""Of an answer that is kept, beside what it says."""
FRAMING: Final = frozenset({"content-length", "transfer-encoding", "connection", "date", "server"})
"""Headers of an answer that are the door's own."""

Place = tuple[str, str, str]
"""App, source.id and messageId."""


@dataclass
class _Kept:
    answer: AppAnswer
    was_given: bool

    @property
    def size_bytes(self) -> int:
        return FRAME_BYTES + self.answer.size_bytes


class Held:
    """A request that waits. `rings` when its answer is there, or none will be."""

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self.rings = asyncio.Event()
        self.place: Place | None = None
        self.answer: AppAnswer | None = None

    def expect(self, place: Place) -> None:
        """Before the app can know of it."""
        self.place = place
        self._waiting.add(self)

    def end(self, answer: AppAnswer | None) -> None:
        """It has its answer; None: it will have none here."""
        self.answer = self.answer or answer
        self.rings.set()


class Waiting:
    """Who waits for what, and the newest answers, up to so many bytes. Of one request the first
    answer counts."""

    def __init__(self, kept_bytes: int) -> None:
        self._limit_bytes = kept_bytes
        self._size_bytes = 0
        self._kept: OrderedDict[Place, _Kept] = OrderedDict()
        self._held: set[Held] = set()
        self._waiting: dict[Place, list[Held]] = {}
        self._is_closed = False

    @property
    def count(self) -> int:
        """Of the requests that are held."""
        return len(self._held)

    @contextmanager
    def holding(self) -> Iterator[Held]:
        """A request, from before it is taken until it has its answer."""
        held = Held(self)
        self._held.add(held)
        try:
            yield held
        finally:
            self._held.discard(held)
            if held.place is not None:
                waiting = self._waiting[held.place]
                waiting.remove(held)
                if not waiting:
                    del self._waiting[held.place]

    def add(self, held: Held) -> None:
        """It waits at its place from now on, or has the answer that is kept."""
        assert held.place is not None
        self._waiting.setdefault(held.place, []).append(held)
        kept = self._kept.get(held.place)
        if kept is not None:
            kept.was_given = True
            held.end(kept.answer)
        elif self._is_closed:
            held.end(None)

    def take(self, answer: AppAnswer) -> bool:
        """Keeps it, unless there is one; whether somebody gets it, or got one before."""
        place = answer.app, answer.source_id, answer.message_id
        kept = self._kept.get(place)
        if kept is None:
            kept = self._kept[place] = _Kept(answer, was_given=False)
            self._size_bytes += kept.size_bytes
            while self._size_bytes > self._limit_bytes and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._size_bytes -= oldest.size_bytes
        for held in self._waiting.get(place, ()):
            kept.was_given = True
            held.end(kept.answer)
        return kept.was_given

    def close(self) -> None:
        """Whoever waits is told to go elsewhere."""
        self._is_closed = True
        for waiting in self._waiting.values():
            for held in waiting:
                held.end(None)


class Services:
    """Holds requests until their answers are there."""

    def __init__(
        self,
        settings: ReceiverSettings,
        clock: Clock,
        randomness: Randomness,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._randomness = randomness
        self._metrics = metrics
        self.waiting = Waiting(settings.kept_answers_bytes)

    def message_id(
        self, source: Source, since_ms: int, caller: str, key: str | None, body: bytes
    ) -> str:
        """Of a request: the same for one that is sent again with its key, by the same caller. Who
        has another's key, or asks something else by it, gets no answer that was not for them.
        `since_ms`: when the app's logs began."""
        if key is None:
            return self._randomness.uuid_hex()
        asked = hashlib.sha256(body).hexdigest()
        said = [source.name, since_ms, caller, key, asked]
        return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:32]

    def check_room(self) -> None:
        """Problem 429 when too many requests wait."""
        if self.waiting.count >= self._settings.max_waiting_requests:
            self._metrics.count("lockstep_receiver_pushed_back_total", reason="waiting")
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"{self.waiting.count} requests wait for answers of apps",
                hint="send again after Retry-After seconds",
                retry_after_ms=self._settings.retry_after_ms,
            )

    async def answered(
        self,
        request: web.Request,
        source: Source,
        held: Held,
        accepted: Accepted,
    ) -> web.Response:
        """What the app says to a request whose events are durable; 504 when it says nothing in
        time, 503 when this receiver ends."""
        given = source.annotation.get("connection.timeout")
        limit_ms = int(given) if given else self._settings.service_timeout_ms
        answer = await self.answer(held, limit_ms, lambda: has_hung_up(request))
        if answer is None:
            problem = unanswered(source, limit_ms, accepted)
            return problem_response(problem.status, problem.message, hint=problem.hint)
        return _response(answer)

    async def answer(
        self, held: Held, limit_ms: int, has_gone: Callable[[], bool] = lambda: False
    ) -> AppAnswer | None:
        """What the app says; None: nothing in time. Problem 503 when this receiver ends, or who
        asked has gone."""
        until_ms = self._clock.monotonic_ms() + limit_ms
        while not held.rings.is_set() and not has_gone():
            left_ms = until_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                return None
            await wait_set(held.rings, self._clock, min(left_ms, LOOK_MS))
        if held.answer is not None:
            return held.answer
        if held.rings.is_set():  # else nobody is there who could be told
            self._metrics.count("lockstep_receiver_pushed_back_total", reason="ending")
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "the events are in the app, and this receiver ends before the app has answered",
            hint="send again with the same Idempotency-Key, to another receiver",
            retry_after_ms=self._settings.retry_after_ms,
        )


def place_of(source: Source, message_id: str) -> Place:
    """Where the answer to a request belongs."""
    return source.app, source.annotation.get("source.id") or "", message_id


def unanswered(source: Source, limit_ms: int, accepted: Accepted) -> Problem:
    """504: the app has said nothing in time."""
    receipt = accepted.receipt
    at = "" if receipt is None else f", at position {receipt.last} of its log"
    return Problem(
        HTTPStatus.GATEWAY_TIMEOUT,
        f"app '{source.app}' has not answered within {limit_ms} ms; the events are in the app{at}",
        hint="send again with the same Idempotency-Key to wait on; if this goes on, see whether the"
        " app hands on 'trp:messageId' and how its sink does: lockstep status",
    )


def _response(answer: AppAnswer) -> web.Response:
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in FRAMING}
    return web.Response(body=answer.payload, headers=headers)
