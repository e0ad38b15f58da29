"""Some events of a record, as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lockstep.events.columns import EventColumns, singles

TIMES = list(range(100, 107))


def record(start: int) -> EventColumns:
    """Seven events; their columns begin at `start` of larger ones."""

    def column(type_: pa.DataType, values: list[object]) -> pa.Array:
        return pa.array(values[:1] * start + values, type_).slice(start)

    columns = {
        "text": column(pa.string(), ["a", None, "ccc", "", "e", "f", "g"]),
        "whole": column(pa.int32(), [1, 2, 3, 4, 5, 6, 7]),
        "maybe": column(pa.int64(), [None, 2, None, 4, 5, 6, 7]),
        "real": column(pa.float64(), [0.5, float("inf"), 1.5, 2.5, 3.5, -0.0, 7.0]),
        "truth": column(pa.bool_(), [True, False, None, True, False, True, True]),
        "nothing": column(pa.null(), [None] * 7),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    return EventColumns(
        "S", 9, True, batch, singles(7), 0, column(pa.int64(), [*TIMES]),
        pa.array([f"id{n}" for n in range(7)]),
    )  # fmt: skip


def test_some_events_keep_their_values() -> None:
    """Of each type, with nulls and without, wherever the columns begin in their memory."""
    for start in (0, 3):
        whole = record(start)
        rows = whole.batch.to_pylist()
        for index in ([0, 2, 6], [], [5], list(range(7))):
            some = whole.picked(np.array(index, np.int64), singles(len(index)))
            assert some.batch.schema == whole.batch.schema
            assert some.batch.to_pylist() == [rows[at] for at in index]
            assert some.timestamps().to_pylist() == [TIMES[at] for at in index]
            assert some.event_ids is not None
            assert some.event_ids.to_pylist() == [f"id{at}" for at in index]
            assert len(some) == len(index)


def test_events_alone_are_single() -> None:
    """Two that were sent together are not."""
    assert record(0).is_single
    pairs = record(0).picked(np.arange(4), np.full(2, 2, np.int32))
    assert not pairs.is_single
