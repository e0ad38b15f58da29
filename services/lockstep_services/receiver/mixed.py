"""NDJSON lines that name their streams: `{"stream": "S", "event": {…} or […], "_timestamp": …}`.

Each line is a chunk of one. Neighbours of one stream become one run, so that order is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lockstep.events import StreamSchema
from lockstep.frame.bodies import UNREADABLE, reason
from lockstep.frame.problems import Problem
from lockstep_services.receiver.decode import Chunk, MalformedBodyError, Refusal
from lockstep_services.receiver.runs import Run
from lockstep_services.receiver.values import (
    ID_FIELD,
    MILLISECONDS,
    TIMESTAMP_FIELD,
    EventReader,
    FieldError,
    RawEvent,
)


class _Line(msgspec.Struct):
    stream: str
    event: msgspec.Raw
    timestamp: MILLISECONDS | None = msgspec.field(default=None, name=TIMESTAMP_FIELD)
    id: str | None = msgspec.field(default=None, name=ID_FIELD)


_DECODER = msgspec.json.Decoder(_Line)


def decode_mixed(
    body: bytes, reader_of: Callable[[str], EventReader], *, max_refused: int
) -> tuple[list[Run], list[Refusal]]:
    """Runs in order and refused lines; MalformedBodyError when there is nothing or too much
    wrong.
    """
    runs: list[tuple[StreamSchema, list[Chunk], int]] = []
    refused: list[Refusal] = []
    for number, line in enumerate(body.split(b"\n"), start=1):
        text = line.strip()
        if not text:
            continue
        found = _read(text, reader_of)
        if isinstance(found, list):
            refused.append(Refusal(number, tuple(found), text))
            if len(refused) > max_refused:
                raise MalformedBodyError(f"more than {max_refused} lines are wrong", errors=found)
            continue
        schema, event = found
        if runs and runs[-1][0] == schema:
            _, chunks, size = runs.pop()
            chunks.append((event,))
            runs.append((schema, chunks, size + len(text)))
        else:
            runs.append((schema, [(event,)], len(text)))
    if not runs and not refused:
        raise MalformedBodyError("the body holds no events")
    return [Run(*run) for run in runs], refused


def _read(
    text: bytes, reader_of: Callable[[str], EventReader]
) -> tuple[StreamSchema, RawEvent] | list[FieldError]:
    try:
        line = _DECODER.decode(text)
        reader = reader_of(line.stream)
    except Problem as error:
        return [FieldError("stream", error.message)]
    except UNREADABLE as error:
        return [FieldError(None, f'expected {{"stream": …, "event": …}}: {reason(error)}')]
    raw = bytes(line.event)
    event = reader.fast_object(raw)
    if event is None:
        try:
            found = reader.read(msgspec.json.decode(raw))
        except UNREADABLE as error:
            return [FieldError("event", reason(error))]
        if isinstance(found, list):
            return found
        event = found
    if line.timestamp is not None or line.id is not None:
        stamp = event.timestamp_ms if line.timestamp is None else line.timestamp
        event = RawEvent(event.data, stamp, event.event_id or line.id)
    return reader.schema, event
