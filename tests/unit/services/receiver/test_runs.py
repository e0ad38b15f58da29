"""Runs: how large they are, and what is left of them behind some chunks."""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep_services.receiver.columns import ColumnReader
from lockstep_services.receiver.decode import JSON
from lockstep_services.receiver.drafts import BatchDraft
from lockstep_services.receiver.runs import BatchRun, Run, behind
from lockstep_services.receiver.values import RawEvent

SCHEMA = StreamSchema("S", (Attribute("v", AttributeType.INT),))


def rows(*lengths: int) -> Run:
    """Events 0, 1, … in chunks of these lengths."""
    numbers = iter(range(sum(lengths)))
    chunks = [tuple(RawEvent((next(numbers),)) for _ in range(length)) for length in lengths]
    return Run(SCHEMA, chunks, 10 * sum(lengths))


def batch(first: int, *lengths: int) -> BatchDraft:
    """Events from `first` on in chunks of these lengths, each with its number as its time and
    id."""
    numbers = pa.array(range(first, first + sum(lengths)), pa.int32())
    made = pa.RecordBatch.from_arrays([numbers], names=["v"])
    return BatchDraft(SCHEMA, made, lengths, numbers.cast(pa.int64()), numbers.cast(pa.string()))


def test_times_and_ids_take_room() -> None:
    """They may be larger than the values."""
    events = [{"v": n, "_id": f"{n:200000d}", "_timestamp": n} for n in range(8)]
    draft = ColumnReader(SCHEMA).read(JSON, msgspec.json.encode([*events, {"v": 9}]), None)
    assert draft is not None
    size_bytes = BatchRun(SCHEMA, [draft]).size_bytes
    assert size_bytes >= 8 * 200_000 + 9 * (4 + 8)
    bare = BatchDraft(SCHEMA, draft.batch, [9])
    assert BatchRun(SCHEMA, [bare]).size_bytes == draft.batch.nbytes


@pytest.mark.parametrize("chunks", range(6))
def test_what_is_left_behind_some_chunks(chunks: int) -> None:
    """Of rows as of columns, across runs and batches."""
    left = list(behind([rows(1, 2), rows(3), rows(1, 1)], chunks))
    kept = [len(chunk) for run in left for chunk in run.chunks]
    assert kept == [1, 2, 3, 1, 1][chunks:]
    assert sum(run.size_bytes for run in left) == 10 * sum(kept)

    runs = [BatchRun(SCHEMA, [batch(0, 1, 2), batch(3, 3)]), BatchRun(SCHEMA, [batch(6, 1, 1)])]
    parts = [each for run in behind(runs, chunks) for each in run.batches]
    assert [int(length) for part in parts for length in part.chunk_lengths] == kept
    numbers = list(range(8 - sum(kept), 8))
    assert [v for part in parts for v in part.batch.column(0).to_pylist()] == numbers
    assert [
        int(id_)
        for part in parts
        if part.event_ids is not None
        for id_ in part.event_ids.to_pylist()
    ] == numbers
