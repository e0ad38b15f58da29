"""Kernel of sum and avg (see `accumulators` for what it takes)."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel

_SAFE = 1 << 62


@kernel
def run_totals(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    value: Any,
    valid: Any,
    whole: bool,
    total: Any,
    count: Any,
    out_total: Any,
    out_count: Any,
) -> bool:
    """Added and subtracted in order; False when a total of `whole` numbers might not fit any
    more."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            total[g] = 0
            count[g] = 0
        if valid[i]:
            if whole and (value[i] > _SAFE or value[i] < -_SAFE):
                return False
            if kind[i] == 0:
                count[g] += 1
                total[g] = total[g] + value[i] if count[g] else 0
            else:
                count[g] -= 1
                total[g] = total[g] - value[i] if count[g] else 0
            if whole and (total[g] > _SAFE or total[g] < -_SAFE):
                return False
        out_total[i] = total[g]
        out_count[i] = count[g]
    return True
