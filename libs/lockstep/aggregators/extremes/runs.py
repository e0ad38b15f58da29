"""How often each number occurs in each group, as snapshots have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lockstep.columns.column import Array, Longs
from lockstep.columns.keys import Ids
from lockstep.operators.packed import SMALL_ROWS, PackedPairs

_LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True, eq=False)
class Runs:
    """Numbers that differ, with their groups and how often they occur: by group, and in each one
    ascending when they are multiplied by the sign."""

    numbers: Array
    group: Ids
    counts: Longs
    sign: int

    @classmethod
    def of(cls, values: Array, group: Ids, sign: int) -> Runs:
        """Of values without nulls and NaN."""
        values, group = _by_group(values, group, sign)
        begins = np.ones(len(values), np.bool_)
        begins[1:] = values[1:] != values[:-1]
        if len(group) and group[0] != group[-1]:
            begins[1:] |= group[1:] != group[:-1]
        firsts = np.flatnonzero(begins)
        counts = np.diff(firsts, append=len(values)).astype(np.int64)
        return cls(values[firsts], group[firsts], counts, sign)

    def pairs(self, groups: Ids) -> list[Any]:
        """[(number times sign, count)] for each of some groups, packed where there are many."""
        signed = self.numbers if self.sign > 0 else -self.numbers
        starts = np.searchsorted(self.group, groups, "left")
        sizes = np.searchsorted(self.group, groups, "right") - starts
        columns = pa.array(signed), pa.array(self.counts)
        # What is small is written one by one, so it is made of lists and not of Arrow's slices.
        few = np.where(sizes <= SMALL_ROWS, sizes, 0)
        ends = np.cumsum(few)
        runs = np.arange(few.sum()) + np.repeat(starts - ends + few, few)
        listed = list(zip(signed[runs].tolist(), self.counts[runs].tolist(), strict=True))
        spans = zip(starts.tolist(), sizes.tolist(), ends.tolist(), strict=True)
        pairs = [
            listed[end - size : end]
            if size <= SMALL_ROWS
            else PackedPairs.of(*(column.slice(start, size) for column in columns))
            for start, size, end in spans
        ]
        return self._with_the_least(groups, pairs)

    def _with_the_least(self, groups: Ids, pairs: list[Any]) -> list[Any]:
        """Without its sign the least long has no place in a column; few states have it."""
        if self.sign > 0 or self.numbers.dtype.kind == "f":
            return pairs
        for group in self.group[self.numbers == _LEAST].tolist():
            own = self.group == group
            told = zip(self.numbers[own].tolist(), self.counts[own].tolist(), strict=True)
            exact = [(-value, count) for value, count in told]
            for place in np.flatnonzero(groups == group).tolist():
                pairs[place] = exact
        return pairs


def _by_group(values: Array, group: Ids, sign: int) -> tuple[Array, Ids]:
    """Both by group, and in each one by the value times the sign."""
    keys = values
    if sign < 0:
        keys = -values if values.dtype.kind == "f" else ~values
    if not len(group) or (group == group[0]).all():
        keys = np.sort(keys)  # several times as quick as to sort by two keys
        return (keys if sign > 0 else -keys if values.dtype.kind == "f" else ~keys), group
    order = np.argsort(keys)
    # NumPy sorts sixteen bits by counting: a fifth of the time that a state stands still for.
    for shift in range(0, int(group.max()).bit_length(), 16):
        digits = (group[order] >> shift).astype(np.uint16)
        order = order[np.argsort(digits, kind="stable")]
    return values[order], group[order]
