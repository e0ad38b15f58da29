"""Kernel of sort(n, …): the n first in an order, per realm (semantics 7.10).

What leaves is the last one inside, so the rows of a realm are a pairing heap with that one as its
root: to enter and to leave costs by the logarithm of n. The order of the others is made when
somebody reads them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import kernel, part


class Rows(NamedTuple):
    """By place: the numbers that are compared, `width` for each place, the first ones first; the
    number of the arrival; the first row below this one, and the next one below the same row."""

    ranks: Any
    arrived: Any
    below: Any
    beside: Any
    width: int


@part
def stands_before(rows: Any, one: int, other: int) -> bool:
    """Whether a row stands in front of another one, and not beside it."""
    width = rows.width
    for i in range(width):
        left, right = rows.ranks[one * width + i], rows.ranks[other * width + i]
        if left != right:
            return bool(left < right)
    return False


@part
def joined(rows: Any, one: int, other: int) -> int:
    """The root of two heaps as one. Among equals the latest stands last."""
    if stands_before(rows, one, other) or (
        not stands_before(rows, other, one) and rows.arrived[one] < rows.arrived[other]
    ):
        one, other = other, one
    rows.beside[other] = rows.below[one]
    rows.below[one] = other
    return one


@part
def put(rows: Any, root: int, new: int) -> int:
    """The root of a heap (-1: none) with a row more."""
    rows.below[new] = -1
    return new if root == -1 else joined(rows, root, new)


@part
def without(rows: Any, root: int) -> int:
    """The root of a heap without the row that was its root; -1 when it was the only one."""
    waiting, pairs = rows.below[root], -1
    while waiting != -1:
        one, other = waiting, rows.beside[waiting]
        waiting = -1
        if other != -1:
            waiting = rows.beside[other]
            one = joined(rows, one, other)
        rows.beside[one] = pairs
        pairs = one
    root = -1
    while pairs != -1:
        one, pairs = pairs, rows.beside[pairs]
        root = one if root == -1 else joined(rows, root, one)
    return root


@kernel
def slide_by_order(
    starts: Any,
    now: Any,
    keys: Any,
    places: Any,
    length: int,
    rows: Any,
    ordered: Any,
    root: Any,
    count: Any,
) -> Any:
    """Each event enters; when there are more than n, the last one in order leaves behind it.
    `ordered`: whether that has happened in a realm."""
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
                root[key] = put(rows, root[key], new)
                count[key] += 1
                continue
            ordered[key] = True
            gone = new
            if length and stands_before(rows, new, root[key]):
                gone = root[key]
                root[key] = put(rows, without(rows, gone), new)
            kind[n], row[n], place[n], time[n] = 1, -1, gone, now[chunk]
            n += 1
    offsets[len(starts) - 1] = n
    return kind[:n], row[:n], place[:n], time[:n], offsets


@kernel
def heap_of(places: Any, rows: Any) -> int:
    """The root of a heap of some rows; -1 for none."""
    root = -1
    for i in range(len(places)):
        root = put(rows, root, places[i])
    return root


@kernel
def inside(root: int, count: int, below: Any, beside: Any) -> Any:
    """The places of a heap, in no order."""
    places = np.empty(count, np.int64)
    n = 0
    if root != -1:
        places[0], n = root, 1
    for i in range(count):
        p = below[places[i]]
        while p != -1:
            places[n] = p
            n += 1
            p = beside[p]
    return places
