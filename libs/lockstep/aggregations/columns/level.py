"""The buckets of one granularity: a slot for each bucket and group, in order of appearance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.aggregations.columns import kernel as buckets
from lockstep.aggregations.columns.arguments import Argument
from lockstep.aggregations.columns.bases import NO_LONGS, Feed, Longs
from lockstep.aggregations.columns.pair_ids import PairIds
from lockstep.aggregations.columns.slot_index import SlotIndex
from lockstep.aggregations.meaning.buckets import by_group
from lockstep.aggregations.meaning.calendar import Bucketing
from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Unfit

LEAST_MS = -(2**62)
"""Times before this have no columnar form."""

NEVER = np.iinfo(np.int64).max
"""The purge of slots that none has dropped."""


class Cells:
    """Events by the finest span of time that all granularities are made of (`unit_ms`) and by
    group: `cell` per event; `unit` (where it starts) and `group` per cell."""

    def __init__(self, times: Longs, groups: Longs, unit_ms: int) -> None:
        pairs = PairIds()
        self.cell = pairs.claim(times - times % unit_ms, groups)
        self.unit = pairs.first[: len(pairs)]
        self.group = pairs.second[: len(pairs)]


class Level:
    """One granularity. A slot's bucket and group are `pairs.first` and `pairs.second`; `gone_at`
    tells by which purge of the slice it was dropped."""

    def __init__(self, bucketing: Bucketing, arguments: Sequence[Argument]) -> None:
        self._bucketing = bucketing
        self.pairs = PairIds()
        self.bases = [argument.new() for argument in arguments]
        self._times = NO_LONGS
        self.gone_at = NO_LONGS
        self._index = SlotIndex()
        self._known = 0
        self._trace = NO_LONGS
        self._events = 0

    def __len__(self) -> int:
        return len(self.pairs)

    # --- folding ---------------------------------------------------------------------------------

    def claim(self, cells: Cells) -> Longs:
        """The slots of events."""
        slot_of = self.pairs.claim(self._bucket_starts(cells.unit), cells.group)
        return slot_of[cells.cell]

    def fold(
        self, slots: Longs, times: Longs, arguments: Sequence[Any], *, traced: bool = False
    ) -> None:
        """Takes the events of a slice in, in the order of arrival. `traced`: `bases` can be asked
        what was in front of each event, until the slice is settled."""
        self._reserve()
        if traced:
            self._events = len(slots) + 1
            self._trace = np.sort(slots * self._events + np.arange(len(slots)))
        winner = np.full(len(self.pairs), -1, np.int64)
        before = np.empty(len(slots) if traced else 0, np.int64)
        buckets.latest(slots, times, self._times, winner, before)
        won = np.flatnonzero(winner >= 0)
        feed = Feed(slots, won, winner[won], before)
        for base, argument in zip(self.bases, arguments, strict=True):
            base.fold(feed, argument)

    def _reserve(self) -> None:
        count = len(self.pairs)
        self._times = grown(self._times, count, LEAST_MS)
        self.gone_at = grown(self.gone_at, count, NEVER)
        for base in self.bases:
            base.reserve(count)

    def _bucket_starts(self, units: Longs) -> Longs:
        """The starts of the buckets that hold spans of time. Unfit for times without calendar."""
        fixed_ms = self._bucketing.fixed_ms
        if fixed_ms is not None:
            return units - units % fixed_ms
        uniques, index = np.unique(units, return_inverse=True)
        try:
            starts = [self._bucketing.start(unit) for unit in uniques.tolist()]
        except (ValueError, OverflowError, OSError) as error:
            raise Unfit(f"a time that no calendar has: {error}") from error
        return np.array(starts, np.int64)[index]

    def purge(self, before_ms: Longs, number: int) -> None:
        """Drops the buckets that start before these times, which ascend: each by the first purge of
        the slice that finds it too old, where `number` is that of the first time."""
        self._reserve()
        count = len(self.pairs)
        starts, gone_at = self.pairs.first[:count], self.gone_at[:count]
        gone = (starts < before_ms[-1]) & (gone_at == NEVER)
        if gone.any():
            gone_at[gone] = number + np.searchsorted(before_ms, starts[gone], side="right")
            self.pairs.forget(gone_at != NEVER)

    def settle(self) -> None:
        """The slice is done: what was dropped is forgotten, and what was in front of events."""
        for base in self.bases:
            base.settle()
        self._trace = NO_LONGS
        self._forget()
        self._known = len(self.pairs)

    def _forget(self) -> None:
        count = len(self.pairs)
        stays = self.gone_at[:count] == NEVER
        if stays.all():
            return
        kept = np.flatnonzero(stays)
        self.pairs.keep(kept)
        times, self._times = self._times, np.full(len(self._times), LEAST_MS, np.int64)
        self._times[: len(kept)] = times[kept]
        self.gone_at = np.full(len(self.gone_at), NEVER, np.int64)
        self._index = SlotIndex()
        for base in self.bases:
            base.keep(kept)

    def rename_groups(self, moved: Longs) -> None:
        """Groups have new numbers."""
        self.pairs.rename_second(moved)
        self._index = SlotIndex()

    # --- reading ---------------------------------------------------------------------------------

    def find(
        self, start_ms: Longs, end_ms: Longs, groups: Longs | None, events: Longs, purges: Longs
    ) -> tuple[Longs, Longs, Longs]:
        """(request, slot, event) of every bucket of a group that a request finds, see
        SlotIndex.find: what the slot held in front of the event (-1: holds now).

        `events` and `purges` tell how many of this slice's stand in front of each request.
        """
        request, slot = self._index.find(self.pairs, start_ms, end_ms, groups)
        seen = self.gone_at[slot] >= purges[request]
        event = np.full(len(slot), -1, np.int64)
        if len(self._trace):
            trace, count = self._trace, self._events
            place = np.searchsorted(trace, slot * count + events[request])
            behind = trace[np.minimum(place, len(trace) - 1)]
            event = np.where((place < len(trace)) & (behind // count == slot), behind % count, -1)
            was_there = (place > 0) & (trace[np.maximum(place, 1) - 1] // count == slot)
            seen &= was_there | (slot < self._known)
        return request[seen], slot[seen], event[seen]

    def starts(self, slots: Longs) -> Longs:
        """Where the buckets of slots start."""
        return self.pairs.first[slots]

    # --- state -----------------------------------------------------------------------------------

    def store(self, groups: Sequence[Any], slots: Longs | None = None) -> Any:
        """(start, [(group, base values)]) in order of time, as the reference's buckets have it; of
        some slots, which ascend, or of all."""
        if slots is None:
            slots = np.arange(len(self.pairs), dtype=np.int64)
        count = len(slots)
        if not count:
            return []
        slots = slots[np.argsort(self.pairs.first[slots], kind="stable")]
        starts = self.pairs.first[slots]
        columns = [self._times[slots].tolist(), *(base.store(slots) for base in self.bases)]
        named = [groups[group] for group in self.pairs.second[slots].tolist()]
        rows = list(zip(named, map(list, zip(*columns, strict=True)), strict=True))
        firsts = np.flatnonzero(np.diff(starts, prepend=starts[:1] - 1)).tolist()
        ends = [*firsts[1:], count]
        begins = starts[firsts].tolist()
        return [
            (start, rows[first:end]) for start, first, end in zip(begins, firsts, ends, strict=True)
        ]

    def load(self, saved: Any, group_id: Callable[[Any], int]) -> None:
        """Takes over what `store` gave; `group_id` numbers the groups."""
        found = [(start, by_group(groups)) for start, groups in saved]
        starts = [start for start, groups in found for _ in groups]
        rows = [row for _, groups in found for row in groups.items()]
        self.pairs.claim(starts, [group_id(group) for group, _ in rows])
        if len(self.pairs) != sum(len(groups) for _, groups in saved):
            raise ValueError("a bucket has a group twice")
        self._reserve()
        self._known = len(rows)
        self._times[: len(rows)] = [state[0] for _, state in rows]
        for place, base in enumerate(self.bases, start=1):
            base.load([state[place] for _, state in rows])
