"""Events of several streams in one order, as units with more than one input take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks, joined_orders, lengths_of, offsets_of, spread
from lockstep.columns.column import Longs
from lockstep.columns.merging import merged
from lockstep.columns.order import START, Order


@dataclass(frozen=True, eq=False)
class Played:
    """The events of a slice in order.

    Per event: its stream (a place in `streams`), its row there, its chunk and its timestamp; per
    chunk: order (of the receiver that gets it), clock and partition instance.
    """

    streams: Sequence[Chunks]
    stream: Longs
    row: Longs
    chunk_of: Longs
    times: Longs
    order: Order
    now: Longs
    keys: Longs | None

    def __len__(self) -> int:
        return len(self.row)

    @property
    def count(self) -> int:
        """How many chunks."""
        return len(self.order)

    def per_event(self, values: Longs) -> Longs:
        """Values per chunk as values per event."""
        return values if self.count == len(self) else values[self.chunk_of]

    def firsts(self) -> Longs:
        """The first event of each chunk."""
        return np.flatnonzero(np.append(True, np.diff(self.chunk_of) != 0)[: len(self)])

    def instances(self) -> Longs:
        """The partition instance of each event, 0 outside of partitions."""
        return np.zeros(len(self), np.int64) if self.keys is None else self.per_event(self.keys)

    def of(self, chunks: Chunks) -> Any:
        """(the events of one of the streams, their rows)."""
        if len(self.streams) == 1:
            return slice(None), self.row
        number = next(i for i, each in enumerate(self.streams) if each is chunks)
        events = np.flatnonzero(self.stream == number)
        return events, self.row[events]


def play(streams: Sequence[Chunks], place: int) -> Played:
    """The events of some streams in the order in which a receiver at `place` gets them."""
    if len(streams) == 1:
        (only,) = streams
        rows = np.arange(len(only), dtype=np.int64)
        zeros = np.zeros(len(only), np.int64)
        order = only.order.below(place)
        return Played(streams, zeros, rows, only.chunk_of, only.times, order, only.now, only.keys)
    orders = [chunks.order.below(place) for chunks in streams]
    arranged = merged(orders)
    starts = offsets_of(np.concatenate([lengths_of(c.starts) for c in streams]))
    index, offsets = spread(starts, arranged)
    stream = np.repeat(np.arange(len(streams)), [len(c) for c in streams])
    row = np.concatenate([np.arange(len(c), dtype=np.int64) for c in streams])
    keys = None
    if all(c.keys is not None for c in streams):
        keys = np.concatenate([c.keys for c in streams])[arranged]
    return Played(
        streams,
        stream[index],
        row[index],
        np.repeat(np.arange(len(arranged), dtype=np.int64), lengths_of(offsets)),
        np.concatenate([c.times for c in streams])[index],
        joined_orders(orders).take(arranged),
        np.concatenate([c.now for c in streams])[arranged],
        keys,
    )


def behind_start(inputs: Mapping[str, Chunks]) -> Mapping[str, Chunks]:
    """What came behind the app's start. A pattern begins to wait when all triggers have fired that
    fire at the start, so it sees nothing of what they bring."""
    if not any(len(each.order) and each.order.moments.min() == START for each in inputs.values()):
        return inputs
    return {
        name: each.keep(each.per_event(each.order.moments) != START)
        for name, each in inputs.items()
    }


def present(inputs: Mapping[str, Chunks], names: Sequence[str]) -> list[Chunks]:
    """The streams of those names that something came on."""
    return [inputs[name] for name in names if name in inputs]
