"""Chunks that come one by one, gathered into columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lockstep.columns.chunks import Chunks, offsets_of
from lockstep.columns.column import from_values
from lockstep.columns.labels import Levels
from lockstep.columns.merging import merged
from lockstep.columns.order import Order, levels_from
from lockstep.columns.output import Output
from lockstep.events import AttributeType, Operation
from lockstep.operators.contract import StreamEvent


class Records:
    """The chunks of a stream (or the changes of a table) with their places."""

    def __init__(self, types: Sequence[AttributeType]) -> None:
        self._types = types
        self._clear()

    def _clear(self) -> None:
        self._moments: list[int] = []
        self._levels: list[Levels] = []
        self._lengths: list[int] = []
        self._now: list[int] = []
        self._events: list[StreamEvent] = []
        self._operations: list[int] = []

    def __len__(self) -> int:
        return len(self._moments)

    def add(
        self,
        moment: int,
        levels: Levels,
        chunk: Sequence[StreamEvent],
        now: int,
        operation: Operation | None = None,
    ) -> None:
        """A chunk at its place, and the clock there."""
        self._moments.append(moment)
        self._levels.append(levels)
        self._lengths.append(len(chunk))
        self._now.append(now)
        self._events += chunk
        if operation is not None:
            self._operations.append(int(operation))

    def take(self) -> Output:
        """Everything since the last call, in columns; Unfit for values that are not of their
        attribute's type."""
        events = self._events
        columns = tuple(
            from_values(type_, [event.data[i] for event in events])
            for i, type_ in enumerate(self._types)
        )
        starts = offsets_of(np.array(self._lengths, np.int64))
        chunks = Chunks(
            columns,
            np.array([event.timestamp_ms for event in events], np.int64),
            starts,
            Order(np.array(self._moments, np.int64), levels_from(self._levels)),
            np.array(self._now, np.int64),
        )
        operations = np.array(self._operations, np.int8) if self._operations else None
        self._clear()
        arranged = merged([chunks.order])
        if operations is None and (np.diff(arranged) < 0).any():
            # What came of a chunk that feeds its own stream stands in front of it.
            chunks = chunks.arranged(arranged)
        return Output(chunks, operations=operations)
