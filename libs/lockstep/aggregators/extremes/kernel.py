"""Kernels of min and max (see `accumulators` for what all of them take)."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel


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
