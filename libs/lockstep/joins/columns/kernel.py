"""Who is inside the two windows of an equi-join, chained by arrival and by key, for kernels
(semantics 9)."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import kernel, lent

NONE, LENGTH, TIME, EXTERNAL = 0, 1, 2, 3


class Sides(NamedTuple):
    """By side: the kind of its window, its length, whether its events look for rows; and what the
    window goes by, by place too."""

    windows: Any
    lengths: Any
    triggers: Any
    times: Any


class Chains(NamedTuple):
    """Who is inside, by side: first place, last place and count; who is next of all, who of the
    same key, and the key, by place; the first and last place by key."""

    ends: Any
    newer: Any
    same: Any
    keys: Any
    heads: Any
    tails: Any


class Events(NamedTuple):
    """What comes: its side, key, place, the clock, what externalTime goes by, its timestamp, how
    many moves of the clock stand in front of it, and its step and how many pairs that may bring."""

    side_of: Any
    key: Any
    place: Any
    now: Any
    value: Any
    stamp: Any
    moved: Any
    step: Any
    most: Any


@lent
def drop_oldest(side: int, chains: Chains) -> int:
    """Takes the oldest row of a side out; gives its place."""
    ends, newer, same, keys, heads, tails = chains
    p = ends[side, 0]
    ends[side, 0] = newer[side, p]
    if ends[side, 0] == -1:
        ends[side, 1] = -1
    ends[side, 2] -= 1
    k = keys[side, p]
    if k >= 0:
        heads[side, k] = same[side, p]
        if heads[side, k] == -1:
            tails[side, k] = -1
    return int(p)


@lent
def take_in(side: int, p: int, k: int, chains: Chains) -> None:
    """A row enters its side's window."""
    ends, newer, same, keys, heads, tails = chains
    newer[side, p] = -1
    same[side, p] = -1
    keys[side, p] = k
    if ends[side, 1] == -1:
        ends[side, 0] = p
    else:
        newer[side, ends[side, 1]] = p
    ends[side, 1] = p
    ends[side, 2] += 1
    if k >= 0:
        if tails[side, k] == -1:
            heads[side, k] = p
        else:
            same[side, tails[side, k]] = p
        tails[side, k] = p


@kernel
def take_in_all(side: int, places: Any, keys: Any, chains: Chains) -> None:
    """Rows enter, and nobody leaves."""
    for i in range(len(places)):
        take_in(side, places[i], keys[i], chains)
