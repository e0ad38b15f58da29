"""The kernel of equi-joins of two windows: who is inside on each side, and whom an event meets
(semantics 9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel

NONE, LENGTH, TIME, EXTERNAL = 0, 1, 2, 3


@kernel
def drop_oldest(
    side: int, ends: Any, newer: Any, same: Any, keys: Any, heads: Any, tails: Any
) -> int:
    """Takes the oldest row of a side out; gives its place. `ends`: head, tail and count by side."""
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


@kernel
def drop_until(
    side: int,
    limit: int,
    times: Any,
    ends: Any,
    newer: Any,
    same: Any,
    keys: Any,
    heads: Any,
    tails: Any,
    left_side: Any,
    left_place: Any,
    gone: int,
) -> int:
    """Takes out what is not younger than `limit`; gives how many have left by now."""
    while ends[side, 0] != -1 and times[side, ends[side, 0]] <= limit:
        left_side[gone] = side
        left_place[gone] = drop_oldest(side, ends, newer, same, keys, heads, tails)
        gone += 1
    return gone


@kernel
def take_in(
    side: int, p: int, k: int, ends: Any, newer: Any, same: Any, keys: Any, heads: Any, tails: Any
) -> None:
    """A row enters its side's window."""
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
def join_windows(
    side_of: Any,
    key: Any,
    place: Any,
    now: Any,
    value: Any,
    moved: Any,
    move_clock: Any,
    applied: Any,
    windows: Any,
    lengths: Any,
    triggers: Any,
    times: Any,
    ends: Any,
    newer: Any,
    same: Any,
    keys: Any,
    heads: Any,
    tails: Any,
    room: int,
) -> Any:
    """(triggering event, place of the row it meets) of every pair, and (side, place) of what left.

    `moved` tells how many moves of the clock stand in front of each event: timers fire there, on
    both sides. `times` are what the windows go by, by side and place; `value` that of each event.
    """
    trigger, met = np.empty(1024, np.int64), np.empty(1024, np.int64)
    left_side, left_place = np.empty(room, np.int8), np.empty(room, np.int64)
    found = 0
    gone = 0
    for e in range(len(side_of)):
        own, k = side_of[e], key[e]
        for side in range(2):
            if windows[side] == 2 and moved[e] > applied[side]:
                gone = drop_until(
                    side,
                    move_clock[moved[e] - 1] - lengths[side],
                    times,
                    ends,
                    newer,
                    same,
                    keys,
                    heads,
                    tails,
                    left_side,
                    left_place,
                    gone,
                )
                applied[side] = moved[e]
        if windows[own] == 1 and ends[own, 2] >= lengths[own]:
            left_side[gone] = own
            left_place[gone] = drop_oldest(own, ends, newer, same, keys, heads, tails)
            gone += 1
        elif windows[own] >= 2:
            limit = (now[e] if windows[own] == 2 else value[e]) - lengths[own]
            gone = drop_until(
                own,
                limit,
                times,
                ends,
                newer,
                same,
                keys,
                heads,
                tails,
                left_side,
                left_place,
                gone,
            )
        if windows[own] != 0:
            take_in(own, place[e], k, ends, newer, same, keys, heads, tails)
        if triggers[own] and k >= 0:
            q = heads[1 - own, k]
            while q != -1:
                if found == len(trigger):
                    trigger = np.append(trigger, np.empty(found, np.int64))
                    met = np.append(met, np.empty(found, np.int64))
                trigger[found] = e
                met[found] = q
                found += 1
                q = same[1 - own, q]
    return trigger[:found], met[:found], left_side[:gone], left_place[:gone]
