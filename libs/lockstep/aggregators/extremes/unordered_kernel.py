"""Kernels of min and max where events leave in any order: a pairing heap for each group, linked by
place.

`child` is a node's first child, `after` its next sibling, `before` its sibling in front or, of a
first child, its parent; -1 for none. OUTSIDE stands in `before` for rows that are in no heap.
"""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel

OUTSIDE = -2


@kernel
def link(a: int, b: int, sign: int, child: Any, after: Any, before: Any, held: Any) -> int:
    """One heap of two (-1: none); gives its root."""
    if a == -1 or b == -1:
        return b if a == -1 else a
    if (held[b] < held[a]) if sign > 0 else (held[b] > held[a]):
        a, b = b, a
    first = child[a]
    after[b] = first
    if first != -1:
        before[first] = b
    before[b] = a
    child[a] = b
    return a


@kernel
def joined(first: int, sign: int, child: Any, after: Any, before: Any, held: Any) -> int:
    """One heap of siblings, in pairs and then from behind; gives its root."""
    pairs = -1
    while first != -1:
        other = after[first]
        rest = -1 if other == -1 else after[other]
        pair = link(first, other, sign, child, after, before, held)
        after[pair] = pairs
        pairs = pair
        first = rest
    root = -1
    while pairs != -1:
        rest = after[pairs]
        root = link(root, pairs, sign, child, after, before, held)
        pairs = rest
    if root != -1:
        after[root] = -1
        before[root] = -1
    return root


@kernel
def run_unordered_extremes(
    kind: Any,
    group: Any,
    place: Any,
    value: Any,
    valid: Any,
    sign: int,
    head: Any,
    child: Any,
    after: Any,
    before: Any,
    held: Any,
    out: Any,
    out_present: Any,
) -> None:
    """min and max (`sign` -1); `head` has the root of each group's heap, `held` the values."""
    for i in range(len(kind)):
        g, p = group[i], place[i]
        if kind[i] == 0:
            before[p] = OUTSIDE
            if valid[i] and value[i] == value[i]:
                held[p] = value[i]
                child[p], after[p], before[p] = -1, -1, -1
                head[g] = link(head[g], p, sign, child, after, before, held)
        elif kind[i] == 1 and before[p] != OUTSIDE:
            rest = joined(child[p], sign, child, after, before, held)
            if head[g] == p:
                head[g] = rest
            else:
                front, behind = before[p], after[p]
                if child[front] == p:
                    child[front] = behind
                else:
                    after[front] = behind
                if behind != -1:
                    before[behind] = front
                head[g] = link(head[g], rest, sign, child, after, before, held)
            before[p] = OUTSIDE
        out_present[i] = head[g] != -1
        if out_present[i]:
            out[i] = held[head[g]]
