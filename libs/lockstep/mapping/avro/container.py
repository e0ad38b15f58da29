"""Avro's container files as messages: a schema, and blocks of records (Avro 1.11, "object container
files"). Blocks are as they are, or deflated.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Sequence
from typing import Any, Final

import fastavro

from lockstep.mapping.amount import begin_message
from lockstep.mapping.avro.schema import UNFIT, AvroSchema, told
from lockstep.mapping.contract import MappingError

MAX_UNPACKED_BYTES: Final = 67_108_864
"""Of all blocks of a message that was deflated: a few bytes could claim gigabytes."""

MAX_RECORDS: Final = 1_000_000
"""Of a message: records may be as small as a byte, or none at all."""

MAX_FREE_VALUES: Final = 10_000_000
"""Of a message: values that take no bytes, however many a record makes of them."""

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_META: Final = fastavro.parse_schema({"type": "map", "values": "bytes"})
_LONG: Final = fastavro.parse_schema("long")


class ContainerReader:
    """Reads container files; schemas that came before are kept ready."""

    def __init__(self) -> None:
        self._last: tuple[str, AvroSchema] | None = None

    def read(self, payload: bytes, reader: AvroSchema | None) -> tuple[list[Any], AvroSchema]:
        """All records, in the form of `reader` if there is one, and the schema of that form.
        MappingError for anything else."""
        if not payload.startswith(_MAGIC):
            raise MappingError(
                "the message does not begin as a container file",
                hint="leave form='container' out for messages that are one record",
            )
        begin_message()
        source = io.BytesIO(payload)
        source.seek(len(_MAGIC))
        try:
            meta: Any = fastavro.schemaless_reader(source, _META, None)
            schema = self._schema(bytes(meta["avro.schema"]).decode())
            codec = bytes(meta.get("avro.codec", b"null")).decode()
        except UNFIT as error:
            raise MappingError(
                f"the head of the container file is broken: {told(error)}"
            ) from error
        if codec not in ("null", "deflate"):
            raise MappingError(
                f"the container file is packed with {codec[:20]!r}", hint="use deflate, or none"
            )
        sync = source.read(_SYNC_BYTES)
        other = schema.other(reader)
        records: list[Any] = []
        left_bytes, read_bytes = MAX_UNPACKED_BYTES, 0
        while source.tell() < len(payload):
            where = f"the block at byte {source.tell()} of the container file"
            count, block = _block(source, sync, schema, where, len(records))
            if codec == "deflate":
                block = _inflated(block, left_bytes, where)
                left_bytes -= len(block)
            read_bytes += len(block)
            form = schema.for_reading(read_bytes, other)
            _add_records(records, count, block, form, other, where)
        return records, reader or schema

    def _schema(self, text: str) -> AvroSchema:
        if self._last is None or self._last[0] != text:
            self._last = (text, AvroSchema(text))
        return self._last[1]


def _block(
    source: io.BytesIO, sync: bytes, schema: AvroSchema, where: str, records_before: int
) -> tuple[int, bytes]:
    """The next block as it stands there, and how many records it has."""
    try:
        count, size = _long(source), _long(source)
    except UNFIT as error:
        raise MappingError(f"{where} is broken: {told(error)}") from error
    most = min(MAX_RECORDS, MAX_FREE_VALUES // max(1, schema.free_values))
    if count < 0 or size < 0 or records_before + count > most:
        raise MappingError(f"{where} claims {count} records; {most} may be in a message")
    block = source.read(size)
    if len(block) != size or source.read(_SYNC_BYTES) != sync:
        raise MappingError(f"{where} is broken: it does not end where it should")
    return count, block


def _add_records(
    records: list[Any],
    count: int,
    block: bytes,
    form: Any,
    reader: AvroSchema | None,
    where: str,
) -> None:
    """So many, which are all that is in the block; `form`: of their schema."""
    inside = io.BytesIO(block)
    wanted = None if reader is None else reader.parsed
    try:
        records += (fastavro.schemaless_reader(inside, form, wanted) for _ in range(count))
    except UNFIT as error:
        raise MappingError(
            f"record {len(records) + 1} of the container file does not fit its schema: "
            f"{told(error)}"
        ) from error
    if inside.tell() != len(block):
        raise MappingError(f"{where} is broken: {len(block) - inside.tell()} bytes are left")


def container_of(schema: AvroSchema, records: Sequence[Any]) -> bytes:
    """A container file; equal records give equal bytes."""
    target = io.BytesIO()
    sync = hashlib.md5(schema.text.encode(), usedforsecurity=False).digest()
    try:
        fastavro.writer(target, schema.parsed, records, sync_marker=sync, strict_allow_default=True)
    except UNFIT as error:
        raise MappingError(f"an event does not fit the schema: {told(error)}") from error
    return target.getvalue()


def _long(source: io.BytesIO) -> int:
    found: Any = fastavro.schemaless_reader(source, _LONG, None)
    return int(found)


def _inflated(block: bytes, left_bytes: int, where: str) -> bytes:
    packed = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        found = packed.decompress(block, left_bytes + 1)
    except zlib.error as error:
        raise MappingError(f"{where} is broken: {error}") from error
    if len(found) > left_bytes:
        raise MappingError(
            f"the container file is larger than {MAX_UNPACKED_BYTES} bytes when it is unpacked",
            hint="send smaller ones",
        )
    return found
