"""Rows as dead letters, and back: what the error store keeps of an output that a sink did not take.

Pure. Values travel as JSON, so an object that JSON cannot say comes back as its text.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from lockstep.bus import DeadLetter
from lockstep.events import (
    AttributeType,
    Fault,
    LockstepError,
    Operation,
    OutputId,
    OutputRow,
    StreamSchema,
)
from lockstep.events.typed import from_json
from lockstep_services.publisher.contract import RefusedRow, SinkBinding

ORIGIN: Final = "publisher/"
_FRACTIONS: Final = (AttributeType.FLOAT, AttributeType.DOUBLE)


class UnreadableLetterError(LockstepError):
    """A dead letter that is not a row of this sink's stream (any more)."""

    fault = Fault.USER


class _Body(msgspec.Struct):
    id: str
    operation: str
    event: dict[str, Any]
    sink: str = ""
    timestamp_ms: int = 0
    key: list[Any] = []
    """A deletion's values: those of the table's key, without names."""


def letter_of(binding: SinkBinding, refused: RefusedRow, *, clock_ms: int, node: str) -> DeadLetter:
    """What the error store keeps."""
    row = refused.row
    names = binding.schema.names if refused.names is None else refused.names
    is_key = len(row.data) != len(names)
    event = {} if is_key else dict(zip(names, row.data, strict=True))
    body = _Body(
        binding.row_id(row), row.operation.name, event, binding.name, row.timestamp_ms,
        list(row.data) if is_key else [],
    )  # fmt: skip
    return DeadLetter(
        app=binding.app,
        stream=binding.schema.name,
        reason=f"sink {binding.name}: {refused.reason}",
        payload=msgspec.json.encode(body, enc_hook=str),
        content_type="application/json",
        clock_ms=clock_ms,
        origin=f"{ORIGIN}{node}",
        position=row.id.position,
    )


def sink_of(letter: DeadLetter) -> str | None:
    """The name of the sink that an output was meant for; None for a refused input."""
    if not letter.origin.startswith(ORIGIN):
        return None
    return _read(letter).sink


def row_of(letter: DeadLetter, schema: StreamSchema) -> OutputRow:
    """The row as it was; UnreadableLetterError when the stream has other attributes now."""
    body = _read(letter)
    if not body.key and set(body.event) != set(schema.names):
        raise UnreadableLetterError(
            f"the row has the values {', '.join(body.event)}", where=schema.name
        )
    try:
        position, ordinal = map(int, body.id.rpartition("/")[2].split("."))
        operation = Operation[body.operation]
    except (KeyError, ValueError) as error:
        raise UnreadableLetterError(f"not an output's identity: {error}") from error
    if body.key:
        identity = OutputId(position, ordinal)
        return OutputRow(identity, schema.name, body.timestamp_ms, tuple(body.key), operation)
    data = tuple(
        float(value) if kind in _FRACTIONS and isinstance(value, int) else value
        for kind, value in zip(schema.types, map(body.event.get, schema.names), strict=True)
    )
    return OutputRow(OutputId(position, ordinal), schema.name, body.timestamp_ms, data, operation)


def _read(letter: DeadLetter) -> _Body:
    try:
        return from_json(letter.payload, _Body)
    except msgspec.DecodeError as error:
        raise UnreadableLetterError(f"not a row: {error}") from error
