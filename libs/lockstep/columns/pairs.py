"""Pairs of events (or of an event and a row), as a selector takes them (semantics 9).

Each triggering event is a chunk for the selector, but what one step triggers leaves together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Index, Mask
from lockstep.columns.frame import Rows
from lockstep.columns.played import Played


@dataclass(frozen=True, eq=False)
class Side:
    """One slot of the pairs: its columns, and its index, negative where the slot is empty."""

    find: Callable[[int], Column]
    index: Index

    @classmethod
    def of_chunks(cls, chunks: Chunks, index: Index) -> Side:
        """Events of a slice."""
        if len(index) == len(chunks):
            return cls(lambda attribute: chunks.columns[attribute], index)
        return cls(lambda attribute: chunks.columns[attribute].take(index), index)

    def absent(self) -> Mask | None:
        """Where the slot is empty."""
        gone = self.index < 0
        return gone if gone.any() else None


@dataclass(frozen=True, eq=False)
class PairFlow:
    """Current pairs. `trigger` is the event of `source` that brought each pair, ascending."""

    sides: tuple[Side, Side]
    source: Chunks | Played
    trigger: Index

    def __len__(self) -> int:
        return len(self.trigger)

    def frame(self) -> Rows:
        """The pairs as a frame of shape JOINED."""
        source = self.source
        whole = len(self.trigger) == len(source) and bool(
            (self.trigger == np.arange(len(source))).all()
        )

        def times() -> Index:
            return source.times if whole else source.times[self.trigger]

        return Rows(
            len(self),
            lambda slot, attribute: self.sides[slot].find(attribute),
            times,
            lambda: source.per_event(source.now)[self.trigger],
            lambda slot: self.sides[slot].absent(),
        )

    def keep(self, mask: Mask) -> PairFlow:
        """The pairs where the mask is true."""
        return self.take(np.flatnonzero(mask))

    def take(self, kept: Index) -> PairFlow:
        """Some of the pairs; their triggers must ascend."""
        left, right = (_kept(side, kept) for side in self.sides)
        return PairFlow((left, right), self.source, self.trigger[kept])


def _kept(side: Side, kept: Index) -> Side:
    return Side(lambda attribute: side.find(attribute).take(kept), side.index[kept])


def beside(chunks: Chunks, slot: int) -> Rows:
    """The events in their slot of a pair whose other slot nobody reads."""

    def find(wanted: int, attribute: int) -> Column:
        assert wanted == slot
        return chunks.columns[attribute]

    rows = chunks.rows()
    return Rows(len(chunks), find, rows.times, rows.now)
