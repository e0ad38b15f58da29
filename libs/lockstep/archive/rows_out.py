"""Records of an output log as rows of tables: who published, and what. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lockstep.archive import naming
from lockstep.archive.events_in import day_of, storable
from lockstep.events.columns import column_of
from lockstep.events.outputs import OutputColumns, in_columns
from lockstep.events.records import ClaimRecord, OutputLogRecord

RECORDS: Final = pa.schema(
    [
        (naming.DAY, pa.string()),
        ("sequence", pa.int64()),
        ("kind", pa.string()),
        ("epoch", pa.int64()),
        ("rows", pa.int64()),
        ("holder", pa.string()),
        ("deployed_ms", pa.int64()),
        ("life", pa.int64()),
        ("begins_behind", pa.int64()),
    ]
)
"""Of `output/records`: a row per sequence. A claim says from which life of the app, begun behind
which input position, the rows behind it come."""

ROWS, CLAIM = "rows", "claim"
MERGED: Final = 1 << 48
"""Beyond it a sequence is a position of a fleet's merged log, counted from here."""


@dataclass(frozen=True, slots=True)
class Published:
    """A record of the output log at its sequence."""

    sequence: int
    record: OutputLogRecord


@dataclass(frozen=True)
class OutputRows:
    """What a run of records becomes: rows of `records`, and of each stream's table."""

    records: pa.Table
    streams: Mapping[tuple[str, str], pa.Table]
    last: int


def row_schema(names: Sequence[str], types: Sequence[pa.DataType]) -> pa.Schema:
    """Of a stream's or stored table's rows."""
    kinds = (pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.int64(), pa.int8())
    own = list(zip(naming.ROW_COLUMNS, kinds, strict=True))
    return pa.schema([*own, *zip(naming.column_names(names), map(storable, types), strict=True)])


def published_rows(
    entries: Sequence[Published], now_ms: int, wanted: Callable[[str], bool] = lambda stream: True
) -> OutputRows:
    """Of records that follow one another. `now_ms`: the time of those that bear none."""
    records: list[dict[str, Any]] = []
    parts: dict[tuple[str, str], list[pa.RecordBatch]] = {}
    for entry in entries:
        record = entry.record
        if isinstance(record, ClaimRecord):
            records.append(_claimed(entry.sequence, record))
            continue
        clock_ms = record.door_ms or now_ms
        own = {"kind": ROWS, "epoch": record.epoch, "rows": len(record.rows)}
        records.append({naming.DAY: day_of(clock_ms), "sequence": entry.sequence, **own})
        for columns in in_columns(record.rows).columns:
            if wanted(columns.stream):
                schema = columns.batch.schema
                shape = naming.shape_of(schema.names, naming.codes_of(schema.types))
                batch = output_batch(columns, entry.sequence, clock_ms)
                parts.setdefault((columns.stream, shape), []).append(batch)
    tables = {key: pa.Table.from_batches(batches) for key, batches in parts.items()}
    found = pa.Table.from_pylist(records, schema=RECORDS)
    return OutputRows(found, tables, entries[-1].sequence)


def output_batch(columns: OutputColumns, sequence: int, clock_ms: int) -> pa.RecordBatch:
    """Rows of one stream as its table has them. A merged log is cut into records as it is read, and
    each time otherwise: there each row's sequence is its own position's, so that whoever reads
    again knows which rows a table has."""
    count = len(columns)
    positions = np.asarray(columns.positions, np.int64)
    sequences = MERGED + positions if sequence > MERGED else np.full(count, sequence, np.int64)
    schema = row_schema(columns.batch.schema.names, columns.batch.schema.types)
    operations = columns.operations
    own = [
        pa.array([day_of(clock_ms)]).take(pa.array(np.zeros(count, np.int64))),
        column_of(sequences),
        column_of(positions),
        column_of(columns.ordinals),
        column_of(columns.timestamps_ms),
        column_of(np.zeros(count, np.int8) if operations is None else operations),
    ]
    kinds = schema.types[len(own) :]
    values = [one.cast(to) for one, to in zip(columns.batch.columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays([*own, *values], schema=schema)


def _claimed(sequence: int, record: ClaimRecord) -> dict[str, Any]:
    said: dict[str, Any] = {"kind": CLAIM, "epoch": record.epoch, "rows": 0}
    of = record.generation
    if of is not None:
        said |= {"deployed_ms": of.life.deployed_ms, "life": of.life.number}
        said |= {"begins_behind": of.position}
    return {naming.DAY: day_of(record.clock_ms), "sequence": sequence, **said} | {
        "holder": record.holder
    }
