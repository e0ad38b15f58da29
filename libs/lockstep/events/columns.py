"""Events as Arrow columns: how the hot path carries them, without an object per event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.events.errors import InvalidEventError
from lockstep.events.event import Value
from lockstep.events.objects import decode_object, encode_object
from lockstep.events.records import EventsRecord, InputEvent
from lockstep.events.schema import AttributeType, StreamSchema

ARROW_TYPES: Final[dict[AttributeType, pa.DataType]] = {
    AttributeType.STRING: pa.string(),
    AttributeType.INT: pa.int32(),
    AttributeType.LONG: pa.int64(),
    AttributeType.FLOAT: pa.float32(),
    AttributeType.DOUBLE: pa.float64(),
    AttributeType.BOOL: pa.bool_(),
    AttributeType.OBJECT: pa.binary(),
}
"""Arrow's type of each attribute type; an `object` travels as the bytes of `encode_object`."""

CODES: Final[dict[str, pa.DataType]] = {
    **{kind.value[0]: arrow for kind, arrow in ARROW_TYPES.items()},
    "n": pa.null(),
}
"""One letter per type, as written in a record's header: s, i, l, f, d, b, o; n for only nulls."""

LETTERS: Final[dict[pa.DataType, str]] = {arrow: code for code, arrow in CODES.items()}
"""The letter of each of Arrow's types that travel."""

_CODE_OF: Final[dict[type, str]] = {str: "s", int: "l", float: "d", bool: "b"}
_NUMBERS: Final = frozenset({pa.int32(), pa.int64(), pa.float32(), pa.float64()})
_CONVERSION_ERRORS: Final = (pa.ArrowException, ValueError, TypeError, OverflowError)

ChunkLengths = npt.NDArray[np.int32]

Keyings = tuple[tuple[bytes, bytes], ...]
"""Of each way in which a fleet cuts a stream by key (fleet.keys says what its name stands for): the
key group of each event, a byte each."""


@dataclass(frozen=True)
class EventColumns:
    """Events of one stream, column by column; the columnar twin of EventsRecord.

    `batch` has one column per attribute, in the schema's order. `timestamps_ms` (int64) is None
    when every event bears `constant_ms`; `event_ids` (string) is None when no event has one.
    `chunk_lengths` sums up to the number of rows. `keyings`: what the record says of key groups.
    """

    stream: str
    clock_ms: int
    has_timestamps: bool
    batch: pa.RecordBatch
    chunk_lengths: ChunkLengths
    constant_ms: int
    timestamps_ms: pa.Array | None = None
    event_ids: pa.Array | None = None
    keyings: Keyings = ()

    def timestamps(self) -> pa.Array:
        """One timestamp per event, int64."""
        if self.timestamps_ms is not None:
            return self.timestamps_ms
        return pa.array(np.full(len(self), self.constant_ms, dtype=np.int64))

    def __len__(self) -> int:
        batch = self.batch
        return int(batch.num_rows if batch.num_columns else self.chunk_lengths.sum())

    def of_chunk(self, number: int) -> npt.NDArray[np.bool_]:
        """Which rows are of a chunk."""
        mask = np.zeros(len(self), np.bool_)
        start = int(self.chunk_lengths[:number].sum())
        mask[start : start + int(self.chunk_lengths[number])] = True
        return mask

    def without_chunks(self, numbers: Iterable[int]) -> EventColumns:
        """The same with those chunks empty."""
        found = self
        for number in numbers:
            found = found.without_chunk(number)
        return found

    def without_chunk(self, number: int) -> EventColumns:
        """The same with that chunk empty."""
        kept = pa.array(~self.of_chunk(number))
        lengths = self.chunk_lengths.copy()
        lengths[number] = 0
        return replace(
            self,
            batch=self.batch.filter(kept),
            chunk_lengths=lengths,
            timestamps_ms=None if self.timestamps_ms is None else self.timestamps_ms.filter(kept),
            event_ids=None if self.event_ids is None else self.event_ids.filter(kept),
            keyings=(),
        )

    @cached_property
    def is_single(self) -> bool:
        """Each event is a chunk of its own."""
        lengths = self.chunk_lengths
        if len(lengths) != len(self):
            return False
        # All in one place: a record says once that they are alike.
        return bool(((lengths if lengths.strides[0] else lengths[:1]) == 1).all())

    def conformed(self, schema: StreamSchema) -> pa.RecordBatch:
        """The batch in the schema's exact types and names; InvalidEventError where it cannot be."""
        return conformed(self.batch, schema)

    def picked(self, index: npt.NDArray[np.int64], lengths: ChunkLengths) -> EventColumns:
        """Some of the events, in chunks of these lengths."""
        batch, stamps, ids = self.batch, self.timestamps_ms, self.event_ids
        return EventColumns(
            self.stream,
            self.clock_ms,
            self.has_timestamps,
            taken(batch, index),
            lengths,
            self.constant_ms,
            None if stamps is None else _picked(stamps, index),
            None if ids is None else _picked(ids, index),
        )

    def to_record(self) -> EventsRecord:
        """The same as events."""
        count = len(self)
        rows = rows_of(self.batch, count)
        stamps = (
            [self.constant_ms] * count
            if self.timestamps_ms is None
            else self.timestamps_ms.to_pylist()
        )
        if self.event_ids is None:
            events = list(map(InputEvent, stamps, rows))
        else:
            events = list(map(InputEvent, stamps, rows, self.event_ids.to_pylist()))
        chunks = _cut(events, self.chunk_lengths)
        return EventsRecord(self.stream, self.clock_ms, chunks, self.has_timestamps)


@lru_cache(maxsize=1024)
def arrow_schema(schema: StreamSchema) -> pa.Schema:
    """The Arrow schema of a stream's attributes."""
    return pa.schema([(each.name, ARROW_TYPES[each.type]) for each in schema.attributes])


def conformed(batch: pa.RecordBatch, schema: StreamSchema) -> pa.RecordBatch:
    """The batch in the schema's exact types and names; InvalidEventError where it cannot be."""
    if batch.num_columns != len(schema.attributes):
        message = f"{batch.num_columns} values for {len(schema.attributes)} attributes"
        raise InvalidEventError(message, where=schema.name)
    columns = [
        _cast(column, ARROW_TYPES[attribute.type], schema.name, attribute.name)
        for column, attribute in zip(batch.columns, schema.attributes, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema))


def load_arrow() -> None:
    """What Arrow loads at its first conversion of Python values (pandas, a second on a busy
    machine) is loaded now, and not while the first event waits. Blocking."""
    pa.array([0])


def numbers(column: pa.Array) -> npt.NDArray[Any]:
    """A column of whole numbers without nulls, in place; unlike Arrow's own conversion it loads
    nothing."""
    kind = np.dtype(f"i{column.type.bit_width // 8}")
    if not len(column):
        return np.empty(0, kind)
    found = np.frombuffer(column.buffers()[1], kind, column.offset + len(column))
    return found[column.offset :]


def column_of(values: npt.NDArray[Any]) -> pa.Array:
    """The other way, for 8 and 64 bits."""
    kind = pa.int8() if values.dtype.itemsize == 1 else pa.int64()
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, buffer])


def singles(count: int) -> ChunkLengths:
    """The lengths of so many chunks of one event."""
    return np.broadcast_to(np.int32(1), count)


def taken(batch: pa.RecordBatch, index: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Some rows of a batch; of one without columns nothing is taken."""
    if not batch.num_columns:
        return batch
    columns = [_picked(column, index) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _picked(column: pa.Array, index: npt.NDArray[np.int64]) -> pa.Array:
    """Some values of a column. NumPy takes numbers in a quarter of the time; their bits are taken
    as whole numbers."""
    if column.type not in _NUMBERS or column.null_count:
        return column.take(pa.array(index))
    values = pa.py_buffer(numbers(column).take(index))
    return pa.Array.from_buffers(column.type, len(index), [None, values])


@lru_cache(maxsize=1024)
def default_names(width: int) -> tuple[str, ...]:
    """What columns are called whose names nobody knows."""
    return tuple(f"c{i}" for i in range(width))


def rows_of(batch: pa.RecordBatch, count: int) -> Sequence[tuple[Value, ...]]:
    """The rows of a batch as tuples; `count` tells their number where there are no columns."""
    if not batch.num_columns:
        return [()] * count
    return list(zip(*(_values(column) for column in batch.columns), strict=True))


def columns_of(
    rows: Sequence[tuple[Value, ...]], stream: str, schema: StreamSchema | None
) -> tuple[str, list[pa.Array]]:
    """(one letter per type, columns) of rows; types as the schema says, or else as the values are.

    Errors: InvalidEventError with the field that does not fit.
    """
    widths = set(map(len, rows))
    width = len(schema.attributes) if schema is not None else max(widths, default=0)
    if widths - {width}:
        found = min(widths - {width})
        raise InvalidEventError(f"{found} values for {width} attributes", where=stream)
    codes, columns = [], []
    for i in range(width):
        values = list(map(itemgetter(i), rows))
        if schema is None:
            code, name = _inferred(values), f"value {i + 1}"
        else:
            code, name = schema.types[i].value[0], schema.names[i]
        try:
            code, column = _column(values, code, exact=schema is not None)
        except (*_CONVERSION_ERRORS, InvalidEventError) as error:
            message = f"expected {CODES[code]}: {error}"
            raise InvalidEventError(message, field=name, where=f"{stream}.{name}") from error
        codes.append(code)
        columns.append(column)
    return "".join(codes), columns


def _inferred(values: list[Value]) -> str:
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return "n"
    return _CODE_OF.get(kinds.pop(), "o") if len(kinds) == 1 else "o"


def _column(values: list[Value], code: str, *, exact: bool) -> tuple[str, pa.Array]:
    if code == "l" and not exact:
        try:
            return code, pa.array(values, pa.int64())
        except OverflowError:
            code = "o"  # integers of any size travel as objects
    if code == "o":
        values = [None if value is None else encode_object(value) for value in values]
    return code, pa.array(values, CODES[code])


def _values(column: pa.Array) -> list[Value]:
    values: list[Value] = column.to_pylist()
    if pa.types.is_binary(column.type):
        return [None if value is None else decode_object(value) for value in values]
    return values


def _cast(column: pa.Array, wanted: pa.DataType, stream: str, name: str) -> pa.Array:
    if column.type == wanted:
        return column
    try:
        # Into float the nearest value is meant; everywhere else a changed value is an error.
        return column.cast(wanted, safe=not pa.types.is_floating(wanted))
    except pa.ArrowException as error:
        message = f"expected {wanted}, got {column.type}: {error}"
        raise InvalidEventError(message, field=name, where=f"{stream}.{name}") from error


def _cut(events: list[InputEvent], lengths: ChunkLengths) -> tuple[tuple[InputEvent, ...], ...]:
    if len(lengths) == len(events) and (len(lengths) == 0 or int(lengths.max()) == 1):
        return tuple(zip(events, strict=True))
    ends: list[int] = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    return tuple(tuple(events[a:b]) for a, b in zip(starts, ends, strict=True))


def lengths_array(lengths: Sequence[int] | npt.NDArray[Any]) -> ChunkLengths:
    """Chunk lengths as the array that EventColumns holds."""
    return np.asarray(lengths, dtype=np.int32)
