"""The buckets of one granularity: a slot for each bucket and group, in order of appearance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.execute.columnar.accumulators import grown
from lockstep.execute.columnar.aggregations.bases import NO_LONGS, Argument, Feed, Longs
from lockstep.execute.columnar.aggregations.pair_ids import PairIds
from lockstep.execute.columnar.column import Unfit
from lockstep.execute.columnar.kernels import buckets
from lockstep.operators.aggregations.calendar import Bucketing

LEAST_MS = -(2**62)
"""Times before this have no columnar form."""


class Cells:
    """The events of a part of a slice by the finest span of time that all granularities are made
    of (`unit_ms`) and by group: `cell` per event; `unit` (where it starts) and `group` per cell."""

    def __init__(self, times: Longs, groups: Longs, unit_ms: int) -> None:
        pairs = PairIds()
        self.cell = pairs.claim(times - times % unit_ms, groups)
        self.unit = pairs.first[: len(pairs)]
        self.group = pairs.second[: len(pairs)]
        self.times = times

    def __len__(self) -> int:
        return len(self.unit)


class Level:
    """One granularity. A slot's bucket and group are `pairs.first` and `pairs.second`."""

    def __init__(self, bucketing: Bucketing, arguments: Sequence[Argument]) -> None:
        self._bucketing = bucketing
        self.pairs = PairIds()
        self.bases = [argument.new() for argument in arguments]
        self._times = NO_LONGS
        self._is_gone = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        return len(self.pairs)

    def fold(self, cells: Cells, arguments: Sequence[Any]) -> None:
        """Takes events in, in the order of arrival."""
        slot_of = self.pairs.claim(self._starts(cells.unit), cells.group)
        self._reserve()
        winner = np.full(len(self.pairs), -1, np.int64)
        buckets.latest(cells.cell, slot_of, cells.times, self._times, winner, NO_LONGS)
        won = np.unique(slot_of)
        won = won[winner[won] >= 0]
        feed = Feed(cells.cell, slot_of, (won, winner[won]))
        for base, argument in zip(self.bases, arguments, strict=True):
            base.fold(feed, argument)

    def _reserve(self) -> None:
        count = len(self.pairs)
        self._times = grown(self._times, count, LEAST_MS)
        self._is_gone = grown(self._is_gone, count)
        for base in self.bases:
            base.reserve(count)

    def _starts(self, units: Longs) -> Longs:
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

    def purge(self, before_ms: int) -> None:
        """Drops the buckets that start earlier."""
        count = len(self.pairs)
        gone = self.pairs.first[:count] < before_ms
        if (gone & ~self._is_gone[:count]).any():
            self._is_gone[:count] |= gone
            self.pairs.forget(self._is_gone[:count])

    def settle(self) -> None:
        """What was dropped is forgotten."""
        count = len(self.pairs)
        if not self._is_gone[:count].any():
            return
        kept = np.flatnonzero(~self._is_gone[:count])
        self.pairs.keep(kept)
        times, self._times = self._times, np.full(len(self._times), LEAST_MS, np.int64)
        self._times[: len(kept)] = times[kept]
        self._is_gone = np.zeros(len(self._is_gone), np.bool_)
        for base in self.bases:
            base.keep(kept)

    # --- state -----------------------------------------------------------------------------------

    def store(self, groups: Sequence[Any]) -> Any:
        """(start, [(group, base values)]) in order of time, as the reference's buckets have it."""
        count = len(self.pairs)
        if not count:
            return []
        slots = np.argsort(self.pairs.first[:count], kind="stable")
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

    def load(self, saved: Any, group_id: Any) -> None:
        """Takes over what `store` gave; `group_id` numbers the groups."""
        starts = [start for start, groups in saved for _ in groups]
        rows = [row for _, groups in saved for row in groups]
        self.pairs.claim(starts, [group_id(tuple(group)) for group, _ in rows])
        if len(self.pairs) != len(rows):
            raise ValueError("a bucket has a group twice")
        self._reserve()
        self._times[: len(rows)] = [state[0] for _, state in rows]
        for place, base in enumerate(self.bases, start=1):
            base.load([state[place] for _, state in rows])
