"""Requests that wait for the answer of an app: @source(type='http-service').

An answer comes from the publisher to every receiver (`lockstep.control.answers`). The newest ones
are kept for a while, so that a request that is sent again, here or elsewhere, gets the same answer.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web

from lockstep.clock import Clock, Randomness
from lockstep.control import AppAnswer, AppView
from lockstep.frame import wait_set
from lockstep.frame.problems import Problem, problem_response
from lockstep.frame.strangers import has_hung_up
from lockstep.settings import ReceiverSettings
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


class Waiting:
    """Who waits for what, and the newest answers, up to so many bytes. Of one request the first
    answer counts."""

    def __init__(self, kept_bytes: int) -> None:
        self._limit_bytes = kept_bytes
        self._size_bytes = 0
        self._kept: OrderedDict[Place, _Kept] = OrderedDict()
        self._waiting: dict[Place, list[asyncio.Event]] = {}
        self.is_closed = False

    @property
    def count(self) -> int:
        """Of the requests that wait."""
        return sum(map(len, self._waiting.values()))

    @contextmanager
    def expecting(self, place: Place) -> Iterator[asyncio.Event]:
        """Rings when the answer is there."""
        rings = asyncio.Event()
        if place in self._kept or self.is_closed:
            rings.set()
        waiting = self._waiting.setdefault(place, [])
        waiting.append(rings)
        try:
            yield rings
        finally:
            waiting.remove(rings)
            if not waiting:
                del self._waiting[place]

    def answer(self, place: Place) -> AppAnswer | None:
        """What is there; it counts as given."""
        kept = self._kept.get(place)
        if kept is None:
            return None
        kept.was_given = True
        return kept.answer

    def take(self, answer: AppAnswer) -> bool:
        """Keeps it, unless there is one; whether somebody gets it, or got one before."""
        place = answer.app, answer.source_id, answer.message_id
        rings = self._waiting.get(place, ())
        kept = self._kept.get(place)
        if kept is None:
            kept = self._kept[place] = _Kept(answer, was_given=False)
            self._size_bytes += kept.size_bytes
            while self._size_bytes > self._limit_bytes and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._size_bytes -= oldest.size_bytes
        for one in rings:
            one.set()
        return kept.was_given or bool(rings)

    def close(self) -> None:
        """Whoever waits is told to go elsewhere."""
        self.is_closed = True
        for rings in self._waiting.values():
            for one in rings:
                one.set()


class Services:
    """Holds requests until their answers are there."""

    def __init__(self, settings: ReceiverSettings, clock: Clock, randomness: Randomness) -> None:
        self._settings = settings
        self._clock = clock
        self._randomness = randomness
        self.waiting = Waiting(settings.kept_answers_bytes)

    def message_id(self, view: AppView, source: Source, key: str | None) -> str:
        """Of a request: the same for one that is sent again with its key."""
        if key is None:
            return self._randomness.uuid_hex()
        said = [view.name, view.log.since_ms, source.stream, source.number, key]
        return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:32]

    def check_room(self) -> None:
        """Problem 429 when too many requests wait."""
        if self.waiting.count >= self._settings.max_waiting_requests:
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
        place: Place,
        rings: asyncio.Event,
        accepted: Accepted,
    ) -> web.Response:
        """What the app says to a request whose events are durable; 504 when it says nothing in
        time, 503 when this receiver ends."""
        given = source.annotation.get("connection.timeout")
        limit_ms = int(given) if given else self._settings.service_timeout_ms
        until_ms = self._clock.monotonic_ms() + limit_ms
        while not rings.is_set() and not has_hung_up(request):
            left_ms = until_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                return _unanswered(source, limit_ms, accepted)
            await wait_set(rings, self._clock, min(left_ms, LOOK_MS))
        answer = self.waiting.answer(place)
        if answer is not None:
            return _response(answer)
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "the events are in the app, and this receiver ends before the app has answered",
            hint="send again with the same Idempotency-Key, to another receiver",
            retry_after_ms=self._settings.retry_after_ms,
        )


def place_of(source: Source, message_id: str) -> Place:
    """Where the answer to a request belongs."""
    return source.app, source.annotation.get("source.id") or "", message_id


def _unanswered(source: Source, limit_ms: int, accepted: Accepted) -> web.Response:
    receipt = accepted.receipt
    at = "" if receipt is None else f", at position {receipt.last} of its log"
    return problem_response(
        HTTPStatus.GATEWAY_TIMEOUT,
        f"app '{source.app}' has not answered within {limit_ms} ms; the events are in the app{at}",
        hint="send again with the same Idempotency-Key to wait on; if this goes on, see whether the"
        " app hands on 'trp:messageId' and how its sink does: lockstep status",
    )


def _response(answer: AppAnswer) -> web.Response:
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in FRAMING}
    return web.Response(body=answer.payload, headers=headers)
