"""Large bodies → Arrow columns, without an object per event.

Of JSON the typed decoder makes plain structs; their fields become columns one after the other. For
messages in the form of a source, a reader of its mapper makes the columns. Whatever does not fit
goes the slow way, which names every bad field. Small bodies go there too: as rows they can share a
record with their neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.events import AttributeType, InvalidEventError, StreamSchema
from lockstep.events.columns import ARROW_TYPES
from lockstep.events.objects import encode_object
from lockstep.events.typed import converted
from lockstep.frame.bodies import UNREADABLE
from lockstep.mapping import Columns
from lockstep_services.receiver.decode import NDJSON
from lockstep_services.receiver.drafts import BatchDraft
from lockstep_services.receiver.values import (
    FLOAT_MAX,
    TOO_DEEP,
    WRAPPER,
    event_struct,
    is_too_deep,
    wrapper_struct,
)

COLUMNS_MIN_BYTES: Final = 8_192
"""Below it rows are as quick, and gathering them saves records."""

_CONVERSION_ERRORS: Final = (
    pa.ArrowException, InvalidEventError, OverflowError, TypeError, UnicodeError, ValueError,
)  # fmt: skip


class ColumnReader:
    """Reads bodies of one schema: its events bare, or all of them as `{"event": {…}}`.

    `fills_missing`: an attribute that an event has not is null, as some sources want it.
    """

    def __init__(self, schema: StreamSchema, *, fills_missing: bool = False) -> None:
        self._schema = schema
        self._fields = [attrgetter(f"f{i}") for i in range(len(schema.attributes))]
        self._fills_missing = fills_missing
        # What a decoder skips it does not read as closely as the slow way does, but of bare events
        # that lack nothing.
        strict = event_struct(schema, fills_missing=fills_missing, forbids=True)
        bare = strict if fills_missing else event_struct(schema)
        self._decoders = [
            (msgspec.json.Decoder(kind), msgspec.json.Decoder(list[kind]))  # type: ignore[valid-type]
            for kind in (bare, wrapper_struct(schema, strict, forbids=True))
            if kind is not None
        ]

    @cached_property
    def _kinds(self) -> list[type[msgspec.Struct]]:
        """Of events in documents that are decoded."""
        bare = event_struct(self._schema, fills_missing=self._fills_missing)
        wrapped = wrapper_struct(self._schema, bare)
        return [bare] if wrapped is None else [bare, wrapped]

    def read(self, kind: str, body: bytes, timestamp_ms: int | None) -> BatchDraft | None:
        """NDJSON lines as chunks of one, or a JSON array of objects as one chunk; None when the
        body is small or the slow way has to look.

        `kind` is its format; `timestamp_ms` is for events without their own.
        """
        if len(body) < COLUMNS_MIN_BYTES or not self._fields:
            return None
        for lines, array in self._decoders:
            try:
                found = lines.decode_lines(body) if kind == NDJSON else array.decode(body)
            except UNREADABLE:
                continue
            return self._drafted(found, 1 if kind == NDJSON else len(found), timestamp_ms)
        return None

    def taken(self, document: Any, timestamp_ms: int | None) -> BatchDraft | None:
        """The same of an array of JSON that is decoded, as one chunk."""
        if not isinstance(document, list) or not self._fields:
            return None
        for kind in self._kinds:
            try:
                found = converted(document, list[kind])  # type: ignore[valid-type]
            except UNREADABLE:
                continue
            return self._drafted(found, len(found), timestamp_ms)
        return None

    def _drafted(
        self, found: Sequence[Any], chunk_events: int, timestamp_ms: int | None
    ) -> BatchDraft | None:
        if not found:
            return None
        if not hasattr(found[0], WRAPPER):
            return self._draft(found, chunk_events, timestamp_ms)
        if any(each.ts is not msgspec.UNSET or each.id is not msgspec.UNSET for each in found):
            return None  # around an event they count before those in it
        return self._draft([each.event for each in found], chunk_events, timestamp_ms)

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
        stamps = _stamped(stamps, len(found), timestamp_ms)
        batch = pa.RecordBatch.from_arrays(columns, names=list(schema.names))
        return BatchDraft(schema, batch, lengths, stamps, ids)


def mapped_draft(
    schema: StreamSchema, found: Columns, timestamp_ms: int | None
) -> BatchDraft | None:
    """What the reader of a source's columns found; None when the slow way has to look.

    `timestamp_ms` is for events without their own.
    """
    try:
        columns = [
            _objects(values) if kind is AttributeType.OBJECT else values
            for values, kind in zip(found.values, schema.types, strict=True)
        ]
    except _CONVERSION_ERRORS:
        return None
    events = found.events
    lengths = np.array([events] if found.together else np.ones(events), np.int32)
    batch = pa.RecordBatch.from_arrays(columns, names=list(schema.names))
    stamps = _stamped(found.timestamps_ms, events, timestamp_ms)
    return BatchDraft(schema, batch, lengths, stamps, found.ids)


def _stamped(stamps: pa.Array | None, events: int, timestamp_ms: int | None) -> pa.Array | None:
    """With the sender's time for those without their own."""
    if timestamp_ms is None:
        return stamps
    return (pa.nulls(events, pa.int64()) if stamps is None else stamps).fill_null(timestamp_ms)


def _objects(values: Iterable[Any]) -> pa.Array:
    if any(map(is_too_deep, values)):
        raise ValueError(TOO_DEEP)
    packed = [None if value is None else encode_object(value) for value in values]
    return pa.array(packed, ARROW_TYPES[AttributeType.OBJECT])


def _column(values: list[Any], kind: AttributeType) -> pa.Array:
    if kind is AttributeType.OBJECT:
        return _objects(values)
    if kind is not AttributeType.FLOAT:
        return pa.array(values, ARROW_TYPES[kind])
    doubles = pa.array(values, pa.float64())
    if (pc.max(pc.abs(doubles)).as_py() or 0) > FLOAT_MAX:
        raise ValueError("a value is outside the range of float")
    return pc.cast(doubles, pa.float32(), safe=False)  # the nearest value is meant


def _given(values: list[Any], kind: pa.DataType) -> pa.Array | None:
    """The column, or None when no event has a value."""
    column = pa.array(values, kind)
    return None if column.null_count == len(column) else column
