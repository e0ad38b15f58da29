"""A stream within a slice: events as columns, cut into chunks, each chunk at its place and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Column, Index, Longs, Mask, from_values
from lockstep.columns.frame import Rows, Times
from lockstep.columns.lazy import LazyColumns
from lockstep.columns.order import Order, level_of
from lockstep.events import AttributeType

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chunks:
    """Events of a stream in order.

    `starts` are the offsets of the chunks and the number of events behind them; no chunk is empty.
    `order` and `now` (the app clock) are per chunk, `columns` and `times` per event. `keys` tells
    the partition instance of each chunk, inside a partition; `kinds` which of the events come and
    which leave, where a named window brings them (None: all come).
    """

    columns: Sequence[Column]
    times: Times
    starts: Offsets
    order: Order
    now: Times
    keys: npt.NDArray[np.int64] | None = None
    kinds: npt.NDArray[np.int8] | None = None

    def __len__(self) -> int:
        return len(self.times)

    @property
    def count(self) -> int:
        """How many chunks."""
        return len(self.starts) - 1

    @cached_property
    def is_single(self) -> bool:
        """Whether every chunk is one event."""
        return self.count == len(self.times)

    @cached_property
    def chunk_of(self) -> Index:
        """The chunk of each event."""
        if self.is_single:
            return np.arange(len(self.times), dtype=np.int64)
        return np.repeat(np.arange(self.count, dtype=np.int64), lengths_of(self.starts))

    def per_event(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Values per chunk as values per event."""
        return values if self.is_single else values[self.chunk_of]

    def rows(self) -> Rows:
        """The events as a frame of shape STREAM."""
        return Rows(
            len(self),
            lambda slot, attribute: self.columns[attribute],
            lambda: self.times,
            lambda: self.per_event(self.now),
        )

    def keep(self, mask: Mask) -> Chunks:
        """The events where the mask is true, without the chunks that are left empty."""
        if mask.all():
            return self
        index = np.flatnonzero(mask)
        if self.is_single:
            kept, starts = index, np.arange(len(index) + 1, dtype=np.int64)
        else:
            chunk_of = self.chunk_of[index]
            kept, firsts = np.unique(chunk_of, return_index=True)
            starts = np.append(firsts, len(index)).astype(np.int64)
        return Chunks(
            self._taken(index),
            self.times[index],
            starts,
            self.order.take(kept),
            self.now[kept],
            None if self.keys is None else self.keys[kept],
            None if self.kinds is None else self.kinds[index],
        )

    def arranged(self, chunks: Index) -> Chunks:
        """The chunks in another order."""
        if self.is_single:
            index, starts = chunks, self.starts
        else:
            index, starts = spread(self.starts, chunks)
        return Chunks(
            self._taken(index),
            self.times[index],
            starts,
            self.order.take(chunks),
            self.now[chunks],
            None if self.keys is None else self.keys[chunks],
            None if self.kinds is None else self.kinds[index],
        )

    def _taken(self, index: Index) -> LazyColumns:
        columns = self.columns
        return LazyColumns(len(columns), lambda i: columns[i].take(index))


def empty(types: Sequence[AttributeType], *, keyed: bool = False) -> Chunks:
    """No events; `keyed` inside a partition."""
    none = np.zeros(0, np.int64)
    columns = tuple(from_values(type_, []) for type_ in types)
    keys = none if keyed else None
    return Chunks(columns, none, np.zeros(1, np.int64), Order(none), none, keys)


def offsets_of(lengths: npt.NDArray[np.integer]) -> Offsets:
    """Where each begins if they lie one behind the other, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    lengths.cumsum(out=offsets[1:])
    return offsets


def lengths_of(offsets: Offsets) -> Longs:
    """How long each is, of offsets with an end; `np.diff` takes ten times as long for a few."""
    lengths: Longs = offsets[1:] - offsets[:-1]
    return lengths


def spread(starts: Offsets, chunks: Index) -> tuple[Index, Offsets]:
    """(events of the chunks in their order, the offsets of the chunks among them)."""
    lengths = lengths_of(starts)[chunks]
    offsets = offsets_of(lengths)
    index = np.arange(offsets[-1], dtype=np.int64)
    index += np.repeat(starts[chunks] - offsets[:-1], lengths)
    return index, offsets


def joined_orders(orders: Sequence[Order]) -> Order:
    """The places of the chunks of several streams, one behind the other."""
    depth = max(len(order.levels) for order in orders)
    moments = np.concatenate([order.moments for order in orders])
    levels = tuple(
        np.concatenate([level_of(order, level) for order in orders]) for level in range(depth)
    )
    return Order(moments, levels)
