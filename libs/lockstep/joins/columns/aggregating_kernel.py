"""The kernel of joins whose pairs also leave again, as aggregates need them (semantics 9)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import kernel
from lockstep.joins.columns.kernel import (
    EXTERNAL,
    LENGTH,
    NONE,
    TIME,
    Chains,
    Events,
    Sides,
    drop_oldest,
    take_in,
)

CURRENT, EXPIRED, RESET = 0, 1, 3


class Clock(NamedTuple):
    """Moves of the clock, where it stood before, whether it leaps, and how many pairs a timer may
    bring."""

    moves: Any
    before: int
    leaps: bool
    most: int


@kernel
def ask_with_number(due: int, side: int, waiting: Any, counts: Any) -> None:
    """Sets a side's timer, unless it waits for that time. `waiting`: due times and numbers by side,
    ascending; `counts`: how many by side, and the last number given."""
    at = counts[side]
    while at > 0 and waiting[side, at - 1, 0] >= due:
        if waiting[side, at - 1, 0] == due:
            return
        at -= 1
    for i in range(counts[side], at, -1):
        waiting[side, i, 0] = waiting[side, i - 1, 0]
        waiting[side, i, 1] = waiting[side, i - 1, 1]
    counts[2] += 1
    waiting[side, at, 0] = due
    waiting[side, at, 1] = counts[2]
    counts[side] += 1


@kernel
def next_side(until: int, waiting: Any, counts: Any) -> int:
    """The side whose timer fires next, -1 when none is due until then."""
    chosen = -1
    for side in range(2):
        if counts[side] == 0 or waiting[side, 0, 0] > until:
            continue
        if chosen == -1 or (waiting[side, 0, 0], waiting[side, 0, 1]) < (
            waiting[chosen, 0, 0],
            waiting[chosen, 0, 1],
        ):
            chosen = side
    return chosen


@kernel
def grown_lines(lines: Any, count: int) -> Any:
    """Lines with room for one more."""
    if count < len(lines):
        return lines
    return np.concatenate((lines, np.empty_like(lines)))


@kernel
def meet(trigger: int, q: int, same: Any, pairs: Any, n: int, may: int) -> Any:
    """Writes a pair with each row of a chain; gives the pairs, how many there are, and how many
    more there `may` be: -1 when a chain is too long, and then its rest is left."""
    while q != -1 and may >= 0:
        pairs = grown_lines(pairs, n)
        pairs[n, 0], pairs[n, 1] = trigger, q
        n += 1
        may -= 1
        q = same[q]
    return pairs, n, may


@kernel
def wake(side: int, waiting: Any, counts: Any) -> int:
    """Takes a side's next timer out; gives its due time."""
    due = waiting[side, 0, 0]
    counts[side] -= 1
    for i in range(counts[side]):
        waiting[side, i, 0] = waiting[side, i + 1, 0]
        waiting[side, i, 1] = waiting[side, i + 1, 1]
    return int(due)


@kernel
def change_joined(
    events: Events, clock: Clock, sides: Sides, chains: Chains, waiting: Any, counts: Any, room: int
) -> Any:
    """(triggers, pairs, (side, place) of what left). A trigger: kind, side, its row's place (the
    event where its side has no window), the event in whose step it is (-1: a timer's), time, clock.
    A pair: trigger, the place of the row it meets (-1: it is a RESET and meets nobody). At last,
    whether a step brings more pairs than it may, which ends it all.

    See join_windows. `waiting` and `counts` are the timers.
    """
    side_of, keys, places, now, value, stamp, moved, of_step, most = events
    move_clock, before, leaps, most_of_timer = clock
    windows, lengths, triggers, times = sides
    ends, same, key_of, heads = chains.ends, chains.same, chains.keys, chains.heads
    triggered, pairs = np.empty((1024, 6), np.int64), np.empty((1024, 2), np.int64)
    left = np.empty((room, 2), np.int64)
    t, n, gone, move, allowed, may = 0, 0, 0, 0, 0, 0
    for e in range(len(side_of) + 1):
        last = e == len(side_of)
        if e == 0 or last or of_step[e] != of_step[e - 1]:
            allowed = 0 if last else most[e]
        moves = len(move_clock) if last else moved[e]
        phase = 0
        # Timers in front of the event, one by one, then the event: each drops, enters, meets.
        while phase < 2:
            own = -1
            if move < moves:
                target = move_clock[move]
                own = next_side(target, waiting, counts)
                if own == -1:
                    before = max(before, target)
                    move += 1
                    continue
                due = wake(own, waiting, counts)
                may = most_of_timer
                at = target if leaps else max(due, before)
                looked, step, drop, enter = at, -1, True, False
                limit = at - lengths[own]
            else:
                phase = 2
                if last:
                    break
                own, step, at, enter = side_of[e], e, now[e], True
                may = allowed
                looked = value[e] if windows[own] == EXTERNAL else at
                drop = windows[own] == TIME or windows[own] == EXTERNAL
                limit = looked - lengths[own]
                if windows[own] == LENGTH and ends[own, 2] >= lengths[own]:
                    drop, limit = True, np.iinfo(np.int64).max
            while drop and ends[own, 0] != -1 and times[own, ends[own, 0]] <= limit:
                k = key_of[own, ends[own, 0]]
                p = drop_oldest(own, chains)
                left[gone, 0], left[gone, 1] = own, p
                gone += 1
                if triggers[own]:
                    triggered = grown_lines(triggered, t)
                    triggered[t] = np.array([EXPIRED, own, p, step, looked, at])
                    q = heads[1 - own, k] if k >= 0 else -1
                    pairs, n, may = meet(t, q, same[1 - own], pairs, n, may)
                    t += 1
                    if may < 0:
                        return triggered[:0], pairs[:0], left[:0], True
                if enter and windows[own] == LENGTH:
                    break
            if not enter:
                if ends[own, 0] != -1:
                    due = times[own, ends[own, 0]] + lengths[own]
                    ask_with_number(due, own, waiting, counts)
                continue
            k = keys[e]
            if windows[own] == TIME and ends[own, 0] == -1:
                ask_with_number(times[own, places[e]] + lengths[own], own, waiting, counts)
            if windows[own] != NONE:
                take_in(own, places[e], k, chains)
            if not triggers[own]:
                continue
            triggered = grown_lines(triggered, t + 1)
            ref = e if windows[own] == NONE else places[e]
            triggered[t] = np.array([CURRENT, own, ref, e, stamp[e], at])
            q = heads[1 - own, k] if k >= 0 else -1
            pairs, n, allowed = meet(t, q, same[1 - own], pairs, n, may)
            t += 1
            if allowed < 0:
                return triggered[:0], pairs[:0], left[:0], True
            if windows[own] == NONE:
                triggered = grown_lines(triggered, t)
                triggered[t] = np.array([RESET, own, ref, e, at, at])
                pairs = grown_lines(pairs, n)
                pairs[n, 0], pairs[n, 1] = t, -1
                n += 1
                t += 1
    return triggered[:t], pairs[:n], left[:gone], False
