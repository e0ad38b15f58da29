"""Many events or numbers as columns inside a snapshot: what windows and aggregators hold, without
an object for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import SnapshotError

_TIME = "@timestamp"
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"

DRAWN_ROWS = 1 << 18
"""How many events are drawn at a time: what a window holds is never there twice."""

LARGE_ROWS = 4_096
LARGE_BYTES = 1 << 16
SMALL_ROWS = 16
"""Up to here one by one is quicker and smaller than columns."""

Columns = tuple[pa.Array, Sequence[pa.Array]]
"""(timestamps, attributes)."""
Draw = Callable[[int, int], Columns]
"""Gives the events from one number up to another."""


class PackedEvents:
    """Current events in order; in a snapshot it stands where a list of events may stand.

    Columns hold strings, numbers, booleans and nulls, as Arrow has them; in bytes they are an Arrow
    IPC stream of one or more batches. `drawn` ones are looked at when the snapshot is written.
    """

    __slots__ = ("_count", "_draw", "_payload")

    def __init__(self, payload: Any, *, draw: Draw | None = None, count: int = 0) -> None:
        self._payload = payload
        self._draw = draw
        self._count = count

    @classmethod
    def drawn(cls, count: int, draw: Draw) -> PackedEvents:
        """So many events, of which `draw` gives any stretch as long as the state stands still."""
        return cls(None, draw=draw, count=count)

    @classmethod
    def of(cls, times: pa.Array, columns: Sequence[pa.Array]) -> PackedEvents:
        """Events with these timestamps and attributes."""

        def draw(start: int, stop: int) -> Columns:
            part = slice(start, stop)
            return times[part], [column[part] for column in columns]

        return cls.drawn(len(times), draw)

    @property
    def is_large(self) -> bool:
        """Whether it is worth a place of its own in a snapshot."""
        if self._draw is not None:
            return self._count >= LARGE_ROWS
        return len(memoryview(self._payload)) >= LARGE_BYTES

    @property
    def is_small(self) -> bool:
        """Whether they had better stand in a snapshot one by one."""
        return self._draw is not None and self._count <= SMALL_ROWS

    def buffers(self) -> Iterator[Any]:
        """The IPC stream, piece by piece."""
        if self._draw is None:
            yield self._payload
            return
        stop = min(DRAWN_ROWS, self._count)
        batch = _batch(*self._draw(0, stop))
        yield batch.schema.serialize()
        yield batch.serialize()
        while stop < self._count:
            start, stop = stop, min(stop + DRAWN_ROWS, self._count)
            yield _batch(*self._draw(start, stop)).serialize()
        yield _END_OF_STREAM

    def parts(self) -> Iterator[Columns]:
        """(timestamps, attributes) of stretches of the events, in order; read ones lie in the
        payload. SnapshotError."""
        if self._draw is not None:
            for start in range(0, max(self._count, 1), DRAWN_ROWS):
                yield self._draw(start, min(start + DRAWN_ROWS, self._count))
            return
        try:
            with pa.ipc.open_stream(pa.py_buffer(self._payload)) as reader:
                batches = list(reader)
        except (pa.ArrowException, OSError) as error:
            raise SnapshotError(f"damaged snapshot: {error}") from error
        for batch in batches:
            yield batch.column(0), batch.columns[1:]

    def columns(self) -> Columns:
        """(timestamps, attributes) of all events."""
        parts = list(self.parts())
        if len(parts) == 1:
            return parts[0]
        columns = zip(*(attributes for _, attributes in parts), strict=True)
        times = pa.concat_arrays([times for times, _ in parts])
        return times, [pa.concat_arrays(column) for column in columns]

    def events(self) -> list[StreamEvent]:
        """The events one by one."""
        times, columns = self.columns()
        if not columns:
            return [StreamEvent(time, ()) for time in times.to_pylist()]
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return list(map(StreamEvent, times.to_pylist(), rows))


def _batch(times: pa.Array, columns: Sequence[pa.Array]) -> pa.RecordBatch:
    names = [_TIME, *(str(i) for i in range(len(columns)))]
    return pa.RecordBatch.from_arrays([times, *columns], names=names)


class PackedPairs:
    """A list of (number, count) pairs: how often aggregators hold which value."""

    __slots__ = ("columns",)

    def __init__(self, columns: PackedEvents) -> None:
        self.columns = columns

    @classmethod
    def of(cls, values: pa.Array, counts: pa.Array) -> PackedPairs:
        """Pairs of the two columns."""
        return cls(PackedEvents.of(counts, [values]))

    def pairs(self) -> list[tuple[Any, int]]:
        """The pairs one by one."""
        counts, (values,) = self.columns.columns()
        return list(zip(values.to_pylist(), counts.to_pylist(), strict=True))
