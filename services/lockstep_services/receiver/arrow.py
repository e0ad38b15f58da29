"""Arrow IPC streams → chunks, column by column: no event becomes an object of its own.

Each record batch is one chunk, or each row where the sender says so. Columns are found by name in
any order; `_timestamp` (milliseconds or an Arrow timestamp) and `_id` are optional; unknown columns
are ignored.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.events import Attribute, AttributeType, InvalidEventError, StreamSchema
from lockstep.events.objects import encode_object
from lockstep_services.receiver.arrow_sizes import Bounds, Budget, check_unpacked
from lockstep_services.receiver.decode import MalformedBodyError
from lockstep_services.receiver.drafts import BatchDraft
from lockstep_services.receiver.values import (
    ID_FIELD,
    TIMESTAMP_FIELD,
    TOO_DEEP,
    FieldError,
    came_instead,
    is_too_deep,
)

_UNREADABLE: Final = (OverflowError, RecursionError, TypeError, ValueError)
_ARROW_TYPES: Final[dict[AttributeType, pa.DataType]] = {
    AttributeType.STRING: pa.string(),
    AttributeType.INT: pa.int32(),
    AttributeType.LONG: pa.int64(),
    AttributeType.FLOAT: pa.float32(),
    AttributeType.DOUBLE: pa.float64(),
    AttributeType.BOOL: pa.bool_(),
}


def decode_arrow(
    body: bytes,
    schema: StreamSchema,
    bounds: Bounds,
    *,
    row_chunks: bool = False,
    timestamp_ms: int | None = None,
) -> list[BatchDraft]:
    """A stream's events; MalformedBodyError naming every column that does not fit, Problem 413
    for more than the bounds allow.

    `row_chunks`: every row is a chunk of its own. `timestamp_ms` is for rows without their own.
    """
    budget = Budget(bounds)
    wanted = {*schema.names, TIMESTAMP_FIELD, ID_FIELD}
    batches: list[pa.RecordBatch] = []
    try:
        check_unpacked(body, bounds)
        with pa.ipc.open_stream(body) as reader:
            known = reader.schema.names  # UnicodeDecodeError
            for batch in reader:
                budget.check_rows(batch.num_rows, row_chunks=row_chunks)
                for name, column in zip(known, batch.columns, strict=True):
                    if name in wanted:  # forged offsets would be read by everybody behind us
                        budget.check(column)
                if batch.num_rows:
                    batches.append(batch)
    except (pa.ArrowException, OSError, UnicodeDecodeError, struct.error) as error:
        raise MalformedBodyError(f"not an Arrow IPC stream: {error}") from error
    if not (batches and known):
        raise MalformedBodyError("the Arrow stream holds no events")
    return [_draft(batch, schema, budget, row_chunks, timestamp_ms) for batch in batches]


def _draft(
    batch: pa.RecordBatch,
    schema: StreamSchema,
    budget: Budget,
    row_chunks: bool,
    timestamp_ms: int | None,
) -> BatchDraft:
    errors: list[FieldError] = []
    columns: list[pa.Array] = []
    for attribute in schema.attributes:
        found = _column(batch, attribute, budget)
        if isinstance(found, FieldError):
            errors.append(found)
        else:
            columns.append(found)
    stamps = _optional(batch, TIMESTAMP_FIELD, pa.int64(), errors, budget)
    if stamps is not None and (pc.min(stamps).as_py() or 0) < 0:
        errors.append(FieldError(TIMESTAMP_FIELD, "expected milliseconds since 1970, from 0 on"))
    ids = _optional(batch, ID_FIELD, pa.string(), errors, budget)
    if errors:
        raise MalformedBodyError("the Arrow batch does not fit its stream", errors=errors)
    if timestamp_ms is not None:
        if stamps is None:
            stamps = pa.nulls(batch.num_rows, pa.int64())
        stamps = stamps.fill_null(timestamp_ms)
    rows = batch.num_rows
    lengths = np.ones(rows, np.int32) if row_chunks else np.array([rows], np.int32)
    fitted = pa.RecordBatch.from_arrays(columns, names=list(schema.names))
    return BatchDraft(schema, fitted, lengths, stamps, ids)


def _column(batch: pa.RecordBatch, attribute: Attribute, budget: Budget) -> pa.Array | FieldError:
    at = batch.schema.get_field_index(attribute.name)
    if at < 0:
        near = came_instead(attribute.name, batch.schema.names)
        return FieldError(attribute.name, f"missing{near}")
    column = batch.column(at)
    wanted = _ARROW_TYPES.get(attribute.type)
    if wanted is None:
        budget.objects(column)
        return _objects(column, attribute)
    if not _fits(column.type, wanted):
        return FieldError(attribute.name, f"expected {attribute.type}, got Arrow {column.type}")
    if column.type == wanted:
        return column
    budget.cast(column)
    try:
        # Into float the nearest value is meant; everywhere else a changed value is an error.
        return pc.cast(column, wanted, safe=not pa.types.is_floating(wanted))
    except pa.ArrowException as error:
        return FieldError(
            attribute.name, f"a value is outside the range of {attribute.type}: {error}"
        )


def _objects(column: pa.Array, attribute: Attribute) -> pa.Array | FieldError:
    """Values of any kind, as the logs hold objects."""
    try:
        values = [msgspec.to_builtins(value, enc_hook=str) for value in column.to_pylist()]
        packed = [None if value is None else encode_object(value) for value in values]
    except (pa.ArrowException, InvalidEventError, *_UNREADABLE) as error:
        return FieldError(attribute.name, f"a value that cannot be read: {error}")
    if any(map(is_too_deep, values)):
        return FieldError(attribute.name, TOO_DEEP)
    return pa.array(packed, pa.binary())


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_dictionary(given):
        given = given.value_type
    if pa.types.is_null(given) or given == wanted:
        return True
    if pa.types.is_string(wanted):
        return bool(pa.types.is_large_string(given) or pa.types.is_string_view(given))
    if pa.types.is_integer(wanted):
        return bool(pa.types.is_integer(given))
    number = pa.types.is_integer(given) or pa.types.is_floating(given)
    return bool(pa.types.is_floating(wanted) and number)


def _optional(
    batch: pa.RecordBatch,
    name: str,
    wanted: pa.DataType,
    errors: list[FieldError],
    budget: Budget,
) -> pa.Array | None:
    at = batch.schema.get_field_index(name)
    if at < 0:
        return None
    column = batch.column(at)
    if pa.types.is_timestamp(column.type) and pa.types.is_integer(wanted):
        column = pc.cast(column, pa.timestamp("ms"), safe=False)
    elif not _fits(column.type, wanted):
        errors.append(FieldError(name, f"expected {wanted}, got Arrow {column.type}"))
        return None
    budget.cast(column)
    try:
        return pc.cast(column, wanted)
    except pa.ArrowException as error:
        errors.append(FieldError(name, f"a value is outside the range of {wanted}: {error}"))
        return None
