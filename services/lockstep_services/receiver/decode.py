"""One request body or bus message → chunks of events of a stream, and what was refused with
reasons.

Formats by content type: JSON (object, array of values, array of these = one chunk), NDJSON (each
line a chunk of one; bad lines are refused alone). A body in one of the other formats is taken
whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import msgspec

from lockstep.events import Fault, LockstepError
from lockstep.frame.bodies import UNREADABLE, advice, malformed_json, reason, whole_number
from lockstep.frame.problems import Problem
from lockstep_services.receiver.values import TOO_DEEP, EventReader, FieldError, RawEvent

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
ARROW: Final = "application/vnd.apache.arrow.stream"
TIMESTAMP_HEADER: Final = "Timestamp-Ms"
_ALIASES: Final[Mapping[str, str]] = {
    "": JSON,
    "text/json": JSON,
    "application/octet-stream": JSON,
    "application/x-www-form-urlencoded": JSON,
    "text/plain": JSON,
    "application/ndjson": NDJSON,
    "application/jsonl": NDJSON,
    "application/jsonlines": NDJSON,
    "application/x-jsonlines": NDJSON,
}

MAX_ERRORS: Final = 1_000
"""Of an array, told one by one; an event of two bytes has as many as its stream has attributes."""

Chunk = tuple[RawEvent, ...]


class MalformedBodyError(LockstepError):
    """A body that is not in its format, or holds no event at all: HTTP 400."""

    fault = Fault.USER

    def __init__(
        self, message: str, *, errors: list[FieldError] | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.errors = errors or []


class UnknownFormatError(LockstepError):
    """A content type that nobody reads: HTTP 415."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refused piece: its 1-based line (or element), all field errors, its bytes."""

    line: int
    errors: tuple[FieldError, ...]
    payload: bytes

    @property
    def reason(self) -> str:
        """The errors in one line."""
        parts = (e.message if e.field is None else f"{e.field}: {e.message}" for e in self.errors)
        return "; ".join(parts)


@dataclass(slots=True)
class Decoded:
    """Chunks in order, and the refused lines."""

    chunks: list[Chunk] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


def media_type(content_type: str) -> str:
    """The format that a Content-Type header asks for; UnknownFormatError."""
    plain = content_type.split(";")[0].strip().lower()
    plain = _ALIASES.get(plain, plain)
    if plain not in (JSON, NDJSON, ARROW):
        raise UnknownFormatError(
            f"content type '{plain}' is not supported", hint=f"use {JSON}, {NDJSON} or {ARROW}"
        )
    return plain


def check_chunk(
    events: int,
    most: int,
    hint: str = f"send smaller arrays, or {NDJSON} where events need not stay together",
) -> None:
    """Problem 413 for more events than can go together."""
    if events > most:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"a chunk of {events} events; {most} can go together",
            hint=hint,
        )


def timestamp_of(text: str) -> int:
    """Milliseconds that a sender gave beside a body; MalformedBodyError."""
    found = whole_number(text, 2**63 - 1)
    if found is None:
        raise MalformedBodyError(
            f"the timestamp: expected milliseconds, got '{text[:40]}'",
            hint=f"{TIMESTAMP_HEADER} and timestamp_ms are milliseconds since 1970",
        )
    return found


def decode_text(kind: str, body: bytes, reader: EventReader, *, max_refused: int) -> Decoded:
    """JSON or NDJSON → events; MalformedBodyError when nothing of it can be taken."""
    if kind == NDJSON:
        return _decode_lines(body, reader, max_refused)
    try:
        return Decoded(chunks=[_decode_json(body, reader)])
    except RecursionError as error:
        raise too_deep(error) from error


def too_deep(error: RecursionError) -> MalformedBodyError:
    """The refusal of a body that could be decoded, but not looked at."""
    return MalformedBodyError(f"the body cannot be read: {reason(error)}", hint=TOO_DEEP)


def decode_at_once(body: bytes, reader: EventReader) -> Chunk | None:
    """An object or an array of objects in which nothing is missing or odd; None for all else."""
    first = body.lstrip()[:1]
    if first == b"{":
        event = reader.fast_object(body)
        return None if event is None else (event,)
    if first == b"[":
        return tuple(reader.fast_objects(body) or ()) or None
    return None


def _decode_json(body: bytes, reader: EventReader) -> Chunk:
    whole = decode_at_once(body, reader)
    if whole is not None:
        return whole
    value = parse_json(body)
    if isinstance(value, list) and (
        not value or all(isinstance(item, list | dict) for item in value)
    ):
        return _decode_array(value, reader)
    found = reader.read(value)
    if isinstance(found, list):
        raise MalformedBodyError("the event does not fit its stream", errors=found)
    return (found,)


def _decode_array(value: list[Any], reader: EventReader) -> Chunk:
    if not value:
        raise MalformedBodyError("the array holds no events")
    events: list[RawEvent] = []
    errors: list[FieldError] = []
    for i, item in enumerate(value):
        found = reader.read(item)
        if isinstance(found, list):
            if len(errors) < MAX_ERRORS:
                errors += [FieldError(f"[{i}].{e.field}" if e.field else f"[{i}]", e.message)
                           for e in found]  # fmt: skip
        else:
            events.append(found)
    if errors:  # a chunk is one thing: all of it or nothing
        raise MalformedBodyError(
            f"{len(value) - len(events)} of {len(value)} events do not fit their stream",
            errors=errors,
        )
    return tuple(events)


def _decode_lines(body: bytes, reader: EventReader, max_refused: int) -> Decoded:
    quick = reader.fast_lines(body)
    if quick:
        return Decoded(chunks=[(event,) for event in quick])
    decoded = Decoded()
    for number, line in enumerate(body.split(b"\n"), start=1):
        text = line.strip()
        if not text:
            continue
        event = reader.fast_object(text)
        if event is None:
            found = _read_line(text, reader)
            if isinstance(found, list):
                decoded.refused.append(Refusal(number, tuple(found), text))
                if len(decoded.refused) > max_refused:
                    raise MalformedBodyError(
                        f"more than {max_refused} lines do not fit their stream; the body was"
                        " refused as a whole",
                        errors=found,
                    )
                continue
            event = found
        decoded.chunks.append((event,))
    if not decoded.chunks and not decoded.refused:
        raise MalformedBodyError("the body holds no events")
    return decoded


def _read_line(text: bytes, reader: EventReader) -> RawEvent | list[FieldError]:
    try:
        return reader.read(parse_json(text))
    except MalformedBodyError as error:
        return [FieldError(None, error.message)]
    except RecursionError as error:
        return [FieldError(None, reason(error))]


def parse_json(body: bytes) -> Any:
    """A JSON document; MalformedBodyError."""
    if not body.strip():
        raise MalformedBodyError("the body is empty")
    try:
        return msgspec.json.decode(body)
    except UNREADABLE as error:
        raise MalformedBodyError(malformed_json(error), hint=advice(error)) from error
