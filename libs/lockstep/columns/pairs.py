"""Pairs of events (or of an event and a row), as a selector takes them (semantics 9).

Each triggering event is a chunk for the selector, but what one step triggers leaves together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Index, Mask
from lockstep.columns.flow import CURRENT, EXPIRED, RESET
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
        if len(index) == len(chunks) and (index == np.arange(len(index))).all():
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


@dataclass(frozen=True, eq=False)
class Changes:
    """Pairs that come, go (if somebody wants to see that) and are forgotten, for each event of a
    side without a window: kind, event, what it meets (-1: nothing), and a number that those share
    which one of its kinds brings."""

    kind: Index
    event: Index
    met: Index
    trigger: Index

    @classmethod
    def of(cls, events: Index, met: Index, count: int, *, leave: bool) -> Changes:
        """Those of pairs of `count` events, which ascend; a RESET follows each event."""
        kinds = (CURRENT, EXPIRED) if leave else (CURRENT,)
        alone, width = np.arange(count, dtype=np.int64), len(kinds) + 1
        each = [events * width + i for i in range(len(kinds))]
        trigger = np.concatenate([*each, alone * width + len(kinds)])
        arranged = np.argsort(trigger, kind="stable")
        none = np.full(count, -1, np.int64)
        every = np.concatenate([*[met] * len(kinds), none])[arranged]
        event, step = np.divmod(trigger[arranged], width)
        kind = np.array([*kinds, RESET], np.int64)[step]
        return cls(kind, event, every, trigger[arranged])

    def times(self, chunks: Chunks) -> Index:
        """The timestamp of each: what goes does so now."""
        now = chunks.per_event(chunks.now)
        found: Index = np.where(self.kind == CURRENT, chunks.times[self.event], now[self.event])
        return found


def beside(chunks: Chunks, slot: int) -> Rows:
    """The events in their slot of a pair whose other slot nobody reads."""

    def find(wanted: int, attribute: int) -> Column:
        assert wanted == slot
        return chunks.columns[attribute]

    rows = chunks.rows()
    return Rows(len(chunks), find, rows.times, rows.now)
