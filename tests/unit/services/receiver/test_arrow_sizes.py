"""Arrow bodies that stand for more than they are: refused before anything of it is made."""

from __future__ import annotations

import struct
from http import HTTPStatus
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.frame.problems import Problem
from lockstep_services.receiver.arrow import decode_arrow
from lockstep_services.receiver.arrow_sizes import (
    EXPANSION_MAX,
    OBJECT_BYTES,
    ROW_BYTES,
    Bounds,
    Budget,
)
from lockstep_services.receiver.decode import MalformedBodyError
from tests.unit.services.receiver.test_decode import arrow_body

BOUNDS = Bounds(max_events=50_000, max_bytes=1 << 20)
ROWS_MAX = BOUNDS.max_bytes // ROW_BYTES
INDICES = pa.array([0] * 50_000, pa.int8())


def schema(kind: AttributeType) -> StreamSchema:
    """Of one attribute."""
    return StreamSchema("S", (Attribute("a", kind),))


TEXT, WHOLE, ANY = map(schema, (AttributeType.STRING, AttributeType.LONG, AttributeType.OBJECT))


def body_of(*columns: pa.Array, compression: str | None = None, **options: bool) -> bytes:
    """An Arrow IPC stream of batches of one column."""
    given = pa.ipc.IpcWriteOptions(compression=compression, **options)
    return arrow_body(*(pa.record_batch({"a": column}) for column in columns), options=given)


def rows_in(body: bytes, of: StreamSchema = TEXT, *, row_chunks: bool = False) -> int:
    """How many events are in it."""
    drafts = decode_arrow(body, of, BOUNDS, row_chunks=row_chunks)
    return sum(draft.event_count for draft in drafts)


def refusal(body: bytes, of: StreamSchema = TEXT, *, row_chunks: bool = False) -> str:
    """Of a body that is too large, in whichever way: no more may be made for it than for others."""
    before = pa.total_allocated_bytes()
    with pytest.raises(Problem) as caught:
        rows_in(body, of, row_chunks=row_chunks)
    assert caught.value.status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert caught.value.hint
    assert pa.total_allocated_bytes() - before < BOUNDS.max_bytes * (EXPANSION_MAX + 1)
    return caught.value.message


def test_a_chunk_has_as_many_events_as_any_other() -> None:
    """A batch is one; its rows may be more where each is one."""
    assert rows_in(body_of(pa.nulls(50_000))) == 50_000
    assert refusal(body_of(pa.nulls(50_001))) == "a chunk of 50001 events; 50000 can go together"
    assert rows_in(body_of(pa.nulls(50_000), pa.nulls(50_000))) == 100_000
    assert rows_in(body_of(pa.nulls(50_001)), row_chunks=True) == 50_001


def test_nulls_take_no_bytes_and_are_counted_all_the_same() -> None:
    """224 bytes were 400 megabytes, made on the loop on which everybody waits."""
    nulls = body_of(pa.nulls(100_000_000))
    assert len(nulls) < 300
    assert "100000000 events" in refusal(nulls)
    assert f"more than {ROWS_MAX} events" in refusal(nulls, row_chunks=True)
    assert f"more than {ROWS_MAX} events" in refusal(body_of(*[pa.nulls(50_000)] * 3))


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_packed_buffers_may_be_as_large_as_a_body(compression: str) -> None:
    """As those of gzip; of dictionaries too."""
    fits, over = pa.array(["x" * 1_000] * 1_000), pa.array(["x" * 1_000] * 1_100)
    assert rows_in(body_of(fits, compression=compression)) == 1_000
    told = refusal(body_of(over, compression=compression))
    assert told == f"unpacked, the body is larger than {BOUNDS.max_bytes} bytes"
    words = pa.DictionaryArray.from_arrays(pa.array([0]), over)
    assert refusal(body_of(words, compression=compression)).startswith("unpacked")


def test_buffers_that_claim_to_be_large_are_not_unpacked() -> None:
    """The size in front of a packed buffer is the sender's word."""
    body = bytearray(body_of(pa.array(["x" * 5_000] * 10), compression="zstd"))
    at = body.index(struct.pack("<q", 50_000))
    body[at : at + 8] = struct.pack("<q", 1 << 45)
    assert refusal(bytes(body)).startswith("unpacked")
    body[at : at + 8] = struct.pack("<q", 50_001)
    with pytest.raises(MalformedBodyError):
        rows_in(bytes(body))


def views(count: int, size: int) -> pa.Array:
    """Views that all show the same text."""
    each = struct.pack("<i4sii", size, b"xxxx", 0, 0)
    buffers = [None, pa.py_buffer(each * count), pa.py_buffer(b"x" * size)]
    return pa.Array.from_buffers(pa.string_view(), count, buffers)


def test_values_that_many_rows_refer_to_count_for_each_row() -> None:
    """Of dictionaries and of views; those that fit are taken."""
    dictionary = pa.DictionaryArray.from_arrays(INDICES, pa.array(["x" * 1_000]))
    assert refusal(body_of(dictionary)).startswith("what the body stands for")
    assert refusal(body_of(views(50_000, 100_000))).startswith("what the body stands for")
    assert rows_in(body_of(pa.array(["x", "y", None] * 50).dictionary_encode())) == 150
    assert rows_in(body_of(views(500, 100))) == 500


def _list_views() -> pa.Array:
    """A thousand times a thousand times a thousand nulls."""
    found: pa.Array = pa.nulls(1_000)
    for count in (1_000, 1_000, 1):
        offsets, sizes = pa.array([0] * count, pa.int32()), pa.array([1_000] * count, pa.int32())
        found = pa.ListViewArray.from_arrays(offsets, sizes, found)
    return found


LONG_LIST = pa.array([[1] * 10_000])
OBJECTS: dict[str, Any] = {
    "a list of nulls": pa.FixedSizeListArray.from_arrays(pa.nulls(50_000_000), 1_000),
    "views of views": _list_views(),
    "a union": pa.UnionArray.from_dense(INDICES, pa.array([0] * 50_000, pa.int32()), [LONG_LIST]),
    "a dictionary": pa.DictionaryArray.from_arrays(INDICES, LONG_LIST),
    "a run": pa.RunEndEncodedArray.from_arrays([50_000], LONG_LIST),
    "a long name": pa.array([{"x" * 10_000: 1}] * 1_000),
}


@pytest.mark.parametrize("column", OBJECTS.values(), ids=OBJECTS)
def test_objects_are_counted_before_they_are_made(column: pa.Array) -> None:
    """However their parts are shared."""
    assert refusal(body_of(column), ANY).startswith("what the body stands for")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1, 2], None, []]),
        pa.array([[1, 2], None, []], pa.list_view(pa.int8())),
        pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        pa.array([{"x": "é", "y": [{"z": 1.5}]}, None]),
        pa.array(["x", None], pa.string_view()),
        pa.array([b"12", None], pa.binary(2)),
        pa.array([True, None]),
        pa.array(["x", None, "x"]).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays([2, 3], pa.array(["x", "y"])),
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array("xy")]),
        pa.array([bytes(range(16)), None], pa.uuid()),
        pa.nulls(3),
    ],
    ids=lambda column: str(column.type),
)
def test_objects_of_every_kind_are_taken(column: pa.Array) -> None:
    """As before."""
    assert rows_in(body_of(column), ANY) == len(column)
    assert rows_in(body_of(column.slice(1)), ANY) == len(column) - 1


def test_a_dictionary_is_checked_once_for_all_batches_that_share_it() -> None:
    """As pandas and polars write them; a value that names none of it is found all the same."""
    words = pa.array([f"{i:0100}" for i in range(9_000)])
    same = [pa.DictionaryArray.from_arrays(pa.array([0, None, 8_999]), words)] * 100
    assert rows_in(body_of(*same)) == 300
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 9_000, 1]), words, safe=False)
    with pytest.raises(MalformedBodyError):
        rows_in(body_of(*same[:2], wrong))


def test_a_dictionary_that_grows_counts_each_time() -> None:
    """Each is another one."""
    words = pa.array([f"{i:0100}" for i in range(9_000)])
    parts = [words.slice(0, 8_900 + i) for i in range(100)]
    growing = [pa.DictionaryArray.from_arrays(pa.array([0]), part) for part in parts]
    body = body_of(*growing, emit_dictionary_deltas=True)
    assert len(body) < BOUNDS.max_bytes
    assert refusal(body).startswith("what the body stands for")


def test_a_dictionary_of_nothing_is_not_made_large() -> None:
    """Nulls take no byte in it."""
    nulls = pa.DictionaryArray.from_arrays(pa.array([0]), pa.nulls(BOUNDS.max_bytes))
    assert refusal(body_of(nulls)).startswith("what the body stands for")


def test_columns_that_nobody_wants_are_not_looked_at() -> None:
    """Nor are they a reason to refuse."""
    batch = pa.record_batch({"a": pa.array([1]), "more": views(1, 500_000)})
    assert rows_in(arrow_body(batch), WHOLE) == 1


def test_plain_bodies_of_the_largest_size_are_taken() -> None:
    """Narrow numbers become wide ones, and texts stay as they are."""
    assert EXPANSION_MAX >= 8
    narrow = pa.array(np.zeros(ROWS_MAX, np.int8))
    assert rows_in(body_of(narrow), WHOLE, row_chunks=True) == ROWS_MAX
    assert rows_in(body_of(pa.array(["x" * 95] * 10_000))) == 10_000
    names = list("abcdefghij")
    batch = pa.record_batch({name: pa.array(np.zeros(50_000, np.int8)) for name in names})
    wide = StreamSchema("S", tuple(Attribute(name, AttributeType.LONG) for name in names))
    assert rows_in(arrow_body(batch, batch), wide) == 100_000


def test_values_within_objects_count_once() -> None:
    """32 bytes each, what holds them too."""
    doubles = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(18_000)), 18)
    budget = Budget(BOUNDS)
    before = budget._left
    budget.objects(doubles)
    assert before - budget._left == OBJECT_BYTES * 19_000
