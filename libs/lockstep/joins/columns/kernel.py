"""The kernel of equi-joins of two windows: who is inside on each side, and whom an event meets
(semantics 9)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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
def drop_until(
    side: int, limit: int, times: Any, chains: Chains, left_side: Any, left_place: Any, gone: int
) -> int:
    """Takes out what is not younger than `limit`; gives how many have left by now."""
    ends = chains.ends
    while ends[side, 0] != -1 and times[side, ends[side, 0]] <= limit:
        left_side[gone] = side
        left_place[gone] = drop_oldest(side, chains)
        gone += 1
    return gone


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
def join_windows(events: Events, move_clock: Any, sides: Sides, chains: Chains, room: int) -> Any:
    """(triggering event, place of the row it meets) of every pair, (side, place) of what left, and
    whether a step brings more pairs than it may, which ends it all. Where moves of the clock stand
    in front of an event timers fire, on both sides."""
    side_of, keys, places, now, value, _, moved, step, most = events
    windows, lengths, triggers, times = sides
    ends, same, heads = chains.ends, chains.same, chains.heads
    applied = np.zeros(2, np.int64)
    trigger, met = np.empty(1024, np.int64), np.empty(1024, np.int64)
    left_side, left_place = np.empty(room, np.int8), np.empty(room, np.int64)
    found = 0
    gone = 0
    before = 0
    for e in range(len(side_of)):
        own, k = side_of[e], keys[e]
        if e > 0 and step[e] != step[e - 1]:
            before = found
        for side in range(2):
            if windows[side] == TIME and moved[e] > applied[side]:
                limit = move_clock[moved[e] - 1] - lengths[side]
                gone = drop_until(side, limit, times, chains, left_side, left_place, gone)
                applied[side] = moved[e]
        if windows[own] == LENGTH and ends[own, 2] >= lengths[own]:
            left_side[gone] = own
            left_place[gone] = drop_oldest(own, chains)
            gone += 1
        elif windows[own] == TIME or windows[own] == EXTERNAL:
            limit = (now[e] if windows[own] == TIME else value[e]) - lengths[own]
            gone = drop_until(own, limit, times, chains, left_side, left_place, gone)
        if windows[own] != NONE:
            take_in(own, places[e], k, chains)
        if triggers[own] and k >= 0:
            q = heads[1 - own, k]
            while q != -1:
                if found - before == most[e]:
                    return trigger[:0], met[:0], left_side[:0], left_place[:0], True
                if found == len(trigger):
                    trigger = np.append(trigger, np.empty(found, np.int64))
                    met = np.append(met, np.empty(found, np.int64))
                trigger[found] = e
                met[found] = q
                found += 1
                q = same[1 - own, q]
    return trigger[:found], met[:found], left_side[:gone], left_place[:gone], False
