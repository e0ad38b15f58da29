"""The error store over REST: dead letters listed, sent again, forgotten; by number, range or time.

A refused input goes in by the bus's front door again, as it was first sent; an output that a sink
did not take goes to that sink again, by the publisher that delivers the app.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web
from msgspec import structs

from lockstep.bus import Bus, StoredDeadLetter
from lockstep.bus.subjects import ID_HEADER
from lockstep.control import Redelivered, Redelivery, redelivery_subject
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.typed import from_json
from lockstep.frame import Problem
from lockstep.frame.bodies import read_body, whole_number
from lockstep_services.coordinator.desired import DesiredState, unknown

DEFAULT_LETTERS: Final = 100
MAX_LETTERS: Final = 1_000
MAX_NUMBER: Final = 10**15 - 1
PAGE_LETTERS: Final = 1_000
SPARSE: Final = 4
"""Numbers of which every fourth one is wanted are read together."""
SHOWN_PAYLOAD_BYTES: Final = 4_096
REDELIVERY_TIMEOUT_MS: Final = 25_000
DIGEST_CHARS: Final = 16
OUTPUTS: Final = "publisher/"


class Selection(msgspec.Struct, forbid_unknown_fields=True):
    """Which letters: these numbers, or all that fit what is given; inclusive on both sides."""

    sequences: list[int] | None = None
    first: int | None = None
    last: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    stream: str | None = None

    def __post_init__(self) -> None:
        self.sequences = sorted(set(self.sequences or ()))

    @property
    def is_empty(self) -> bool:
        """Nothing is given: nobody means everything by that."""
        limits = (self.first, self.last, self.since_ms, self.until_ms, self.stream)
        return not self.sequences and all(one is None for one in limits)

    def has(self, one: StoredDeadLetter) -> bool:
        """Whether a letter of the right stream is meant."""
        clock_ms, after = one.letter.clock_ms, one.sequence - 1
        return (
            after >= self.beginning
            and self.following(after) == after
            and (self.since_ms is None or clock_ms >= self.since_ms)
            and (self.until_ms is None or clock_ms <= self.until_ms)
        )

    @property
    def beginning(self) -> int:
        """Letters up to this number are none of it."""
        return max((self.first or 1) - 1, 0)

    def following(self, sequence: int) -> int | None:
        """The number up to which no letter behind this one is meant; None when none is at all."""
        if self.sequences:
            place = bisect_right(self.sequences, sequence)
            sequence = self.sequences[place] - 1 if place < len(self.sequences) else MAX_NUMBER
        is_last = sequence >= (MAX_NUMBER if self.last is None else self.last)
        return None if is_last else sequence

    def most(self, after: int, limit: int) -> int:
        """So many letters behind that one are worth reading at once to find `limit` of it."""
        if self.sequences:
            return min(self._span(after), PAGE_LETTERS)
        if self.since_ms is not None or self.until_ms is not None:
            return PAGE_LETTERS
        rest = limit if self.last is None else self.last - after
        return min(limit, rest, PAGE_LETTERS)

    def _span(self, after: int) -> int:
        """Up to the last of the numbers that follow one another closely: few letters between them
        are read in vain. At least one."""
        wanted = self.sequences or []
        start = bisect_right(wanted, after)
        span = 1
        for place, sequence in enumerate(wanted[start : start + PAGE_LETTERS], 1):
            if sequence > after + SPARSE * place:
                break
            span = sequence - after
        return span


class ErrorStore:
    """Handlers over the bus's dead letters. Problem 404 for an app that nobody knows."""

    def __init__(self, bus: Bus, desired: DesiredState) -> None:
        self._bus = bus
        self._desired = desired

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/errors", self._letters)
        router.add_post("/v1/apps/{app}/errors/replay", self._replay)
        router.add_post("/v1/apps/{app}/errors/purge", self._purge)

    async def _letters(self, request: web.Request) -> web.Response:
        app, limit = request.match_info["app"], number(request, "limit") or DEFAULT_LETTERS
        selection = Selection(
            first=(number(request, "after") or 0) + 1,
            last=number(request, "last"),
            since_ms=number(request, "since_ms"),
            until_ms=number(request, "until_ms"),
            stream=request.query.get("stream"),
        )
        body = []
        async for page in self._found(app, selection, min(limit, MAX_LETTERS)):
            body += [_shown(one) for one in page]
        return web.json_response({"app": app, "errors": body})

    async def _replay(self, request: web.Request) -> web.Response:
        app, selection = request.match_info["app"], await _selected(request)
        replayed: list[int] = []
        refused: dict[int, str] = {}
        found = end = 0
        # What is refused again is a letter of its own behind the others, and not sent again here.
        grows = not selection.sequences
        async for page in self._found(app, selection, MAX_LETTERS, grows=grows):
            found, end = found + len(page), page[-1].sequence
            outputs = [one.sequence for one in page if one.letter.origin.startswith(OUTPUTS)]
            inputs = [one for one in page if not one.letter.origin.startswith(OUTPUTS)]
            sent, why = await self._send_all_in(app, inputs)
            await self._bus.dead_letters.remove(sent)
            again = await self._send_out(app, outputs)
            replayed += [*sent, *again.delivered]
            refused |= why | again.refused
        body = {
            "app": app,
            "replayed": sorted(replayed),
            "refused": {str(number): why for number, why in refused.items()},
            **_rest(found, end),
        }
        return web.json_response(body)

    async def _purge(self, request: web.Request) -> web.Response:
        app, selection = request.match_info["app"], await _selected(request)
        found: list[int] = []
        async for page in self._found(app, selection, MAX_LETTERS):
            found += [one.sequence for one in page]
        removed = await self._bus.dead_letters.remove(found)
        body = {"app": app, "removed": removed, **_rest(len(found), max(found, default=0))}
        return web.json_response(body)

    async def _found(
        self, app: str, selection: Selection, limit: int, *, grows: bool = False
    ) -> AsyncIterator[list[StoredDeadLetter]]:
        """What is meant, at most `limit` letters, oldest first. A page at a time, as each letter
        may have megabytes. `grows`: what is done with a page may bring new letters, which are not
        meant. Problem 404 when there is none and nobody knows the app."""
        is_empty = True
        async for page in self._pages(app, selection, limit, grows=grows):
            is_empty = False
            yield page
        if is_empty and await self._desired.known(app) is None:
            raise unknown(app)

    async def _pages(
        self, app: str, selection: Selection, limit: int, *, grows: bool
    ) -> AsyncIterator[list[StoredDeadLetter]]:
        left = limit
        after = selection.following(selection.beginning)
        while left and after is not None:
            page = await self._bus.dead_letters.read(
                app, selection.stream, after=after, max_records=selection.most(after, left)
            )
            if not page:
                break
            found = [one for one in page if selection.has(one)][:left]
            left -= len(found)
            end = page[-1].sequence
            after = selection.following(end)
            if grows and found and left and after is not None:
                selection, grows = await self._closed(app, selection, end, left), False
                after = selection.following(end)
            if found:
                yield found

    async def _closed(self, app: str, selection: Selection, end: int, left: int) -> Selection:
        """Without what comes from now on. What is behind `end` is read for that, and read again by
        who asks."""
        behind = structs.replace(selection, first=end + 1)
        async for page in self._pages(app, behind, left, grows=False):
            end = page[-1].sequence
        return structs.replace(selection, last=end)

    async def _send_all_in(
        self, app: str, letters: Sequence[StoredDeadLetter]
    ) -> tuple[list[int], dict[int, str]]:
        """Those that were sent, and why others cannot be; UnavailableError."""
        sent: list[int] = []
        refused: dict[int, str] = {}
        for one in letters:
            try:
                await self._send_in(app, one)
                sent.append(one.sequence)
            except LockstepError as error:
                if error.fault is not Fault.USER:
                    raise
                refused[one.sequence] = str(error)
        return sent, refused

    async def _send_in(self, app: str, one: StoredDeadLetter) -> None:
        """As it was first sent; under an id, so that a replay that is repeated sends it once. What
        is not whole, or is too large for the bus, cannot be: LockstepError."""
        if one.letter.left_out_bytes:
            raise Problem(
                HTTPStatus.BAD_REQUEST,
                f"{one.letter.left_out_bytes} bytes of it are missing: the bus took no more",
                hint="send it anew from where it came",
            )
        headers = {
            "Content-Type": one.letter.content_type,
            ID_HEADER: replay_id(app, one),
        }
        await self._bus.ingress.publish(app, one.letter.stream, one.letter.payload, headers=headers)

    async def _send_out(self, app: str, sequences: list[int]) -> Redelivered:
        if not sequences:
            return Redelivered([])
        try:
            raw = await self._bus.topics.request(
                redelivery_subject(app),
                msgspec.json.encode(Redelivery(sequences)),
                timeout_ms=REDELIVERY_TIMEOUT_MS,
            )
        except UnavailableError as error:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE, f"no publisher delivers '{app}' right now",
                retry_after_ms=1_000,
            ) from error  # fmt: skip
        return from_json(raw, Redelivered)


async def _selected(request: web.Request) -> Selection:
    """What the body says; Problem 400."""
    selection: Selection = await read_body(request, Selection)
    if selection.is_empty:
        raise Problem(
            HTTPStatus.BAD_REQUEST, "which letters?",
            hint="give sequences, first, last, since_ms, until_ms or stream",
        )  # fmt: skip
    return selection


def replay_id(app: str, one: StoredDeadLetter) -> str:
    """Of a letter, whatever came before it: numbers begin again when the stream is made again, and
    apps remember ids for longer."""
    digest = hashlib.sha256(one.letter.payload).hexdigest()[:DIGEST_CHARS]
    return f"replay-{app}-{one.sequence}-{one.letter.clock_ms}-{digest}"


def _rest(found: int, end: int) -> dict[str, Any]:
    """Whether there may be more letters than were looked at, and behind which number."""
    return {"more": True, "next": end} if found == MAX_LETTERS else {"more": False}


def _shown(one: StoredDeadLetter) -> dict[str, Any]:
    """For people: the beginning of what was refused."""
    return {
        "sequence": one.sequence,
        "stream": one.letter.stream,
        "reason": one.letter.reason,
        "payload": one.letter.payload[:SHOWN_PAYLOAD_BYTES].decode(errors="replace"),
        "content_type": one.letter.content_type,
        "clock_ms": one.letter.clock_ms,
        "origin": one.letter.origin,
        "position": one.letter.position,
    }


def number(request: web.Request, name: str) -> int | None:
    """Of the query; Problem 400."""
    text = request.query.get(name)
    if text is None:
        return None
    found = whole_number(text, MAX_NUMBER)
    if found is None:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name}: expected a whole number")
    return found
