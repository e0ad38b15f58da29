"""JSON that somebody sent, and whole numbers in addresses and headers: read here, refused here."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.events.typed import from_json
from lockstep.frame.problems import Problem

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the reader raises for bytes that are no JSON, not of the wanted type, or nested too deep."""

_DEEP: Final = "it is nested too deep"


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


async def read_body(request: web.Request, kind: Any, *, max_bytes: int | None = None) -> Any:
    """The request's JSON as `kind`; Problem 400 naming the field, 413 beyond `max_bytes`."""
    if max_bytes is not None and (request.content_length or 0) > max_bytes:
        raise _too_large(max_bytes)  # before it is read
    raw = await request.read()
    if max_bytes is not None and len(raw) > max_bytes:
        raise _too_large(max_bytes)
    return decoded(raw, kind)


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
