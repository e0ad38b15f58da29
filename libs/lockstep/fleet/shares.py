"""Which events of a stream are a unit's, and which of them are delivered together.

By key a partition gets the *runs* of its events in what was sent together: events that no event of
another partition stands between, as value partitions cut chunks into parts; or all events of one
key together, as `group by` has it (plan.fleet.Together).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.events.columns import ChunkLengths, EventColumns, Keyings, singles
from lockstep.fleet.keys import NO_GROUP, Groups, key_group_of
from lockstep.fleet.units import Unit
from lockstep.plan.fleet import Feed, Routing, Together
from lockstep.plan.fleet.contract import TAKES_TURNS_BY_ID

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Share:
    """The places of a unit's events in order of delivery, and where among these each delivery
    begins; None: each is a delivery of its own."""

    index: Longs
    starts: Longs | None

    @property
    def lengths(self) -> ChunkLengths:
        """Of the deliveries."""
        if self.starts is None:
            return singles(len(self.index))
        return np.diff(np.append(self.starts, len(self.index))).astype(np.int32)

    @property
    def firsts(self) -> Longs:
        """The place of the first event of each delivery."""
        return self.index if self.starts is None else self.index[self.starts]


class Shares(Protocol):
    """How a stream is cut for a unit."""

    @property
    def is_by_number(self) -> bool:
        """Whether it asks for the events' numbers."""

    def __call__(
        self, events: EventColumns, numbers: Longs | None, chunks: Longs | None
    ) -> Share | None:
        """A unit's share of (events, their numbers, the chunk of each; None: each is one of its
        own). None: all of them, as they were sent."""

    def has_none(self, keyings: Keyings) -> bool:
        """Whether none of a record's events is the unit's, as its index says."""


def shares_of(unit: Unit, feed: Feed) -> Shares | None:
    """How a stream is cut for a unit; None: it gets all of it."""
    count, partition = unit.group.partitions, unit.partition
    if feed.routing is Routing.KEY:
        is_plain = feed.together is Together.RUNS and feed.where is None
        return None if count == 1 and is_plain else _ByKey(unit, feed)
    if feed.routing is Routing.ALL or count == 1:
        return None

    by_id = unit.plan.fleet.rules >= TAKES_TURNS_BY_ID
    return _InTurns(partition, count, unit.key_groups if by_id else None)


@dataclass(frozen=True, slots=True)
class _InTurns:
    """By the number of an event. `ids`: one with an id goes by the key group of that, if it is
    among these: so it comes again to the unit that remembers it. None: its number counts, too."""

    partition: int
    count: int
    ids: range | None

    is_by_number: ClassVar = True

    def __call__(self, events: EventColumns, numbers: Longs | None, chunks: Longs | None) -> Share:
        assert numbers is not None
        is_own = numbers % self.count == self.partition
        if self.ids is not None and events.event_ids is not None:
            for place, one in enumerate(events.event_ids.to_pylist()):
                if one is not None:
                    is_own[place] = key_group_of(one) in self.ids
        index = np.flatnonzero(is_own)
        return Share(index, _runs(index, None, chunks))

    def has_none(self, keyings: Keyings) -> bool:
        return False


class _ByKey:
    is_by_number: ClassVar = False

    def __init__(self, unit: Unit, feed: Feed) -> None:
        self._groups = unit.plan.key_groups(feed)
        own = unit.key_groups
        self._first, self._count = np.uint8(own.start), len(own)
        self._by_runs = feed.together is Together.RUNS

    def __call__(
        self, events: EventColumns, numbers: Longs | None, chunks: Longs | None
    ) -> Share | None:
        groups = self._groups.of(events)
        index = np.flatnonzero(self._is_own(groups))
        if (self._by_runs or chunks is None) and len(index) == len(groups):
            return None
        if chunks is None:
            return Share(index, None)
        if not self._by_runs:
            return _by_keys(index, self._groups.codes(events, index), chunks)
        keyless = groups == NO_GROUP
        return Share(index, _runs(index, keyless if keyless.any() else None, chunks))

    def _is_own(self, groups: Groups) -> Mask:
        # What is below the first wraps around: one look instead of two.
        found: Mask = groups - self._first < self._count
        return found

    def has_none(self, keyings: Keyings) -> bool:
        groups = self._groups.found_in(keyings)
        return groups is not None and not self._is_own(groups).any()


def _runs(index: Longs, keyless: Mask | None, chunks: Longs | None) -> Longs | None:
    """Where among the events at `index` runs begin."""
    if chunks is None:
        return None
    rank = index if keyless is None else np.cumsum(~keyless)[index]
    begins = np.ones(len(index), np.bool_)
    begins[1:] = (np.diff(rank) != 1) | (np.diff(chunks[index]) != 0)
    return np.flatnonzero(begins)


def _by_keys(index: Longs, codes: Longs, chunks: Longs) -> Share:
    """The events at `index` chunk by chunk by key, in order of the first of each."""
    if not len(index):
        return Share(index, index)
    together = chunks[index] * (int(codes.max()) + 2) + codes
    _, firsts, inverse = np.unique(together, return_index=True, return_inverse=True)
    rank = firsts[inverse]
    order = np.argsort(rank, kind="stable")
    starts = np.flatnonzero(np.diff(rank[order], prepend=-1))
    return Share(index[order], starts)
