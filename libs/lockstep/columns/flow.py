"""What reaches a query's selector: events that enter and leave a window, cut into chunks (semantics
3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.columns.chunks import Chunks, Offsets, lengths_of
from lockstep.columns.column import Column, Index, Mask
from lockstep.columns.frame import Rows, Times
from lockstep.columns.held import HeldRows
from lockstep.columns.order import IN_FRONT, Order

CURRENT, EXPIRED, RESET = 0, 1, 3
Kinds = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Flow:
    """Events of a query by reference.

    `kind` is None when all are current; RESET marks have no row. `row` points into `source` (-1 for
    what came before the slice), `place` into `held`; at least one of the two is there for each
    event. `has_places`: all of them have places, where there are any; else those of the slice have
    none (-1). `time` is the timestamp of events that are not current. Offsets, order, now and keys
    (the partition instance) are as in Chunks.
    """

    source: Chunks
    offsets: Offsets
    order: Order
    now: Times
    row: Index | None = None
    kind: Kinds | None = None
    place: Index | None = None
    time: Times | None = None
    held: HeldRows | None = None
    keys: npt.NDArray[np.int64] | None = None
    has_places: bool = True

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def count(self) -> int:
        """How many chunks."""
        return len(self.offsets) - 1

    def chunk_of(self) -> Index:
        """The chunk of each event."""
        if self.count == len(self):
            return np.arange(self.count, dtype=np.int64)
        return np.repeat(np.arange(self.count, dtype=np.int64), lengths_of(self.offsets))

    def kinds(self) -> Kinds:
        """The kind of each event."""
        return np.zeros(len(self), np.int8) if self.kind is None else self.kind

    def frame(self) -> Rows:
        """All events; those of RESET marks mean nothing."""
        return self.some(None)

    def some(self, index: Index | None) -> Rows:
        """The frame of some of the events (None: of all)."""
        row, place = _at(self.row, index), _at(self.place, index)
        if row is None and index is not None:
            row = index
        length = len(self) if index is None else len(index)
        in_slice = row is not None and (not length or row.min() >= 0)
        whole = self.row is None and index is None
        if in_slice and row is not None and length == len(self.source):
            whole = bool((row == np.arange(length)).all())

        def find(slot: int, attribute: int) -> Column:
            if whole:
                return self.source.columns[attribute]
            if in_slice or place is None or self.held is None:
                assert row is not None
                return self.source.columns[attribute].take(row)
            if self.has_places:
                return self.held.column(attribute, place)
            assert row is not None
            return self.held.mixed(attribute, place, self.source.columns[attribute], row)

        def times() -> Times:
            return self._times(index, row, place, in_slice=in_slice)

        def now() -> Times:
            chunk = self.chunk_of()
            return self.now[chunk if index is None else chunk[index]]

        rows = Rows(length, find, times, now)
        rows.where = lambda: self.looked_at(index)
        return rows

    def looked_at(self, index: Index | None) -> Order:
        """Where in the run some of the events (None: all) ask tables."""
        chunk = self.chunk_of()
        return self.order.below(IN_FRONT).take(chunk if index is None else chunk[index])

    def _times(
        self, index: Index | None, row: Index | None, place: Index | None, *, in_slice: bool
    ) -> Times:
        if row is None:
            return self.source.times
        if in_slice or self.held is None:
            own = self.source.times[row]
        elif self.has_places:
            own = self.held.times[place]
        else:
            assert place is not None
            own = self.source.times[row] if len(self.source) else self.held.times[place]
            old = np.flatnonzero(row < 0)
            own[old] = self.held.times[place[old]]
        kind = _at(self.kind, index)
        if kind is None or self.time is None or not kind.any():
            return own
        return np.where(kind == CURRENT, own, _at(self.time, index))

    def keep(self, mask: Mask) -> Flow:
        """The events where the mask is true, without the chunks that are left empty."""
        if mask.all():
            return self
        index = np.flatnonzero(mask)
        chunks, firsts = np.unique(self.chunk_of()[index], return_index=True)
        return Flow(
            self.source,
            np.append(firsts, len(index)).astype(np.int64),
            self.order.take(chunks),
            self.now[chunks],
            index if self.row is None else self.row[index],
            _at(self.kind, index),
            _at(self.place, index),
            _at(self.time, index),
            self.held,
            None if self.keys is None else self.keys[chunks],
            self.has_places,
        )


def _at(values: Any, index: Index | None) -> Any:
    return values if values is None or index is None else values[index]


def passing(source: Chunks, order: Order) -> Flow:
    """The flow of a query without a window, its chunks at these places."""
    return Flow(source, source.starts, order, source.now, kind=source.kinds, keys=source.keys)
