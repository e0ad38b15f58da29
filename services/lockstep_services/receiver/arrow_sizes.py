"""How much an Arrow body becomes, found out before it does.

A few bytes can stand for gigabytes: nulls take none, packed buffers few, and many rows may refer to
one value of a dictionary or a view. So nothing is unpacked, checked or cast that was not counted.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.frame.problems import Problem
from lockstep_services.receiver.decode import check_chunk

EXPANSION_MAX: Final = 8
"""What is made of a body may be so many times the largest body: a byte may stand for a long."""
ROW_BYTES: Final = 8
"""A row counts as so much at least, or a body of nothing but nulls would bring rows without end."""
CELL_BYTES: Final = 8
"""Of a value that is cast, beside its text."""
OBJECT_BYTES: Final = 32
"""Of each value within an object: it becomes one of Python's on its way."""
_HINT: Final = "send several smaller bodies"

Sizes = npt.NDArray[np.float64]
"""Bytes per value. Floats, as what is forged goes beyond 64 bits."""


_Place = tuple[str, int, int, tuple[tuple[int, int] | None, ...]]
"""Of an array in memory: its type, where it begins, how long it is, and its buffers."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """`max_events`: of one chunk. `max_bytes`: of a body, as it came and unpacked."""

    max_events: int
    max_bytes: int


class Budget:
    """What one body may become. Problem 413 where it becomes more."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        most: float = bounds.max_bytes * EXPANSION_MAX
        self._left_to_check = self._left = most
        self._rows = 0
        # Batches share one: it is checked and measured once. It is kept, so that its place is its.
        self._sound: dict[_Place, pa.Array] = {}
        self._measured: dict[tuple[_Place, int], Sizes] = {}

    def check_rows(self, rows: int, *, row_chunks: bool) -> None:
        """Of another batch."""
        if not row_chunks:
            hint = "send smaller batches, or ?chunk=row where events need not stay together"
            check_chunk(rows, self._bounds.max_events, hint)
        self._rows += rows
        most = self._bounds.max_bytes // ROW_BYTES
        if self._rows > most:
            raise _too_large(f"the body has more than {most} events", _HINT)

    def check(self, column: pa.Array) -> None:
        """Whether a column is sound, down to each offset and text. Errors: ArrowException."""
        column.validate()
        place = _place_of(column)
        if place in self._sound:
            self._look_at(column.indices)
            column.indices.validate(full=True)
            _check_indices(column)
            return
        self._look_at(column)
        column.validate(full=True)
        if place is not None:
            self._sound[place] = column.dictionary

    def cast(self, column: pa.Array) -> None:
        """A sound column of plain values is cast."""
        self._take(len(column) * CELL_BYTES)
        if not pa.types.is_primitive(column.type) and not pa.types.is_null(column.type):
            self._take(float(self._sizes(column, 0).sum()))

    def objects(self, column: pa.Array) -> None:
        """A sound column of any kind becomes objects."""
        self._take(float(self._sizes(column, OBJECT_BYTES).sum()))

    def _look_at(self, column: pa.Array) -> None:
        self._left_to_check -= _bytes_looked_at(column)
        self._refuse(self._left_to_check)

    def _take(self, count: float) -> None:
        self._left -= count
        self._refuse(self._left)

    def _refuse(self, left: float) -> None:
        if left < 0:
            most = self._bounds.max_bytes * EXPANSION_MAX
            raise _too_large(
                f"what the body stands for is larger than {most} bytes",
                f"{_HINT}; values that many rows refer to count once for each row",
            )

    def _sizes(self, column: pa.Array, each: int) -> Sizes:
        """Of each value of a column; `each` is added for every value within."""
        # Nothing is made for values that are too many.
        self._refuse(self._left - len(column) * max(each, CELL_BYTES))
        kind, types = column.type, pa.types
        if types.is_dictionary(kind):
            return _picked(self._of_dictionary(column, each), column.indices)
        if types.is_run_end_encoded(kind):
            ends = column.run_ends.to_numpy()
            rows = np.arange(column.offset, column.offset + len(column))
            return self._sizes(column.values, each)[np.searchsorted(ends, rows, side="right")]
        if isinstance(column, pa.ExtensionArray):
            return self._sizes(column.storage, each)
        if types.is_nested(kind):
            return self._nested(column, each)
        return _lengths(column) + each

    def _of_dictionary(self, column: pa.Array, each: int) -> Sizes:
        place = _place_of(column)
        if place not in self._sound:
            return self._sizes(column.dictionary, each)
        found = self._measured.get((place, each))
        if found is None:
            found = self._measured[place, each] = self._sizes(column.dictionary, each)
            self._take(len(found) * CELL_BYTES)
        return found

    def _nested(self, column: pa.Array, each: int) -> Sizes:
        kind, types = column.type, pa.types
        if types.is_struct(kind):
            return self._struct(column, each)
        if types.is_union(kind):
            return self._union(column, each)
        sums = np.concatenate([[0.0], np.cumsum(self._sizes(column.values, each))])
        if types.is_fixed_size_list(kind):
            starts = (np.arange(len(column)) + column.offset) * kind.list_size
            ends = starts + kind.list_size
        elif types.is_list_view(kind) or types.is_large_list_view(kind):
            starts = column.offsets.to_numpy()
            ends = starts + column.sizes.to_numpy()
        else:
            offsets = column.offsets.to_numpy()
            starts, ends = offsets[:-1], offsets[1:]
        found: Sizes = sums[ends] - sums[starts] + each
        return found

    def _struct(self, column: pa.Array, each: int) -> Sizes:
        found = np.full(len(column), float(each))
        for i, field in enumerate(column.type):
            found += self._sizes(column.field(i), each) + len(field.name)
        return found

    def _union(self, column: pa.Array, each: int) -> Sizes:
        is_dense = column.type.mode == "dense"
        codes = column.type_codes.to_numpy()
        at = column.offsets.to_numpy() if is_dense else np.arange(len(column))
        found = np.full(len(column), float(each))
        for i, code in enumerate(column.type.type_codes):
            of_code = codes == code
            if of_code.any():
                found[of_code] += self._sizes(column.field(i), each)[at[of_code]]
        return found


def _place_of(column: pa.Array) -> _Place | None:
    """Where the dictionary of a column stands, if it is one of plain values."""
    if not pa.types.is_dictionary(column.type):
        return None
    found = column.dictionary
    if pa.types.is_nested(found.type) or pa.types.is_dictionary(found.type):
        return None
    buffers = (one and (one.address, one.size) for one in found.buffers())
    return str(found.type), found.offset, len(found), tuple(buffers)


def _check_indices(column: pa.Array) -> None:
    """ArrowInvalid where one names no value of a dictionary that is sound itself."""
    ends = pc.min_max(column.indices).as_py()
    if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(column.dictionary):
        raise pa.ArrowInvalid("a value names none of its dictionary")


def _picked(sizes: Sizes, indices: pa.Array) -> Sizes:
    """Of the values that the indices name; nothing for null."""
    found = np.zeros(len(indices))
    known = indices.is_valid().to_numpy(zero_copy_only=False)
    found[known] = sizes[indices.drop_null().to_numpy()]
    return found


def _lengths(column: pa.Array) -> Sizes:
    """The bytes of each text; of numbers nothing, which have their place already."""
    kind, types = column.type, pa.types
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _view_lengths(column)
    if types.is_fixed_size_binary(kind):
        return np.full(len(column), float(kind.byte_width))
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if any(is_text(kind) for is_text in texts):
        lengths = pc.binary_length(column).fill_null(0)
        return np.asarray(lengths.to_numpy(zero_copy_only=False), np.float64)
    return np.zeros(len(column))


def _view_lengths(column: pa.Array) -> Sizes:
    """Of a column of views, each 16 bytes that begin with the length; it may be unchecked still."""
    buffer = column.buffers()[1]
    if buffer is None:
        return np.zeros(len(column))
    lengths = np.frombuffer(buffer, np.int32, buffer.size // 4)[::4]
    return lengths[column.offset : column.offset + len(column)].clip(0).astype(np.float64)


def _bytes_looked_at(column: pa.Array) -> float:
    """What a full check reads: a dictionary that several columns share for each of them, a text
    that several views share for each of those."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return float(column.indices.get_total_buffer_size()) + _bytes_looked_at(column.dictionary)
    if isinstance(column, pa.ExtensionArray):
        return _bytes_looked_at(column.storage)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return float(_view_lengths(column).sum())
    if types.is_struct(kind) or types.is_union(kind):
        return sum(_bytes_looked_at(column.field(i)) for i in range(kind.num_fields))
    if types.is_nested(kind) or types.is_run_end_encoded(kind):
        return len(column) * CELL_BYTES + _bytes_looked_at(column.values)
    return float(column.get_total_buffer_size())


def check_unpacked(body: bytes, bounds: Bounds) -> None:
    """Whether an IPC stream is within the bounds once its buffers are unpacked: their sizes stand
    in front of what is packed. Problem 413. Errors: ArrowException, OSError, struct.error."""
    total = 0
    for message in pa.ipc.MessageReader.open_stream(body):
        if message.body is not None:
            metadata, content = message.metadata.to_pybytes(), memoryview(message.body)
            total += sum(_buffer_sizes(metadata, content))
        if total > bounds.max_bytes:
            raise _too_large(f"unpacked, the body is larger than {bounds.max_bytes} bytes", _HINT)


_RECORDS, _DICTIONARY = 3, 2
_HEADER_TYPE, _HEADER = 1, 2
_DICTIONARY_DATA = 1
_BUFFERS, _COMPRESSION = 2, 3
"""Of Arrow's Message.fbs: kinds of headers, and which field of its table each is."""


def _buffer_sizes(metadata: bytes, content: memoryview) -> list[int]:
    """Of the buffers of a message, unpacked. Arrow has checked that its metadata is sound."""
    message = _Table(metadata, _at(metadata, "<I", 0))
    kind = message.byte(_HEADER_TYPE)
    header = message.table(_HEADER)
    if header is not None and kind == _DICTIONARY:
        header = header.table(_DICTIONARY_DATA)
    if header is None or kind not in (_DICTIONARY, _RECORDS):
        return []
    is_packed = header.table(_COMPRESSION) is not None
    return [
        max(length, _at(content, "<q", start) if is_packed and length else 0)
        for start, length in header.pairs(_BUFFERS)
    ]


class _Table:
    """A table of FlatBuffers: its fields by number, absent ones included."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._start = start
        self._fields = start - _at(data, "<i", start)

    def _place(self, field: int) -> int | None:
        at = 4 + 2 * field
        if at >= _at(self._data, "<H", self._fields):
            return None
        offset = _at(self._data, "<H", self._fields + at)
        return self._start + offset if offset else None

    def byte(self, field: int) -> int:
        """0 where it is absent."""
        place = self._place(field)
        return 0 if place is None else _at(self._data, "<B", place)

    def table(self, field: int) -> _Table | None:
        """One table."""
        place = self._place(field)
        return None if place is None else _Table(self._data, place + _at(self._data, "<I", place))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A vector of structs of two longs."""
        place = self._place(field)
        if place is None:
            return []
        place += _at(self._data, "<I", place)
        end = place + 4 + 16 * _at(self._data, "<I", place)
        pairs: list[tuple[int, int]] = list(struct.iter_unpack("<qq", self._data[place + 4 : end]))
        return pairs


def _at(data: Any, form: str, place: int) -> int:
    if place < 0:  # Python would count from the end
        raise struct.error("a place in front of the message")
    found: int = struct.unpack_from(form, data, place)[0]
    return found


def _too_large(message: str, hint: str) -> Problem:
    return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message, hint=hint)
