"""Large JSON bodies → Arrow columns, without an object per event.

The typed decoder makes plain structs; their fields become columns one after the other. Whatever
does not fit goes the slow way, which names every bad field. Small bodies go there too: as rows they
can share a record with their neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from lockstep.events import AttributeType, InvalidEventError, StreamSchema
from lockstep.events.columns import ARROW_TYPES
from lockstep.events.objects import encode_object
from lockstep.frame.bodies import UNREADABLE
from lockstep_services.receiver.decode import NDJSON
from lockstep_services.receiver.drafts import BatchDraft
from lockstep_services.receiver.values import TOO_DEEP, is_too_deep

COLUMNS_MIN_BYTES: Final = 8_192
"""Below it rows are as quick, and gathering them saves records."""

_CONVERSION_ERRORS: Final = (
    pa.ArrowException, InvalidEventError, OverflowError, TypeError, UnicodeError, ValueError,
)  # fmt: skip


class ColumnReader:
    """Reads bodies of one schema. `event` is the typed struct of its events (fields f0, f1, …, ts
    and id).
    """

    def __init__(self, schema: StreamSchema, event: type[msgspec.Struct]) -> None:
        self._schema = schema
        self._lines = msgspec.json.Decoder(event)
        self._array = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]
        self._fields = [attrgetter(f"f{i}") for i in range(len(schema.attributes))]

    def read(self, kind: str, body: bytes, timestamp_ms: int | None) -> BatchDraft | None:
        """NDJSON lines as chunks of one, or a JSON array of objects as one chunk; None when the
        body is small or the slow way has to look.

        `kind` is its format; `timestamp_ms` is for events without their own.
        """
        if len(body) < COLUMNS_MIN_BYTES or not self._fields:
            return None
        try:
            found = self._lines.decode_lines(body) if kind == NDJSON else self._array.decode(body)
        except UNREADABLE:
            return None
        if not found:
            return None
        return self._draft(found, 1 if kind == NDJSON else len(found), timestamp_ms)

    def _draft(
        self, found: Sequence[Any], chunk_events: int, timestamp_ms: int | None
    ) -> BatchDraft | None:
        schema = self._schema
        lengths = np.full(len(found) // chunk_events, chunk_events, np.int32)
        try:
            columns = [
                _column(list(map(field, found)), kind)
                for field, kind in zip(self._fields, schema.types, strict=True)
            ]
            stamps = _given(list(map(attrgetter("ts"), found)), pa.int64())
            ids = _given(list(map(attrgetter("id"), found)), pa.string())
        except _CONVERSION_ERRORS:
            return None
        if timestamp_ms is not None:
            stamps = pa.nulls(len(found), pa.int64()) if stamps is None else stamps
            stamps = stamps.fill_null(timestamp_ms)
        batch = pa.RecordBatch.from_arrays(columns, names=list(schema.names))
        return BatchDraft(schema, batch, lengths, stamps, ids)


def _column(values: list[Any], kind: AttributeType) -> pa.Array:
    if kind is AttributeType.OBJECT:
        if any(map(is_too_deep, values)):
            raise ValueError(TOO_DEEP)
        values = [None if value is None else encode_object(value) for value in values]
    column = pa.array(values, ARROW_TYPES[kind])
    if kind is AttributeType.FLOAT and np.isinf(column.to_numpy(zero_copy_only=False)).any():
        raise ValueError("JSON has no infinity: a value is outside the range of float")
    return column


def _given(values: list[Any], kind: pa.DataType) -> pa.Array | None:
    """The column, or None when no event has a value."""
    column = pa.array(values, kind)
    return None if column.null_count == len(column) else column
