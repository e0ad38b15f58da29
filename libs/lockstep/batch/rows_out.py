"""Rows of a run as events: columns as attributes, values as SiddhiQL and JSON have them. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from lockstep.batch.model import Run
from lockstep.batch.outputs import ToSink
from lockstep.events import Attribute, AttributeType, OutputId, OutputRow, StreamSchema

SHOWN_COLUMNS: Final = 20
INT_BITS: Final = 32


def plain(value: Any) -> Any:
    """Times are milliseconds, as `long` holds them; days are texts."""
    if isinstance(value, dt.datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return round(zoned.timestamp() * 1_000)
    if isinstance(value, dt.date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def schema_of(rows: pa.Table, name: str) -> StreamSchema:
    """What a stream of the rows would be defined as."""
    return StreamSchema(name, tuple(Attribute(one.name, _type_of(one.type)) for one in rows.schema))


def _type_of(kind: pa.DataType) -> AttributeType:
    tests = (
        (pa.types.is_boolean, AttributeType.BOOL),
        (_is_int, AttributeType.INT),
        (pa.types.is_integer, AttributeType.LONG),
        (pa.types.is_timestamp, AttributeType.LONG),
        (pa.types.is_float64, AttributeType.DOUBLE),
        (pa.types.is_decimal, AttributeType.DOUBLE),
        (pa.types.is_floating, AttributeType.FLOAT),
        (pa.types.is_nested, AttributeType.OBJECT),
        (pa.types.is_binary, AttributeType.OBJECT),
    )
    return next((found for test, found in tests if test(kind)), AttributeType.STRING)


def _is_int(kind: pa.DataType) -> bool:
    """What fits into 32 bits with a sign."""
    return bool(pa.types.is_integer(kind) and (kind.bit_width < INT_BITS or kind == pa.int32()))


def output_rows(rows: pa.Table, run: Run, stream: str, first: int) -> Sequence[OutputRow]:
    """A part of a run's rows, of which so many come before it: each under the due time and its
    number, which it always has."""
    columns = [[plain(value) for value in column.to_pylist()] for column in rows.columns]
    return [
        OutputRow(OutputId(run.due_ms, number), stream, run.due_ms, values)
        for number, values in enumerate(zip(*columns, strict=True), first)
    ]


def misfit(rows: pa.Table, output: ToSink) -> str | None:
    """Why the rows cannot go there: columns that the output names and the rows have not."""
    missing = [name for name in output.columns if name not in rows.column_names]
    if not missing:
        return None
    there = ", ".join(rows.column_names[:SHOWN_COLUMNS])
    return f"its output names the column '{missing[0]}', and the rows have {there}"
