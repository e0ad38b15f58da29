"""The kernel of joins over the flows of two windows: what a side finds inside the other one follows
from what that one let in and out (semantics 9)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import kernel

CURRENT, EXPIRED, RESET, TIMER = 0, 1, 3, 2
OBSERVES, TRIGGERS = 1, 2


class Chunks(NamedTuple):
    """In the order of the run: side, first event and the one behind the last, role (OBSERVES,
    TRIGGERS), how many pairs it may bring, and whether those of the chunk before count too."""

    side: Any
    first: Any
    end: Any
    role: Any
    most: Any
    goes_on: Any


class Inside(NamedTuple):
    """Who is inside, by side: the first and last place of each key, and who is next by place.
    `known`: what leaves says where its row is."""

    heads: Any
    tails: Any
    newer: Any
    known: Any


@kernel
def observe(
    side: int, first: int, end: int, kind: Any, key: Any, place: Any, inside: Inside
) -> None:
    """A side learns what came into its window and what left, which gets to know its place."""
    heads, tails, newer, known = inside
    knows = known[side]
    for e in range(first, end):
        k = key[e]
        if k == 0 and knows:
            continue
        if kind[e] == CURRENT:
            p = place[e]
            newer[side, p] = -1
            if heads[side, k] == -1:
                heads[side, k] = p
            else:
                newer[side, tails[side, k]] = p
            tails[side, k] = p
        elif kind[e] == EXPIRED:
            p = heads[side, k]
            place[e] = p
            if p != -1:
                heads[side, k] = newer[side, p]


@kernel
def join_flows(chunks: Chunks, kind: Any, key: Any, place: Any, inside: Inside) -> Any:
    """(event and chunk of each trigger; trigger and place of the row that it meets of each pair, -1
    for a RESET; whether there are more pairs than there may be).

    The key 0 stands for values that are equal to nothing.
    """
    heads, newer = inside.heads, inside.newer
    triggers, pairs = np.empty((1024, 2), np.int64), np.empty((1024, 2), np.int64)
    t, n, may = 0, 0, 0
    for c in range(len(chunks.side)):
        side = chunks.side[c]
        if not chunks.goes_on[c]:
            may = chunks.most[c]
        if chunks.role[c] & OBSERVES:
            observe(side, chunks.first[c], chunks.end[c], kind, key, place, inside)
        if not chunks.role[c] & TRIGGERS:
            continue
        for e in range(chunks.first[c], chunks.end[c]):
            if kind[e] == TIMER:
                continue
            if t == len(triggers):
                triggers = np.concatenate((triggers, np.empty_like(triggers)))
            triggers[t, 0], triggers[t, 1] = e, c
            q = heads[1 - side, key[e]] if kind[e] != RESET and key[e] > 0 else -1
            while q != -1 or kind[e] == RESET:
                if n == len(pairs):
                    pairs = np.concatenate((pairs, np.empty_like(pairs)))
                pairs[n, 0], pairs[n, 1] = t, q
                n += 1
                if kind[e] == RESET:
                    break
                may -= 1
                if may < 0:
                    return triggers[:0], pairs[:0], True
                q = newer[1 - side, q]
            t += 1
    return triggers[:t], pairs[:n], False
