"""Kernel of sort(n, …): the n first in an order, per realm (semantics 7.10).

Rows are chained as sliding_kernel has them, in order of arrival until a realm is full. From then on
they stand in their order, and `older` links them backwards. `ranks` are the numbers that are
compared, `width` for each place, the first ones first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel, part


@part
def stands_before(ranks: Any, width: int, one: int, other: int) -> bool:
    """Whether a row stands in front of another one, and not beside it."""
    for i in range(width):
        left, right = ranks[one * width + i], ranks[other * width + i]
        if left != right:
            return bool(left < right)
    return False


@part
def put(
    ranks: Any, width: int, new: int, key: int, head: Any, tail: Any, newer: Any, older: Any
) -> None:
    """Puts a row at its place in an ordered chain, behind its equals."""
    before = tail[key]
    while before != -1 and stands_before(ranks, width, new, before):
        before = older[before]
    older[new] = before
    if before == -1:
        newer[new] = head[key]
        head[key] = new
    else:
        newer[new] = newer[before]
        newer[before] = new
    if newer[new] == -1:
        tail[key] = new
    else:
        older[newer[new]] = new


@kernel
def slide_by_order(
    starts: Any,
    now: Any,
    keys: Any,
    places: Any,
    length: int,
    ranks: Any,
    width: int,
    ordered: Any,
    older: Any,
    head: Any,
    tail: Any,
    count: Any,
    newer: Any,
) -> Any:
    """Each event enters; when there are more than n, the last one in order leaves behind it."""
    events = len(places)
    kind, row = np.empty(2 * events, np.int8), np.empty(2 * events, np.int64)
    place, time = np.empty(2 * events, np.int64), np.empty(2 * events, np.int64)
    offsets = np.empty(len(starts), np.int64)
    n = 0
    for chunk in range(len(starts) - 1):
        offsets[chunk] = n
        key = keys[chunk]
        for i in range(starts[chunk], starts[chunk + 1]):
            new = places[i]
            kind[n], row[n], place[n] = 0, i, new
            n += 1
            if count[key] < length:
                newer[new] = -1
                if tail[key] == -1:
                    head[key] = new
                else:
                    newer[tail[key]] = new
                tail[key] = new
                count[key] += 1
                continue
            if length and not ordered[key]:
                ordered[key] = True
                waiting = head[key]
                head[key] = tail[key] = -1
                while waiting != -1:
                    following = newer[waiting]
                    put(ranks, width, waiting, key, head, tail, newer, older)
                    waiting = following
            gone = new
            if length and stands_before(ranks, width, new, tail[key]):
                gone = tail[key]
                put(ranks, width, new, key, head, tail, newer, older)
                tail[key] = older[gone]
                newer[tail[key]] = -1
            kind[n], row[n], place[n], time[n] = 1, -1, gone, now[chunk]
            n += 1
    offsets[len(starts) - 1] = n
    return kind[:n], row[:n], place[:n], time[:n], offsets
