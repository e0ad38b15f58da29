"""Which slots hold the buckets of a span of time, of one group or of all, in the order of time."""

from __future__ import annotations

import numpy as np

from lockstep.aggregations.columns.bases import NO_LONGS, Longs
from lockstep.aggregations.columns.pair_ids import PairIds


class SlotIndex:
    """Slots in order, arranged anew when there are more."""

    def __init__(self) -> None:
        self._known = -1
        self._by_time = NO_LONGS
        self._times = NO_LONGS
        self._starts = NO_LONGS
        self._by_group: tuple[Longs, Longs] | None = None

    def find(
        self, pairs: PairIds, start_ms: Longs, end_ms: Longs, groups: Longs | None
    ) -> tuple[Longs, Longs]:
        """(request, slot) of every slot whose bucket starts in [start, end) of a request, and is of
        its group (None: of any; -1: of none): by request, then by time, then by appearance."""
        self._arrange(pairs)
        if groups is None:
            first, last = (np.searchsorted(self._times, each) for each in (start_ms, end_ms))
            return _spans(first, last, self._by_time)
        slots, keys = self._groups(pairs)
        size = len(self._starts) + 1
        ranks = (np.searchsorted(self._starts, each) for each in (start_ms, end_ms))
        first, last = (np.searchsorted(keys, groups * size + rank) for rank in ranks)
        return _spans(first, last, slots)

    def _arrange(self, pairs: PairIds) -> None:
        count = len(pairs)
        if count == self._known:
            return
        self._known, self._by_group = count, None
        # Slots come nearly in the order of time, which the sort takes advantage of.
        self._by_time = np.argsort(pairs.first[:count], kind="stable")
        self._times = pairs.first[self._by_time]
        self._starts = np.unique(self._times)

    def _groups(self, pairs: PairIds) -> tuple[Longs, Longs]:
        if self._by_group is None:
            size = len(self._starts) + 1
            rank = np.searchsorted(self._starts, pairs.first[: self._known])
            keys = pairs.second[: self._known] * size + rank
            slots = np.argsort(keys, kind="stable")
            self._by_group = slots, keys[slots]
        return self._by_group


def _spans(first: Longs, last: Longs, values: Longs) -> tuple[Longs, Longs]:
    """(which span, value) of everything in spans of some values."""
    lengths = np.maximum(last - first, 0)
    offsets = np.append(0, np.cumsum(lengths))
    index = np.arange(offsets[-1], dtype=np.int64) + np.repeat(first - offsets[:-1], lengths)
    return np.repeat(np.arange(len(first), dtype=np.int64), lengths), values[index]
