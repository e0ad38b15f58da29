"""Rows as dead letters, and back: what the error store keeps of an output that a sink did not take.

Pure. Values are told as JSON, for people. Those that JSON cannot say are kept exactly, too.
"""

from __future__ import annotations

import base64
from typing import Any, Final

import msgspec

from lockstep.bus import DeadLetter
from lockstep.events import (
    AttributeType,
    Fault,
    InvalidEventError,
    LockstepError,
    Operation,
    OutputId,
    OutputRow,
    StreamSchema,
)
from lockstep.events.objects import decode_object, encode_object
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
    exact: str | msgspec.UnsetType = msgspec.UNSET
    """All values in their order, as `encode_object` writes them, in Base64: where JSON says others,
    as of NaN and bytes. What is there counts."""


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
    body.exact = _exact(body, row)
    return DeadLetter(
        app=binding.app,
        stream=binding.schema.name,
        reason=f"sink {binding.name}: {refused.reason}",
        payload=_encoded(body),
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
    identity, values = OutputId(position, ordinal), _values(body)
    if body.key:
        return OutputRow(identity, schema.name, body.timestamp_ms, values, operation)
    named = dict(zip(body.event, values, strict=True))
    data = tuple(
        float(value) if kind in _FRACTIONS and isinstance(value, int) else value
        for kind, value in zip(schema.types, map(named.get, schema.names), strict=True)
    )
    return OutputRow(identity, schema.name, body.timestamp_ms, data, operation)


def _encoded(body: _Body) -> bytes:
    return msgspec.json.encode(body, enc_hook=str)


def _exact(body: _Body, row: OutputRow) -> str | msgspec.UnsetType:
    """Nothing where its JSON says the same, or it is nested too deep for anything else."""
    try:
        told = from_json(_encoded(body), _Body)
        if (told.event, told.key) == (body.event, body.key):
            return msgspec.UNSET
        return base64.b64encode(encode_object(row.data)).decode()
    except (InvalidEventError, RecursionError):
        return msgspec.UNSET


def _values(body: _Body) -> tuple[Any, ...]:
    if body.exact is msgspec.UNSET:
        return tuple(body.key or body.event.values())
    try:
        values = tuple(decode_object(base64.b64decode(body.exact)))
    except (TypeError, ValueError) as error:
        raise UnreadableLetterError(f"its values are damaged: {error}") from error
    if len(values) != len(body.key or body.event):
        raise UnreadableLetterError(f"it has {len(values)} values")
    return values


def _read(letter: DeadLetter) -> _Body:
    if letter.left_out_bytes:
        raise UnreadableLetterError(
            f"{letter.left_out_bytes} bytes of it are missing: the bus took no more"
        )
    try:
        return from_json(letter.payload, _Body)
    except msgspec.DecodeError as error:
        raise UnreadableLetterError(f"not a row: {error}") from error
