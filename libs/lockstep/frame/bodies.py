"""JSON that somebody sent, and whole numbers in addresses and headers: read here, refused here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.events.typed import from_json
from lockstep.frame.problems import Problem

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the reader raises for bytes that are no JSON, not of the wanted type, or nested too deep."""

_DEEP: Final = "it is nested too deep"


@dataclass(frozen=True, slots=True)
class Pace:
    """How slowly a body may come. `idle_ms`: so long nothing may come of it. `min_bytes_per_s`: it
    has `idle_ms`, and a second more for so many bytes that came. Both: a body that never ends, and
    one that comes byte by byte, would keep what has come in memory for ever."""

    idle_ms: int
    min_bytes_per_s: int


PACE: Final = Pace(idle_ms=30_000, min_bytes_per_s=16_384)
"""Of a document for a door."""


def malformed_json(error: Exception) -> str:
    """What is wrong with a body that cannot be read, which the reader's words tell once."""
    return f"malformed JSON: {reason(error)}"


def reason(error: Exception) -> str:
    """One of UNREADABLE in words for its sender."""
    if isinstance(error, RecursionError):
        return _DEEP
    return str(error).removeprefix("JSON is malformed: ")


def decoded(raw: bytes, kind: Any = Any) -> Any:
    """The JSON document as `kind`; Problem 400 naming the field."""
    try:
        return from_json(raw, kind)
    except UNREADABLE as error:
        raise Problem(
            HTTPStatus.BAD_REQUEST, f"the body does not fit: {reason(error)}", hint=advice(error)
        ) from error


async def read_body(
    request: web.Request, kind: Any, *, max_bytes: int | None = None, pace: Pace = PACE
) -> Any:
    """The request's JSON as `kind`; Problem 400 naming the field, else as `raw_body`."""
    return decoded(await raw_body(request, max_bytes=max_bytes, pace=pace), kind)


async def raw_body(
    request: web.Request, *, max_bytes: int | None = None, pace: Pace = PACE
) -> bytes:
    """What the request brings, once; Problem 413 beyond `max_bytes`, 408 when it comes too slowly.
    No more than that is ever in memory, whatever the request announces."""
    limit = request.client_max_size if max_bytes is None else max_bytes
    if (request.content_length or 0) > limit:
        raise _too_large(limit)  # before it is read
    raw = bytearray()
    async for part in parts_of(request, pace):
        raw += part
        if len(raw) > limit:
            raise _too_large(limit)
    return bytes(raw)


async def parts_of(request: web.Request, pace: Pace) -> AsyncIterator[bytes]:
    """A body as it comes; Problem 408 when it comes too slowly."""
    idle_s = pace.idle_ms / 1000
    now_s = asyncio.get_running_loop().time  # of the timeout below
    began_s, size_bytes = now_s(), 0
    while True:
        left_s = began_s + idle_s + size_bytes / pace.min_bytes_per_s - now_s()
        try:
            async with asyncio.timeout(min(idle_s, left_s)):
                part = await request.content.readany()
        except TimeoutError as error:
            raise _too_slow(size_bytes, pace, is_silent=left_s >= idle_s) from error
        if not part:
            return
        size_bytes += len(part)
        yield part


def _too_slow(size_bytes: int, pace: Pace, *, is_silent: bool) -> Problem:
    silent, slow = (
        f"nothing came for {pace.idle_ms} ms",
        f"less than {pace.min_bytes_per_s} bytes came in a second",
    )
    return Problem(
        HTTPStatus.REQUEST_TIMEOUT,
        f"the body did not come to its end: after {size_bytes} bytes"
        f" {silent if is_silent else slow}",
        hint="send again, the whole body at once",
    )


def _too_large(max_bytes: int) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {max_bytes} bytes"
    )


def whole_number(text: str, limit: int) -> int | None:
    """A number of ASCII digits from 0 to `limit`; None for all else, however long."""
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(limit)):
        return None
    number = int(text)
    return number if number <= limit else None


def advice(error: Exception) -> str:
    """What to do about one of UNREADABLE."""
    if isinstance(error, RecursionError):
        return "send lists and objects that are nested less"
    if isinstance(error, msgspec.ValidationError):
        return "GET /openapi.json says what each body has to hold"
    return "send one JSON document in UTF-8"
