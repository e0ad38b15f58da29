"""Many events or numbers as columns inside a snapshot: what windows and aggregators hold, without
an object for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lockstep.operators.contract import StreamEvent

_TIME = "@timestamp"


class PackedEvents:
    """Current events in order; in a snapshot it stands where a list of events may stand.

    Columns hold strings, numbers, booleans and nulls, as Arrow has them.
    """

    __slots__ = ("payload",)

    def __init__(self, payload: Any) -> None:
        self.payload = payload

    @classmethod
    def of(cls, times: pa.Array, columns: Sequence[pa.Array]) -> PackedEvents:
        """Events with these timestamps and attributes."""
        names = [_TIME, *(str(i) for i in range(len(columns)))]
        batch = pa.RecordBatch.from_arrays([times, *columns], names=names)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return cls(sink.getvalue())

    def columns(self) -> tuple[pa.Array, list[pa.Array]]:
        """(timestamps, attributes), which lie in the payload."""
        with pa.ipc.open_stream(pa.py_buffer(self.payload)) as reader:
            batch = reader.read_next_batch()
        return batch.column(0), batch.columns[1:]

    def events(self) -> list[StreamEvent]:
        """The events one by one."""
        times, columns = self.columns()
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return list(map(StreamEvent, times.to_pylist(), rows))


class PackedPairs:
    """A list of (number, count) pairs: how often aggregators hold which value."""

    __slots__ = ("payload",)

    def __init__(self, payload: Any) -> None:
        self.payload = payload

    @classmethod
    def of(cls, values: pa.Array, counts: pa.Array) -> PackedPairs:
        """Pairs of the two columns."""
        return cls(PackedEvents.of(counts, [values]).payload)

    def pairs(self) -> list[tuple[Any, int]]:
        """The pairs one by one."""
        counts, (values,) = PackedEvents(self.payload).columns()
        return list(zip(values.to_pylist(), counts.to_pylist(), strict=True))
