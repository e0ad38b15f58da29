"""Kernels of stdDev (see `accumulators` for what all of them take)."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel

_SAFE = 1 << 62


@kernel
def run_float_deviations(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    value: Any,
    valid: Any,
    count: Any,
    mean: Any,
    spread: Any,
    out_spread: Any,
    out_count: Any,
) -> None:
    """stdDev(x) of floating values by Welford's update; out: spread and count."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            count[g] = 0
            mean[g] = 0.0
            spread[g] = 0.0
        if valid[i]:
            count[g] += 1 if kind[i] == 0 else -1
            distance = value[i] - mean[g]
            if count[g] == 0:
                mean[g] = 0.0
                spread[g] = 0.0
            elif kind[i] == 0:
                mean[g] += distance / count[g]
                spread[g] += distance * (value[i] - mean[g])
            else:
                mean[g] -= distance / count[g]
                spread[g] -= distance * (value[i] - mean[g])
                if spread[g] < 0 or count[g] == 1:
                    spread[g] = 0.0
        out_spread[i] = spread[g]
        out_count[i] = count[g]


@kernel
def run_integer_deviations(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    value: Any,
    valid: Any,
    count: Any,
    total: Any,
    squares: Any,
    out_count: Any,
    out_total: Any,
    out_squares: Any,
) -> bool:
    """stdDev(x) of whole numbers: exact sums; False when one might not fit any more."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            count[g] = 0
            total[g] = 0
            squares[g] = 0
        if valid[i]:
            x = value[i]
            if x > 2000000000 or x < -2000000000:
                return False
            sign = 1 if kind[i] == 0 else -1
            count[g] += sign
            total[g] += sign * x
            squares[g] += sign * x * x
            if squares[g] > _SAFE:
                return False
        out_count[i] = count[g]
        out_total[i] = total[g]
        out_squares[i] = squares[g]
    return True
