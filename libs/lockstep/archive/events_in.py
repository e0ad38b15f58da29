"""Records of an input log as rows of tables, and back: what a fold needs is all there. Pure.

A record becomes a row of `records`; its events become rows of their stream's table, with the chunk
that each came in. Key groups and traces are left out: whoever folds finds the same without them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lockstep.archive import naming
from lockstep.events.codec import EncodedEntry, EventsHeader, encode_columns, encode_record
from lockstep.events.columns import EventColumns, column_of
from lockstep.events.records import Position, TickRecord, WriteRecord

RECORDS: Final = pa.schema(
    [
        (naming.DAY, pa.string()),
        ("position", pa.int64()),
        ("kind", pa.string()),
        ("clock_ms", pa.int64()),
        ("stream", pa.string()),
        ("shape", pa.string()),
        ("events", pa.int64()),
        ("chunks", pa.int64()),
        ("has_timestamps", pa.bool_()),
        ("constant_ms", pa.int64()),
        ("send_id", pa.binary()),
        ("layout", pa.int64()),
        ("text", pa.string()),
        ("request_id", pa.string()),
    ]
)
"""Of `input/records`: a row per position. `kind`: events, tick or write; `left out` where the
events of the record are not archived; `gap` where records up to there were forgotten before anybody
archived them."""

EVENTS, LEFT_OUT, TICK, WRITE, GAP = "events", "left out", "tick", "write", "gap"
_DAY_MS: Final = 86_400_000
_LAST_DAY: Final = 2_932_896  # 9999-12-31


@lru_cache(maxsize=4_096)
def _day(number: int) -> str:
    number = min(max(number, 0), _LAST_DAY)
    return datetime.fromtimestamp(number * 86_400, UTC).date().isoformat()


def day_of(clock_ms: int) -> str:
    """The day of a time, in UTC."""
    return _day(clock_ms // _DAY_MS)


def event_schema(names: Sequence[str], types: Sequence[pa.DataType]) -> pa.Schema:
    """Of a stream's table."""
    kinds = (pa.string(), pa.int64(), pa.int32(), pa.int32(), pa.int64(), pa.string())
    own = list(zip(naming.EVENT_COLUMNS, kinds, strict=True))
    return pa.schema([*own, *zip(naming.column_names(names), map(storable, types), strict=True)])


def storable(kind: pa.DataType) -> pa.DataType:
    """Delta knows no column of nulls alone."""
    return pa.string() if pa.types.is_null(kind) else kind


@dataclass
class _Gathered:
    """Events of one stream of one shape."""

    schema: pa.Schema
    batches: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, position: Position, events: EventColumns) -> None:
        count = len(events)
        lengths = events.chunk_lengths
        ids = events.event_ids
        own = [
            pa.array([day_of(events.clock_ms)]).take(pa.array(np.zeros(count, np.int64))),
            column_of(np.full(count, position, np.int64)),
            pa.array(np.arange(count, dtype=np.int32)),
            pa.array(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)),
            events.timestamps(),
            pa.nulls(count, pa.string()) if ids is None else ids,
        ]
        kinds = self.schema.types[len(own) :]
        values = [one.cast(to) for one, to in zip(events.batch.columns, kinds, strict=True)]
        self.batches.append(pa.RecordBatch.from_arrays([*own, *values], schema=self.schema))


@dataclass(frozen=True)
class InputRows:
    """What a run of records becomes: rows of `records`, and of each stream's table."""

    records: pa.Table
    streams: Mapping[tuple[str, str], pa.Table]
    """By stream and shape."""
    last: Position


def rows_of(
    entries: Sequence[EncodedEntry],
    wanted: Callable[[str], bool] = lambda stream: True,
    gaps: Collection[Position] = (),
) -> InputRows:
    """Of entries that follow one another; `wanted` says whose events are kept. `gaps`: positions in
    front of which the log has forgotten records that nobody archived. CodecError."""
    records: list[dict[str, Any]] = []
    gathered: dict[tuple[str, str], _Gathered] = {}
    for entry in entries:
        record = entry.columns()
        if entry.position in gaps:
            records.append(_row(entry, GAP, record.clock_ms) | {"position": entry.position - 1})
        if isinstance(record, EventColumns):
            schema = record.batch.schema
            shape = naming.shape_of(schema.names, naming.codes_of(schema.types))
            kept = wanted(record.stream)
            records.append(_of_events(entry, record, shape, kept=kept))
            if kept and len(record):
                key = (record.stream, shape)
                if key not in gathered:
                    gathered[key] = _Gathered(event_schema(schema.names, schema.types))
                gathered[key].add(entry.position, record)
        elif isinstance(record, TickRecord):
            records.append(_row(entry, TICK, record.clock_ms, layout=record.layout))
        elif isinstance(record, WriteRecord):
            said = {"text": record.text, "request_id": record.request_id}
            records.append(_row(entry, WRITE, record.clock_ms, **said))
    tables = {key: pa.Table.from_batches(one.batches) for key, one in gathered.items()}
    found = pa.Table.from_pylist(records, schema=RECORDS)
    return InputRows(found, tables, entries[-1].position)


def _of_events(
    entry: EncodedEntry, events: EventColumns, shape: str, *, kept: bool
) -> dict[str, Any]:
    header = entry.header
    assert isinstance(header, EventsHeader)
    return _row(
        entry,
        EVENTS if kept else LEFT_OUT,
        events.clock_ms,
        stream=events.stream,
        shape=shape,
        events=len(events),
        chunks=len(events.chunk_lengths),
        has_timestamps=events.has_timestamps,
        constant_ms=events.constant_ms,
        send_id=header.send_id,
    )


def _row(entry: EncodedEntry, kind: str, clock_ms: int, **more: Any) -> dict[str, Any]:
    place = {naming.DAY: day_of(clock_ms), "position": entry.position}
    return {**place, "kind": kind, "clock_ms": clock_ms, **more}


# --- back --------------------------------------------------------------------------------------


class StreamRows:
    """The events of a stream's table in order, handed out record by record."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        """`batches`: rows in the order of positions, and in a record as they stood."""
        self._batches: Iterator[pa.RecordBatch] = iter(batches)
        self._batch: pa.RecordBatch | None = None
        self._positions = np.zeros(0, np.int64)
        self._at = 0

    def of(self, position: Position) -> pa.Table | None:
        """The rows of a record behind all that were asked for; None where there are none."""
        parts: list[pa.RecordBatch] = []
        while self._ready():
            end = int(np.searchsorted(self._positions, position, side="right"))
            start = int(np.searchsorted(self._positions, position, side="left"))
            start = max(start, self._at)
            if end > start:
                assert self._batch is not None
                parts.append(self._batch.slice(start, end - start))
            self._at = max(end, self._at)
            if self._at < len(self._positions):
                break
        return pa.Table.from_batches(parts) if parts else None

    def _ready(self) -> bool:
        while self._at >= len(self._positions):
            batch = next(self._batches, None)
            if batch is None:
                return False
            self._batch, self._at = batch, 0
            self._positions = batch.column(naming.POSITION).to_numpy()
        return True


@dataclass(frozen=True, slots=True)
class Restored:
    """A record that was read back, and how many of its events are not there any more."""

    entry: EncodedEntry
    missing: int


def restored(record: Mapping[str, Any], rows: pa.Table | None) -> Restored:
    """A row of `records` and the rows of its events as the record that they were; where no event is
    left, time passes and nothing happens."""
    position, clock_ms = record["position"], record["clock_ms"]
    if record["kind"] == WRITE:
        write = WriteRecord(record["text"], record["request_id"], clock_ms)
        return Restored(EncodedEntry(position, encode_record(write)), 0)
    if record["kind"] != EVENTS or rows is None:
        tick = encode_record(TickRecord(clock_ms, record["layout"] or 0))
        return Restored(EncodedEntry(position, tick), record["events"] or 0)
    events = _columns(record, rows.combine_chunks().to_batches()[0])
    payload = encode_columns(events, send_id=record["send_id"] or b"")
    return Restored(EncodedEntry(position, payload), record["events"] - len(events))


def _columns(record: Mapping[str, Any], rows: pa.RecordBatch) -> EventColumns:
    own = len(naming.EVENT_COLUMNS)
    chunks = rows.column(naming.CHUNK).to_numpy()
    lengths = np.bincount(chunks, minlength=record["chunks"]).astype(np.int32)
    times = rows.column(naming.TIMESTAMP)
    constant_ms = record["constant_ms"]
    alike = bool((times.to_numpy() == constant_ms).all())
    ids = rows.column(naming.EVENT_ID)
    names = rows.schema.names[own:]
    return EventColumns(
        stream=record["stream"],
        clock_ms=record["clock_ms"],
        has_timestamps=record["has_timestamps"],
        batch=pa.RecordBatch.from_arrays(rows.columns[own:], names=names),
        chunk_lengths=lengths,
        constant_ms=constant_ms,
        timestamps_ms=None if alike else times,
        event_ids=None if ids.null_count == len(ids) else ids,
    )
