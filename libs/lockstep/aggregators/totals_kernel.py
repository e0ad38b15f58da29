"""Kernels of the aggregators: running values at each event of a flow, in the reference's
arithmetic.

`kind` is 0 for an event that enters, 1 for one that leaves, 3 for the mark that empties all groups
of its realm (a partition instance). A group is emptied when it is next used: `epochs` count the
marks per realm, `emptied` tells which of them a group has seen.
"""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel

_SAFE = 1 << 62


@kernel
def run_counts(
    kind: Any, group: Any, realm: Any, epochs: Any, emptied: Any, count: Any, out: Any
) -> None:
    """count()."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            count[g] = 0
        count[g] += 1 if kind[i] == 0 else -1
        out[i] = count[g]


@kernel
def run_float_totals(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    value: Any,
    valid: Any,
    total: Any,
    count: Any,
    out_total: Any,
    out_count: Any,
) -> None:
    """sum(x) and avg(x) of floating values: added and subtracted in order."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            total[g] = 0.0
            count[g] = 0
        if valid[i]:
            if kind[i] == 0:
                total[g] += value[i]
                count[g] += 1
            else:
                count[g] -= 1
                total[g] = total[g] - value[i] if count[g] else 0.0
        out_total[i] = total[g]
        out_count[i] = count[g]


@kernel
def run_integer_totals(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    value: Any,
    valid: Any,
    total: Any,
    count: Any,
    out_total: Any,
    out_count: Any,
) -> bool:
    """sum(x) and avg(x) of whole numbers; False when a total might not fit any more."""
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
            if value[i] > _SAFE or value[i] < -_SAFE:
                return False
            if kind[i] == 0:
                total[g] += value[i]
                count[g] += 1
            else:
                count[g] -= 1
                total[g] = total[g] - value[i] if count[g] else 0
            if total[g] > _SAFE or total[g] < -_SAFE:
                return False
        out_total[i] = total[g]
        out_count[i] = count[g]
    return True


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
            if kind[i] == 0:
                count[g] += 1
                distance = value[i] - mean[g]
                mean[g] += distance / count[g]
                spread[g] += distance * (value[i] - mean[g])
            else:
                count[g] -= 1
                if count[g] == 0:
                    mean[g] = 0.0
                    spread[g] = 0.0
                else:
                    distance = value[i] - mean[g]
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


@kernel
def run_extremes(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    value: Any,
    valid: Any,
    sign: int,
    forever: bool,
    present: Any,
    best: Any,
    out: Any,
    out_present: Any,
) -> None:
    """min and max where nothing leaves but all at once (and for ever, where even that does not
    count); `sign` is -1 for the largest."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            if not forever:
                present[g] = False
        if valid[i]:
            x = value[i]
            if not present[g]:
                if forever or x == x:
                    present[g] = True
                    best[g] = x
            elif (x < best[g]) if sign > 0 else (x > best[g]):
                best[g] = x
        out[i] = best[g]
        out_present[i] = present[g]


@kernel
def run_sliding_extremes(
    kind: Any,
    group: Any,
    place: Any,
    value: Any,
    valid: Any,
    sign: int,
    head: Any,
    tail: Any,
    older: Any,
    newer: Any,
    held: Any,
    out: Any,
    out_present: Any,
) -> None:
    """min and max where events of a group leave in the order in which they came.

    Each group keeps the chain of events that may yet be the extreme: `head` and `tail` are their
    places (-1 for none), linked by `older` and `newer`, with their values in `held`.
    """
    for i in range(len(kind)):
        g = group[i]
        p = place[i]
        if valid[i] and value[i] == value[i]:
            x = value[i]
            if kind[i] == 0:
                last = tail[g]
                if sign > 0:
                    while last != -1 and held[last] > x:
                        last = older[last]
                else:
                    while last != -1 and held[last] < x:
                        last = older[last]
                held[p] = x
                older[p] = last
                newer[p] = -1
                tail[g] = p
                if last == -1:
                    head[g] = p
                else:
                    newer[last] = p
            elif head[g] == p:
                following = newer[p]
                head[g] = following
                if following == -1:
                    tail[g] = -1
                else:
                    older[following] = -1
        if head[g] == -1:
            out_present[i] = False
        else:
            out_present[i] = True
            out[i] = held[head[g]]


@kernel
def run_distinct(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    pair: Any,
    pair_emptied: Any,
    copies: Any,
    count: Any,
    out: Any,
) -> None:
    """distinctCount(x): `pair` numbers the combinations of group and value."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        q = pair[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            count[g] = 0
        if pair_emptied[q] != epoch:
            pair_emptied[q] = epoch
            copies[q] = 0
        if kind[i] == 0:
            copies[q] += 1
            if copies[q] == 1:
                count[g] += 1
        elif copies[q] > 0:
            copies[q] -= 1
            if copies[q] == 0:
                count[g] -= 1
        out[i] = count[g]
