"""The shape of a record's bytes: version, kind, a small header, then Arrow batches, all aligned.

Only the codec looks in here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final

import msgspec
import pyarrow as pa

from lockstep.events.columns import CODES, Keyings, default_names
from lockstep.events.errors import InvalidEventError, LockstepError

FORMAT_VERSION: Final = 1
_PREFIX: Final = struct.Struct("<BBxxI")  # version, kind, length of the header
_ALIGNMENT: Final = 8  # Arrow reads its buffers in place when they are aligned


class CodecError(LockstepError):
    """Bytes that are not a record of a version this release can read."""


class Kind(IntEnum):
    """What a record is."""

    EVENTS = 1
    TICK = 2
    OUTPUT = 3
    CLAIM = 4
    WRITE = 5
    BUNDLE = 6


class Batch(msgspec.Struct, array_like=True, frozen=True):
    """One Arrow batch behind the header: its columns, one letter each, the extra ones last."""

    codes: str
    names: tuple[str, ...]
    extras: tuple[str, ...]
    rows: int
    size_bytes: int


class EventsHeader(msgspec.Struct, array_like=True, frozen=True):
    """Of an EventsRecord; `chunks`: all of one length, or little-endian int32 lengths.

    `send_id`: what tells a repeated send from a new one; empty when nobody repeats it. A record of
    several sends has an id per chunk, one behind the other. `trace`: W3C's traceparent of who
    appended it, where it is traced; earlier releases read over it.
    `keyings`: see columns.Keyings; read over likewise.
    """

    stream: str
    clock_ms: int
    has_timestamps: bool
    constant_ms: int
    chunks: int | bytes
    batch: Batch
    send_id: bytes = b""
    trace: str = ""
    keyings: Keyings = ()

    @property
    def events(self) -> int:
        """How many there are."""
        return self.batch.rows

    @property
    def attributes(self) -> int:
        """How many values each has."""
        return len(self.batch.codes)


class TickHeader(msgspec.Struct, array_like=True, frozen=True):
    """Of a TickRecord; earlier releases know no `layout`, and read over it."""

    clock_ms: int
    layout: int = 0


class WriteHeader(msgspec.Struct, array_like=True, frozen=True):
    """Of a WriteRecord."""

    text: str
    request_id: str
    clock_ms: int


class BundleHeader(msgspec.Struct, array_like=True, frozen=True):
    """Of a Bundle: the part of each delivery as little-endian uint16, clocks as int64 or None; the
    parts' batches follow one another. `write`: text and request id."""

    clock_ms: int
    order: bytes
    clocks: bytes | None
    parts: tuple[EventsHeader, ...]
    write: tuple[str, str] | None = None

    @property
    def events(self) -> int:
        """How many there are."""
        return sum(part.events for part in self.parts)


class StreamRows(msgspec.Struct, array_like=True, frozen=True):
    """Output rows of one stream; `operation` is None when it has a column of its own."""

    stream: str
    operation: int | None
    batch: Batch


class OutputHeader(msgspec.Struct, array_like=True, frozen=True):
    """Of an OutputRecord; earlier releases read over what is behind its streams."""

    epoch: int
    streams: tuple[StreamRows, ...]
    door_ms: int = 0
    trace: str = ""
    settled: int = 0


class ClaimHeader(msgspec.Struct, array_like=True, frozen=True):
    """Of a ClaimRecord; `generation`: deployed_ms, number, position. Earlier releases have none."""

    epoch: int
    holder: str
    clock_ms: int
    generation: tuple[int, int, int] | None = None


_encoder = msgspec.msgpack.Encoder()
_DECODERS: Final[dict[int, tuple[Kind, msgspec.msgpack.Decoder[Any]]]] = {
    kind.value: (kind, msgspec.msgpack.Decoder(header))
    for kind, header in (
        (Kind.EVENTS, EventsHeader),
        (Kind.TICK, TickHeader),
        (Kind.OUTPUT, OutputHeader),
        (Kind.CLAIM, ClaimHeader),
        (Kind.WRITE, WriteHeader),
        (Kind.BUNDLE, BundleHeader),
    )
}
"""By number: an enumeration takes longer to find its members than a header to be read."""
_EXTRAS: Final[dict[str, pa.DataType]] = {
    "timestamp": pa.int64(),
    "event_id": pa.string(),
    "position": pa.int64(),
    "ordinal": pa.int64(),
    "operation": pa.int8(),
    "moment": pa.int64(),
    "clock": pa.int64(),
    "chunk": pa.int64(),
}


def extra(name: str, values: Sequence[Any]) -> pa.Array:
    """An extra column; InvalidEventError when a value does not fit it."""
    try:
        return pa.array(values, _EXTRAS[name])
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise InvalidEventError(str(error), field=name) from error


def assembled(kind: Kind, header: msgspec.Struct, bodies: Sequence[pa.Buffer] = ()) -> bytes:
    """A record's bytes."""
    encoded = _encoder.encode(_as_ever(header))
    pieces: list[Any] = [_PREFIX.pack(FORMAT_VERSION, kind, len(encoded)), encoded]
    pieces.append(b"\0" * (padded(len(encoded)) - len(encoded)))
    for body in bodies:
        pieces += [body, b"\0" * (padded(body.size) - body.size)]
    return b"".join(pieces)


def _as_ever(header: msgspec.Struct) -> msgspec.Struct | tuple[Any, ...]:
    """Without what earlier releases do not know, where it says nothing: so the bytes are theirs."""
    if isinstance(header, EventsHeader) and not (header.trace or header.keyings):
        return msgspec.structs.astuple(header)[:-2]
    return header


def taken_apart(payload: bytes) -> tuple[Kind, Any, pa.Buffer]:
    """(kind, header, what follows it); CodecError for an unknown version or damaged bytes."""
    if len(payload) < _PREFIX.size:
        raise CodecError(f"not a record: {len(payload)} bytes")
    version, kind, size = _PREFIX.unpack_from(payload)
    if version != FORMAT_VERSION:
        raise CodecError(
            f"a record of format version {version}; this release reads version {FORMAT_VERSION}",
            hint="upgrade this node to the release that wrote it",
        )
    if kind not in _DECODERS:
        raise CodecError(f"a damaged record: {kind} is no kind of record")
    known, decoder = _DECODERS[kind]
    start = _PREFIX.size
    try:
        header = decoder.decode(memoryview(payload)[start : start + size])
    except ValueError as error:
        raise CodecError(f"a damaged record: {error}") from error
    body = pa.py_buffer(payload)
    return known, header, body.slice(min(start + padded(size), body.size))


@lru_cache(maxsize=1024)
def _wire_schema(codes: str, names: tuple[str, ...], extras: tuple[str, ...]) -> pa.Schema:
    found = names or default_names(len(codes))
    fields = [(name, CODES[code]) for name, code in zip(found, codes, strict=True)]
    # "@" is not part of any name of the language.
    return pa.schema([*fields, *((f"@{name}", _EXTRAS[name]) for name in extras)])


def written_batch(
    codes: str,
    names: tuple[str, ...],
    arrays: Sequence[pa.Array],
    extras: dict[str, pa.Array],
    rows: int,
) -> tuple[Batch, pa.Buffer]:
    """The description of a batch and its bytes."""
    schema = _wire_schema(codes, names, tuple(extras))
    batch = pa.RecordBatch.from_arrays([*arrays, *extras.values()], schema=schema)
    body = batch.serialize()
    return Batch(codes, names, tuple(extras), rows, body.size), body


def read_batch(body: pa.Buffer, part: Batch) -> tuple[pa.RecordBatch, dict[str, pa.Array]]:
    """(attribute columns, extra columns by name), lying in `body` itself. Errors: CodecError."""
    batch = read_whole(body, part)
    width = len(part.codes)
    extras = {name: batch.column(width + i) for i, name in enumerate(part.extras)}
    return batch.select(range(width)) if part.extras else batch, extras


def read_whole(body: pa.Buffer, part: Batch) -> pa.RecordBatch:
    """The same as one batch, the extra columns last. Errors: CodecError."""
    try:
        schema = _wire_schema(part.codes, part.names, part.extras)
        batch = pa.ipc.read_record_batch(body.slice(0, part.size_bytes), schema)
        batch.validate()
    except (pa.ArrowException, EOFError, OSError, KeyError, ValueError) as error:
        raise CodecError(f"a damaged record: {error}") from error
    if batch.num_columns and batch.num_rows != part.rows:
        raise CodecError(f"a damaged record: {batch.num_rows} rows instead of {part.rows}")
    return batch


def padded(size_bytes: int) -> int:
    """The size with the padding that keeps what follows aligned."""
    return -(-size_bytes // _ALIGNMENT) * _ALIGNMENT
