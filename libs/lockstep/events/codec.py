"""How records travel and rest: a small header and Arrow record batches, self-describing, versioned.

A record carries its column types, so it can be read without the app it belongs to, also when the
app has changed since. Given a schema the types are the schema's; else they follow the values,
losslessly. Reading refuses what another version wrote (CodecError). All functions are pure and
thread-safe.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, ClassVar, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.events.bundles import Bundle
from lockstep.events.columns import (
    LETTERS,
    ChunkLengths,
    EventColumns,
    Keyings,
    column_of,
    columns_of,
    conformed,
    default_names,
    lengths_array,
    numbers,
)
from lockstep.events.envelope import (
    FORMAT_VERSION,
    BundleHeader,
    ClaimHeader,
    CodecError,
    EventsHeader,
    Kind,
    OutputHeader,
    StreamRows,
    TickHeader,
    WriteHeader,
    assembled,
    extra,
    padded,
    read_batch,
    read_whole,
    taken_apart,
    written_batch,
)
from lockstep.events.errors import InvalidEventError
from lockstep.events.outputs import OutputColumns, Places, RowsOfColumns, in_columns
from lockstep.events.records import (
    ClaimRecord,
    EventsRecord,
    Generation,
    InputRecord,
    Life,
    Operation,
    OutputLogRecord,
    OutputRecord,
    Position,
    TickRecord,
    WriteRecord,
)
from lockstep.events.schema import StreamSchema

__all__ = [
    "FORMAT_VERSION",
    "SEND_ID_BYTES",
    "BundleHeader",
    "CodecError",
    "EncodedEntry",
    "EventColumns",
    "EventsHeader",
    "Index",
    "Schemas",
    "decode_columns",
    "decode_input",
    "decode_output",
    "encode_batch",
    "encode_bundle",
    "encode_record",
    "send_id_of",
    "send_ids_in",
]

Schemas = Mapping[str, StreamSchema]
Index = Callable[[EventColumns], Keyings]
SEND_ID_BYTES: Final = 16


def encode_record(
    record: InputRecord | OutputLogRecord,
    schemas: Schemas | None = None,
    *,
    send_id: bytes = b"",
    trace: str = "",
    index: Index | None = None,
) -> bytes:
    """A record as bytes. Errors: InvalidEventError when values do not fit their schema.

    Streams that `schemas` does not know are typed by their values. `send_id`: see `send_id_of`.
    `trace`: see EventsHeader. `index`: finds the key groups of the events.
    """
    if isinstance(record, EventsRecord):
        return _encode_events(record, schemas or {}, send_id, trace, index)
    if isinstance(record, OutputRecord):
        return _encode_output(record, schemas or {})
    if isinstance(record, TickRecord):
        return assembled(Kind.TICK, TickHeader(record.clock_ms, record.layout))
    if isinstance(record, WriteRecord):
        header = WriteHeader(record.text, record.request_id, record.clock_ms)
        return assembled(Kind.WRITE, header)
    return assembled(Kind.CLAIM, _claim_header(record))


def encode_batch(
    schema: StreamSchema,
    batch: pa.RecordBatch,
    chunk_lengths: Sequence[int] | npt.NDArray[Any],
    clock_ms: int,
    *,
    timestamps_ms: pa.Array | None = None,
    event_ids: pa.Array | None = None,
    send_id: bytes = b"",
    trace: str = "",
    index: Index | None = None,
) -> bytes:
    """An events record from Arrow columns, without making an object per event.

    `batch` has the schema's columns in order (castable types are cast); `timestamps_ms` is int64
    without nulls; when it is None every event bears `clock_ms` and the record says that the senders
    gave no time. Errors: InvalidEventError when lengths or types do not fit.
    """
    lengths = lengths_array(chunk_lengths)
    total = int(lengths.sum())
    if total != batch.num_rows:
        message = f"chunks of {total} events in all, a batch of {batch.num_rows}"
        raise InvalidEventError(message, where=schema.name)
    extras: dict[str, pa.Array] = {}
    if timestamps_ms is not None:
        if timestamps_ms.null_count:
            raise InvalidEventError("a null timestamp", field="timestamp", where=schema.name)
        extras["timestamp"] = timestamps_ms
    if event_ids is not None:
        extras["event_id"] = event_ids
    arrays = conformed(batch, schema).columns
    part, body = written_batch(schema.codes, schema.names, arrays, extras, total)
    given = timestamps_ms is not None
    packed = _packed_lengths(lengths)
    header = EventsHeader(schema.name, clock_ms, given, clock_ms, packed, part, send_id, trace)
    return _indexed(header, body, index)


def encode_columns(events: EventColumns, *, send_id: bytes = b"") -> bytes:
    """An events record from its columns."""
    header, body = _encode_part(events)
    if send_id:
        header = msgspec.structs.replace(header, send_id=send_id)
    return assembled(Kind.EVENTS, header, (body,))


def encode_bundle(bundle: Bundle) -> bytes:
    """A bundle as bytes, without making an object per event."""
    headers, bodies = [], []
    for part in bundle.parts:
        header, body = _encode_part(part)
        headers.append(header)
        bodies.append(body)
    order = bundle.order.astype("<u2").tobytes()
    clocks = None if bundle.clocks is None else bundle.clocks.astype("<i8").tobytes()
    write = None if bundle.write is None else (bundle.write.text, bundle.write.request_id)
    whole = BundleHeader(bundle.clock_ms, order, clocks, tuple(headers), write)
    return assembled(Kind.BUNDLE, whole, bodies)


def _encode_part(part: EventColumns) -> tuple[EventsHeader, pa.Buffer]:
    extras: dict[str, pa.Array] = {}
    if part.timestamps_ms is not None:
        extras["timestamp"] = part.timestamps_ms
    if part.event_ids is not None:
        extras["event_id"] = part.event_ids
    codes, names = _kinds_of(part.batch)
    described, body = written_batch(codes, names, part.batch.columns, extras, len(part))
    packed = _packed_lengths(part.chunk_lengths)
    header = EventsHeader(
        part.stream, part.clock_ms, part.has_timestamps, part.constant_ms, packed, described
    )
    return header, body


InputHeader = EventsHeader | TickHeader | WriteHeader


@dataclass(frozen=True)
class EncodedEntry:
    """An input record (or a bundle) at its position, as the codec's bytes, which may lie in
    somebody's memory.

    Its header is read once, when somebody first asks: every look below may raise CodecError.
    """

    position: Position
    payload: bytes

    is_made: ClassVar[bool] = False
    """Its columns are there, and its bytes only when somebody asks for them."""

    @property
    def size_bytes(self) -> int:
        """About what it takes to keep it."""
        return len(self.payload)

    def kept(self) -> EncodedEntry:
        """The same without what was read of it, for who keeps it for long."""
        return EncodedEntry(self.position, self.payload)

    @cached_property
    def _opened(self) -> tuple[InputHeader | BundleHeader, pa.Buffer]:
        return _opened(self.payload)

    @property
    def header(self) -> InputHeader | BundleHeader:
        """What the record says of itself: its kind, and for events of which stream, how many."""
        return self._opened[0]

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams of which it has events."""
        header = self.header
        if isinstance(header, BundleHeader):
            return tuple(part.stream for part in header.parts)
        return (header.stream,) if isinstance(header, EventsHeader) else ()

    @property
    def layout(self) -> int:
        """The layout whose units go on behind it; 0 for nearly all records."""
        header = self.header
        return header.layout if isinstance(header, TickHeader) else 0

    @property
    def is_write(self) -> bool:
        """Whether it is a WriteRecord, or a bundle with one."""
        header = self.header
        if isinstance(header, BundleHeader):
            return header.write is not None
        return isinstance(header, WriteHeader)

    def columns(self) -> EventColumns | TickRecord | WriteRecord | Bundle:
        """The record as columns that lie in `payload` itself; the same ones each time."""
        return self._columns

    @cached_property
    def _columns(self) -> EventColumns | TickRecord | WriteRecord | Bundle:
        header, body = self._opened
        return _bundle(header, body) if isinstance(header, BundleHeader) else _columns(header, body)

    def batch(self) -> pa.RecordBatch:
        """Of events the columns as they lie there, named and typed as the header says, the extra
        ones last: for who reads many records and few of their columns."""
        header, body = self._opened
        assert isinstance(header, EventsHeader)
        return read_whole(body, header.batch)

    def record(self) -> InputRecord | Bundle:
        """The record with an object per event; a bundle as it is."""
        columns = self.columns()
        return columns.to_record() if isinstance(columns, EventColumns) else columns


def decode_input(payload: bytes) -> InputRecord:
    """The record of an input log. Errors: CodecError."""
    columns = decode_columns(payload)
    return columns.to_record() if isinstance(columns, EventColumns) else columns


def decode_columns(payload: bytes) -> EventColumns | TickRecord | WriteRecord:
    """The record of an input log as columns that lie in `payload` itself. Errors: CodecError."""
    header, body = _opened(payload)
    if isinstance(header, BundleHeader):
        raise CodecError("expected a record of an input log, found bundle")
    return _columns(header, body)


def _opened(payload: bytes) -> tuple[InputHeader | BundleHeader, pa.Buffer]:
    kind, header, body = taken_apart(payload)
    if not isinstance(header, InputHeader | BundleHeader):
        raise CodecError(f"expected a record of an input log, found {kind.name.lower()}")
    return header, body


def _bundle(header: BundleHeader, body: pa.Buffer) -> Bundle:
    parts = []
    for each in header.parts:
        parts.append(_events(each, body))
        body = body[padded(each.batch.size_bytes) :]
    clocks = None if header.clocks is None else np.frombuffer(header.clocks, "<i8")
    try:
        order = np.frombuffer(header.order, "<u2")
        write = None if header.write is None else WriteRecord(*header.write, header.clock_ms)
        return Bundle(header.clock_ms, order, tuple(parts), clocks, write)
    except ValueError as error:
        raise CodecError(f"a damaged record: {error}") from error


def _columns(header: InputHeader, body: pa.Buffer) -> EventColumns | TickRecord | WriteRecord:
    if isinstance(header, TickHeader):
        return TickRecord(header.clock_ms, header.layout)
    if isinstance(header, WriteHeader):
        return WriteRecord(header.text, header.request_id, header.clock_ms)
    return _events(header, body)


def _events(header: EventsHeader, body: pa.Buffer) -> EventColumns:
    batch, extras = read_batch(body, header.batch)
    return EventColumns(
        stream=header.stream,
        clock_ms=header.clock_ms,
        has_timestamps=header.has_timestamps,
        batch=batch,
        chunk_lengths=_unpacked_lengths(header.chunks, header.batch.rows),
        constant_ms=header.constant_ms,
        timestamps_ms=extras.get("timestamp"),
        event_ids=extras.get("event_id"),
        keyings=header.keyings,
    )


def send_id_of(dedup_id: str) -> bytes:
    """What a record bears of its dedup id, so that it is known again for long: 16 bytes."""
    return hashlib.sha256(dedup_id.encode("utf-8", "surrogatepass")).digest()[:SEND_ID_BYTES]


def send_ids_in(header: EventsHeader) -> Sequence[bytes]:
    """Of a record of several sends the id of each chunk; else that of the record, if any."""
    found = header.send_id
    return [found[i : i + SEND_ID_BYTES] for i in range(0, len(found), SEND_ID_BYTES)]


def decode_output(payload: bytes) -> OutputLogRecord:
    """The record of an output log. Errors: CodecError."""
    kind, header, body = taken_apart(payload)
    if kind is Kind.CLAIM:
        generation = None
        if header.generation is not None:
            deployed_ms, number, position = header.generation
            generation = Generation(Life(deployed_ms, number), position)
        return ClaimRecord(header.epoch, header.holder, header.clock_ms, generation)
    if kind is not Kind.OUTPUT:
        raise CodecError(f"expected a record of an output log, found {kind.name.lower()}")
    columns: list[OutputColumns] = []
    for part in header.streams:
        batch, extras = read_batch(body, part.batch)
        body = body[padded(part.batch.size_bytes) :]
        columns.append(_output_columns(part, batch, extras))
    told = header.door_ms, header.trace, header.settled
    return OutputRecord(header.epoch, RowsOfColumns(columns), *told)


def _claim_header(record: ClaimRecord) -> ClaimHeader:
    of = record.generation
    generation = None if of is None else (*astuple(of.life), of.position)
    return ClaimHeader(record.epoch, record.holder, record.clock_ms, generation)


def _encode_events(
    record: EventsRecord, schemas: Schemas, send_id: bytes, trace: str, index: Index | None
) -> bytes:
    events = list(chain.from_iterable(record.chunks))
    schema = schemas.get(record.stream)
    codes, arrays = columns_of([event.data for event in events], record.stream, schema)
    extras: dict[str, pa.Array] = {}
    stamps = [event.timestamp_ms for event in events]
    if len(set(stamps)) > 1:
        extras["timestamp"] = extra("timestamp", stamps)
    ids = [event.event_id for event in events]
    if any(each is not None for each in ids):
        extras["event_id"] = extra("event_id", ids)
    names = schema.names if schema is not None else ()
    part, body = written_batch(codes, names, arrays, extras, len(events))
    header = EventsHeader(
        record.stream,
        record.clock_ms,
        record.has_timestamps,
        stamps[0] if stamps else record.clock_ms,
        _packed_lengths(lengths_array([len(chunk) for chunk in record.chunks])),
        part,
        send_id,
        trace,
    )
    return _indexed(header, body, index)


def _indexed(header: EventsHeader, body: pa.Buffer, index: Index | None) -> bytes:
    """The record, with the key groups of its events."""
    keyings = () if index is None else index(_events(header, body))
    if keyings:
        header = msgspec.structs.replace(header, keyings=keyings)
    return assembled(Kind.EVENTS, header, (body,))


def _packed_lengths(lengths: ChunkLengths) -> int | bytes:
    if len(lengths) == 0:
        return 0
    if lengths[0] > 0 and bool((lengths == lengths[0]).all()):
        return int(lengths[0])
    return lengths.astype("<i4").tobytes()


@lru_cache(maxsize=1024)
def _alike(chunks: int, rows: int) -> ChunkLengths:
    """In one place in memory, and read-only: all records of as many events share it."""
    return np.broadcast_to(np.int32(chunks), (rows // chunks if chunks else 0,))


def _unpacked_lengths(chunks: int | bytes, rows: int) -> ChunkLengths:
    if isinstance(chunks, int):
        return _alike(chunks, rows)
    lengths = np.frombuffer(chunks, dtype="<i4")
    if int(lengths.sum()) != rows:
        raise CodecError(f"a damaged record: {rows} events in chunks of {int(lengths.sum())}")
    return lengths


def _encode_output(record: OutputRecord, schemas: Schemas) -> bytes:
    parts, bodies = [], []
    for columns in in_columns(record.rows, schemas).columns:
        part, body = _encode_columns(columns)
        parts.append(part)
        bodies.append(body)
    told = record.door_ms, record.trace, record.settled
    header = OutputHeader(record.epoch, tuple(parts), *told)
    return assembled(Kind.OUTPUT, header, bodies)


def _encode_columns(columns: OutputColumns) -> tuple[StreamRows, pa.Buffer]:
    if not columns.ascends:
        raise ValueError("the rows of an output record ascend in identity")
    batch = columns.batch
    extras = {
        "position": column_of(columns.positions),
        "ordinal": column_of(columns.ordinals),
        "timestamp": column_of(columns.timestamps_ms),
    }
    operation: int | None = int(Operation.EVENT)
    if columns.operations is not None:
        operation = int(columns.operations[0])
        if (columns.operations != operation).any():
            operation = None
            extras["operation"] = column_of(columns.operations)
    if columns.places is not None:
        extras["moment"] = column_of(columns.places.moments)
        extras["clock"] = column_of(columns.places.clocks)
        extras["chunk"] = column_of(columns.places.chunks)
    codes, names = _kinds_of(batch)
    part, body = written_batch(codes, names, batch.columns, extras, len(columns))
    return StreamRows(columns.stream, operation, part), body


def _kinds_of(batch: pa.RecordBatch) -> tuple[str, tuple[str, ...]]:
    """The letters of a batch's types, and its names unless they are those that nobody gave."""
    names = tuple(batch.schema.names)
    codes = "".join(LETTERS[kind] for kind in batch.schema.types)
    return codes, names if names != default_names(len(names)) else ()


def _output_columns(
    part: StreamRows, batch: pa.RecordBatch, extras: dict[str, pa.Array]
) -> OutputColumns:
    operations: npt.NDArray[np.int8] | None = None
    if part.operation is None:
        operations = numbers(extras["operation"])
    elif part.operation != Operation.EVENT:
        operations = np.full(part.batch.rows, part.operation, np.int8)
    places = None
    if "moment" in extras:
        places = Places(*(numbers(extras[name]) for name in ("moment", "clock", "chunk")))
    return OutputColumns(
        part.stream,
        numbers(extras["position"]),
        numbers(extras["ordinal"]),
        numbers(extras["timestamp"]),
        batch,
        operations,
        places,
    )
