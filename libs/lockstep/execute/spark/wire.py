"""What travels between the driver and a Spark worker: a small MessagePack head and a block of
parts.

Entries are the codec's bytes as they came from the log; rows are MessagePack, or Arrow where the
worker worked in columns; observations and values of on-demand queries are in the state codec.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from lockstep.columns.order import Order
from lockstep.events import Event, Operation, OutputId, OutputRow
from lockstep.events.columns import column_of, numbers
from lockstep.events.objects import decode_object, encode_object
from lockstep.events.outputs import OutputColumns, Places, RowsOfColumns
from lockstep.execute.columnar.folding import Exported
from lockstep.execute.columnar.joined_shards import joined_rows
from lockstep.execute.contract import EventFault, SliceResult, WriteOutcome
from lockstep.execute.observe import Observation, Observe, QueryChunk, StreamChunk
from lockstep.execute.spark import blocks
from lockstep.execute.spark.blocks import Block
from lockstep.execute.spark.location import Location
from lockstep.execute.together import Together
from lockstep.execute.turns import Turns
from lockstep.operators import state
from lockstep.operators.limits import Limits

_SCALARS = frozenset({type(None), bool, int, float, str})
_OBJECT = 1
_FEW_ROWS = 64


def _to_wire(value: Any) -> Any:
    return value if type(value) in _SCALARS else msgspec.msgpack.Ext(_OBJECT, encode_object(value))


def _from_wire(value: Any) -> Any:
    return decode_object(bytes(value.data)) if type(value) is msgspec.msgpack.Ext else value


class WireRow(msgspec.Struct, array_like=True, frozen=True):
    """An OutputRow."""

    position: int
    ordinal: int
    stream: str
    timestamp_ms: int
    operation: int
    data: tuple[Any, ...]


class WireFault(msgspec.Struct, array_like=True, frozen=True):
    """An EventFault; events are (timestamp_ms, values)."""

    position: int
    stream: str
    events: list[tuple[int, tuple[Any, ...]]]
    query: str | None
    reason: str
    is_poison: bool = False


class App(msgspec.Struct, array_like=True, frozen=True):
    """What a state is built from: the text and the options of an executor. `memory_max_bytes`: of
    the worker's process; 0: the system's own limit. `places`: the folder of `geo:country` …"""

    text: str
    start_ms: int | None
    dedup_ids_max: int
    observe: Observe
    columnar: bool = True
    rehearsed: bool = False
    limits: Limits = Limits()
    memory_max_bytes: int = 0
    places: str = ""


class Base(msgspec.Struct, array_like=True, frozen=True):
    """From where a worker that does not hold the state starts: the block's first parts are a
    snapshot (if there is one) and the entries folded since, which stand at `positions`."""

    has_snapshot: bool
    positions: list[int]


class Request(msgspec.Struct, array_like=True, frozen=True):
    """One thing to do for one app instance whose state stands at `position`.

    `operation`: open (build the state), slice (fold the block's entries, which stand at
    `positions`), snapshot, query (`text`), playback (`text`: its settings as JSON), which
    makes the state another `incarnation`, the one that `becomes` says. `shard` of
    `shards` tells which keys of the app's partitions are the worker's. `base` is sent only when
    the worker does not hold the state; its parts come first in the block. `freed`: blocks of
    answers that the driver is done with. `together`: the block has no entries but what
    `encode_together` makes of them, the events of each of these streams.
    """

    operation: str
    instance: str
    incarnation: int
    app: App
    position: int
    block: Block
    shares_memory: bool
    positions: list[int] = []
    text: str | None = None
    base: Base | None = None
    gone: list[str] = []
    becomes: int = 0
    shard: int = 0
    shards: int = 1
    freed: list[int] = []
    together: list[str] | None = None


class ColumnsHead(msgspec.Struct, array_like=True, frozen=True):
    """Of OutputColumns, whose batch is a part of the block; its last columns are the identities."""

    stream: str


class PlacesHead(msgspec.Struct, array_like=True, frozen=True):
    """Of an order (columnar.order): levels that are one number for all chunks; None where each
    chunk has its own, in the part of the block."""

    levels: list[int | None]


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """What a worker answers.

    `status`: done, need_base (the worker holds no state at the position), unfit (values that have
    no columnar form: to be folded by the reference from the base), suspected (an event may go over
    a limit: likewise), poisoned (one does: the chunk `poisoned` of `position`, None for a timer),
    exhausted (the worker has no memory left), or refused (`kind` text: a
    user's error with `line` and `column`; `kind` event: values that do not fit; `kind` snapshot).
    The block's parts: rows, observations, data, snapshot, then one per `columns`, then one per
    `places`, which a shard tells of its columns. `splits`: the app can be cut into shards.
    `state_rows`: see execute.contract.CountsRows; `work`: see execute.contract.TellsWork. `freed`:
    blocks of requests that the worker is done with. `takes_together`: the next slice may be one
    that the driver has read.
    """

    status: str
    block: Block
    location: Location
    position: int = 0
    next_due_ms: int | None = None
    clock_ms: int | None = None
    faults: list[WireFault] = []
    columns: list[ColumnsHead] = []
    writes: list[WriteOutcome] = []
    splits: bool = False
    places: list[PlacesHead] = []
    kind: str = ""
    message: str = ""
    line: int = 1
    column: int = 1
    hint: str | None = None
    state_rows: int = 0
    work: dict[str, tuple[int, int]] = {}
    poisoned: int | None = None
    freed: list[int] = []
    takes_together: bool = False


ROWS, OBSERVATIONS, DATA, SNAPSHOT, COLUMNS = range(5)
"""The parts of an answer's block; the last is where the columns begin."""

EMPTY = Block([])

_encoder = msgspec.msgpack.Encoder()
_rows_decoder = msgspec.msgpack.Decoder(list[WireRow])
_request_decoder = msgspec.msgpack.Decoder(Request)
_answer_decoder = msgspec.msgpack.Decoder(Answer)


def encode(message: Request | Answer, *, freed: Sequence[int] = ()) -> bytes:
    """A request or an answer as bytes; `freed` is put into it."""
    if freed:
        message = msgspec.structs.replace(message, freed=list(freed))
    return _encoder.encode(message)


def decode_request(payload: bytes) -> Request:
    """The request in the bytes."""
    return _request_decoder.decode(payload)


def decode_answer(payload: bytes) -> Answer:
    """The answer in the bytes."""
    return _answer_decoder.decode(payload)


def encode_together(records: Together) -> list[blocks.Buffer | blocks.Writing]:
    """Records that lie together, whose batches are one for each stream: the parts of a block."""
    of_records = np.stack(
        [
            records.positions, records.rows, records.clocks_ms, records.heard.astype(np.int64),
            records.streams,
        ]
    )  # fmt: skip
    turns = records.turns
    moving = [] if turns is None else [turns.counts, turns.places]
    if turns is not None and turns.clocks is not None:
        moving.append(turns.clocks)
    batches = [partial(_write, batch) for (batch,) in records.batches.values()]
    return [of_records, *moving, *batches]


def decode_together(streams: Sequence[str], parts: Sequence[Any]) -> Together:
    """The records in the parts, in place."""
    of_records = np.frombuffer(parts[0], np.int64).reshape(5, -1)
    positions, rows, clocks_ms, heard, numbers_of = of_records
    first = len(parts) - len(streams)
    moving = [np.frombuffer(part, np.int64) for part in parts[1:first]]
    turns = None
    if moving:
        counts, places, *clocks = moving
        turns = Turns(counts, clocks[0] if clocks else None, places)
    batches = {stream: [_read(part)] for stream, part in zip(streams, parts[first:], strict=True)}
    heards = heard.astype(np.bool_)
    return Together(positions, rows, clocks_ms, heards, numbers_of, batches, turns)


def encode_rows(rows: Sequence[OutputRow]) -> bytes:
    """Output rows as bytes; nothing for none."""
    if not rows:
        return b""
    return _encoder.encode(
        [
            WireRow(
                row.id.position,
                row.id.ordinal,
                row.stream,
                row.timestamp_ms,
                int(row.operation),
                tuple(map(_to_wire, row.data)),
            )
            for row in rows
        ]
    )


def decode_rows(payload: Any) -> tuple[OutputRow, ...]:
    """The rows in the bytes."""
    return tuple(
        OutputRow(
            OutputId(row.position, row.ordinal),
            row.stream,
            row.timestamp_ms,
            tuple(map(_from_wire, row.data)),
            Operation(row.operation),
        )
        for row in (_rows_decoder.decode(payload) if len(payload) else ())
    )


def encode_faults(faults: Sequence[EventFault]) -> list[WireFault]:
    """Faults for an answer."""
    return [
        WireFault(
            fault.position,
            fault.stream,
            [(e.timestamp_ms, tuple(map(_to_wire, e.data))) for e in fault.events],
            fault.query,
            fault.reason,
            fault.is_poison,
        )
        for fault in faults
    ]


def decode_faults(faults: Sequence[WireFault]) -> tuple[EventFault, ...]:
    """The faults of an answer."""
    return tuple(
        EventFault(
            fault.position,
            fault.stream,
            tuple(Event(time, tuple(map(_from_wire, data))) for time, data in fault.events),
            fault.query,
            fault.reason,
            fault.is_poison,
        )
        for fault in faults
    )


def encode_columns(columns: OutputColumns) -> blocks.Buffer | blocks.Writing:
    """Output columns as an Arrow stream. Many are written where they shall be, with no copy in
    between."""
    # "@" is not part of any name of the language.
    extras: dict[str, Any] = {
        "@position": columns.positions,
        "@ordinal": columns.ordinals,
        "@timestamp": columns.timestamps_ms,
    }
    if columns.operations is not None:
        extras["@operation"] = columns.operations
    if columns.places is not None:
        extras |= {f"@{name}": each for name, each in columns.places._asdict().items()}
    arrays = [*columns.batch.columns, *map(column_of, extras.values())]
    names = [*columns.batch.schema.names, *extras]
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    # To count the bytes takes longer than to write a few rows.
    if len(columns) > _FEW_ROWS and batch.nbytes > blocks.INLINE_MAX_BYTES:
        return partial(_write, batch)
    return pa.py_buffer(batch.schema.serialize().to_pybytes() + batch.serialize().to_pybytes())


def _write(batch: pa.RecordBatch, sink: Any) -> None:
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)


def _read(part: Any) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(part)) as reader:
        return reader.read_next_batch()


def decode_columns(head: ColumnsHead, part: Any) -> OutputColumns:
    """The output columns in the bytes, in place."""
    batch = _read(part)
    names = batch.schema.names
    width = names.index("@position")
    extras = {name: numbers(batch.column(i)) for i, name in enumerate(names) if i >= width}
    places = None
    if "@moments" in extras:
        places = Places(*(extras[f"@{name}"] for name in Places._fields))
    ids = extras["@position"], extras["@ordinal"], extras["@timestamp"]
    own = batch.select(range(width))
    return OutputColumns(head.stream, *ids, own, extras.get("@operation"), places)


def decode_result(answer: Answer, parts: Sequence[Any]) -> SliceResult:
    """The slice's result in an answer."""
    columns = tuple(map(decode_columns, answer.columns, parts[COLUMNS:]))
    rows = RowsOfColumns(columns) if columns else decode_rows(parts[ROWS])
    faults = decode_faults(answer.faults)
    writes = tuple(answer.writes)
    return SliceResult(
        answer.position, rows, faults, answer.next_due_ms, columns, writes, clock_ms=answer.clock_ms
    )


def joined(replies: Sequence[tuple[Answer, Sequence[Any]]]) -> SliceResult:
    """The slice's result in the answers of all shards."""
    first = decode_result(*replies[0])
    if len(replies) == 1:
        return first
    exported = [_exported(answer, parts) for answer, parts in replies]
    dues = [answer.next_due_ms for answer, _ in replies if answer.next_due_ms is not None]
    columns = joined_rows(exported)
    return SliceResult(
        first.position,
        RowsOfColumns(columns) if columns else first.rows,
        first.faults,
        min(dues, default=None),
        columns,
        first.writes,
        clock_ms=first.clock_ms,
    )


def head_of(exported: Exported) -> PlacesHead:
    """See PlacesHead."""
    return PlacesHead([each if isinstance(each, int) else None for each in exported.order.levels])


def encode_places(exported: Exported) -> pa.Buffer:
    """Lengths, moments and levels of chunks as an Arrow stream."""
    order = exported.order
    arrays = [exported.lengths, order.moments]
    arrays += [each for each in order.levels if not isinstance(each, int)]
    names = [str(i) for i in range(len(arrays))]
    batch = pa.RecordBatch.from_arrays([pa.array(each) for each in arrays], names=names)
    sink = pa.BufferOutputStream()
    _write(batch, sink)
    return sink.getvalue()


def _exported(answer: Answer, parts: Sequence[Any]) -> list[Exported]:
    count = len(answer.columns)
    found = []
    for i, (head, places) in enumerate(zip(answer.columns, answer.places, strict=True)):
        columns = decode_columns(head, parts[COLUMNS + i])
        read = _read(parts[COLUMNS + count + i])
        arrays = iter([each.to_numpy() for each in read.columns])
        lengths, moments = next(arrays), next(arrays)
        levels = tuple(next(arrays) if each is None else each for each in places.levels)
        found.append(Exported(columns, Order(moments, levels), lengths))
    return found


def encode_observations(observations: Sequence[Observation]) -> bytes:
    """Observations as bytes; nothing for none."""
    if not observations:
        return b""
    return state.encode(
        [
            [seen.stream, _plain_events(seen.events)]
            if isinstance(seen, StreamChunk)
            else [seen.query, _plain_events(seen.current), _plain_events(seen.expired)]
            for seen in observations
        ]
    )


def decode_observations(payload: Any) -> list[Observation]:
    """The observations in the bytes, in order."""
    if not len(payload):
        return []
    return [
        StreamChunk(item[0], _events(item[1]))
        if len(item) == 2
        else QueryChunk(item[0], _events(item[1]), _events(item[2]))
        for item in state.decode(bytes(payload))
    ]


def _plain_events(events: Sequence[Event]) -> list[tuple[int, tuple[Any, ...], bool]]:
    return [(event.timestamp_ms, event.data, event.expired) for event in events]


def _events(plain: Sequence[tuple[int, tuple[Any, ...], bool]]) -> tuple[Event, ...]:
    return tuple(Event(*event) for event in plain)
