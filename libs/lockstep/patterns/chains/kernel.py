"""The kernel of chains `every e1 -> e2 -> … within t`: which tokens an event moves (semantics
12.1, 12.2).

A token is a number; its arrays tell what it has bound (`refs`, one row per state but the last),
when it began and what later states compare with (`held_*`). Tokens wait in lists by state and
key. `counts` holds how many tokens are free, how many matches were found, and how many places of
first events are gone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel, part

_FAR = np.int64(1) << 62
FREE, FOUND, GONE = 0, 1, 2


@part
def holds(op: int, a: Any, b: Any) -> bool:
    """`a op b`; 0 is ==, then != < <= > >=."""
    if op == 0:
        return bool(a == b)
    if op == 1:
        return bool(a != b)
    if op == 2:
        return bool(a < b)
    if op == 3:
        return bool(a <= b)
    if op == 4:
        return bool(a > b)
    return bool(a >= b)


@kernel
def kill(t: int, refs: Any, alive: Any, free: Any, gone: Any, counts: Any) -> None:
    """The token is over; the place of a first event from before the slice is nobody's any more."""
    alive[t] = False
    free[counts[0]] = t
    counts[0] += 1
    if refs[0, t] < -1:
        gone[counts[2]] = -refs[0, t] - 2
        counts[2] += 1


@kernel
def append(state: int, k: int, t: int, head: Any, tail: Any, following: Any) -> None:
    """The token comes to wait at a state."""
    following[t] = -1
    if tail[state, k] == -1:
        head[state, k] = t
    else:
        following[tail[state, k]] = t
    tail[state, k] = t


@kernel
def unlink(
    state: int, k: int, before: int, after: int, head: Any, tail: Any, following: Any
) -> None:
    """What stood between two tokens of a list leaves it."""
    if before == -1:
        head[state, k] = after
    else:
        following[before] = after
    if after == -1:
        tail[state, k] = before


@kernel
def keep_values(
    c_slot: Any,
    slot: int,
    e: int,
    t: int,
    other_i: Any,
    other_f: Any,
    other_null: Any,
    held_i: Any,
    held_f: Any,
    held_null: Any,
) -> None:
    """What later states compare with of the event that the token has just bound at `slot`."""
    for c in range(len(c_slot)):
        if c_slot[c] == slot:
            held_i[c, t] = other_i[c, e]
            held_f[c, t] = other_f[c, e]
            held_null[c, t] = other_null[c, e]


@kernel
def fits(
    state: int,
    e: int,
    t: int,
    c_state: Any,
    ops: Any,
    is_float: Any,
    own_i: Any,
    own_f: Any,
    own_null: Any,
    held_i: Any,
    held_f: Any,
    held_null: Any,
) -> bool:
    """Whether the comparisons of a state hold."""
    for c in range(len(ops)):
        if c_state[c] != state:
            continue
        if own_null[c, e] or held_null[c, t]:
            true = ops[c] == 1
        elif is_float[c]:
            true = holds(ops[c], own_f[c, e], held_f[c, t])
        else:
            true = holds(ops[c], own_i[c, e], held_i[c, t])
        if not true:
            return False
    return True


@kernel
def expire(
    k: int,
    now: int,
    within: int,
    first: Any,
    refs: Any,
    alive: Any,
    free: Any,
    gone: Any,
    counts: Any,
    head: Any,
    tail: Any,
    following: Any,
    oldest: Any,
    youngest: Any,
) -> None:
    """Drops the tokens of a key that began too far from `now`."""
    low, high = _FAR, -_FAR
    for state in range(1, len(head)):
        before = -1
        t = head[state, k]
        while t != -1:
            after = following[t]
            if abs(now - first[t]) > within:
                kill(t, refs, alive, free, gone, counts)
                unlink(state, k, before, after, head, tail, following)
            else:
                low = min(low, first[t])
                high = max(high, first[t])
                before = t
            t = after
    oldest[k], youngest[k] = low, high


@kernel
def match_chain(
    states: int,
    within: int,
    key: Any,
    time: Any,
    eligible: Any,
    c_state: Any,
    c_slot: Any,
    ops: Any,
    is_float: Any,
    own_i: Any,
    own_f: Any,
    own_null: Any,
    other_i: Any,
    other_f: Any,
    other_null: Any,
    refs: Any,
    first: Any,
    held_i: Any,
    held_f: Any,
    held_null: Any,
    following: Any,
    alive: Any,
    free: Any,
    counts: Any,
    head: Any,
    tail: Any,
    oldest: Any,
    youngest: Any,
) -> Any:
    """Plays events. `eligible` has a bit per state whose own condition the event fulfils.

    Gives (matched refs by state, completing events, places of first events that are gone).
    """
    # A match ends a token, so there are no more than tokens and events.
    room = len(first) + len(key)
    matched = np.empty((states - 1, room), np.int64)
    completing = np.empty(room, np.int64)
    gone = np.empty(room, np.int64)
    for e in range(len(key)):
        k, now, bits = key[e], time[e], eligible[e]
        if within >= 0 and (oldest[k] < now - within or youngest[k] > now + within):
            expire(
                k,
                now,
                within,
                first,
                refs,
                alive,
                free,
                gone,
                counts,
                head,
                tail,
                following,
                oldest,
                youngest,
            )
        for state in range(states - 1, 0, -1):
            if not (bits >> state) & 1:
                continue
            before = -1
            t = head[state, k]
            while t != -1:
                after = following[t]
                if fits(
                    state,
                    e,
                    t,
                    c_state,
                    ops,
                    is_float,
                    own_i,
                    own_f,
                    own_null,
                    held_i,
                    held_f,
                    held_null,
                ):
                    unlink(state, k, before, after, head, tail, following)
                    if state == states - 1:
                        matched[:, counts[1]] = refs[:, t]
                        completing[counts[1]] = e
                        counts[1] += 1
                        kill(t, refs, alive, free, gone, counts)
                    else:
                        refs[state, t] = e
                        keep_values(
                            c_slot,
                            state,
                            e,
                            t,
                            other_i,
                            other_f,
                            other_null,
                            held_i,
                            held_f,
                            held_null,
                        )
                        append(state + 1, k, t, head, tail, following)
                else:
                    before = t
                t = after
        if bits & 1:
            counts[0] -= 1
            t = free[counts[0]]
            alive[t] = True
            refs[:, t] = -1
            refs[0, t] = e
            first[t] = now
            oldest[k] = min(oldest[k], now)
            youngest[k] = max(youngest[k], now)
            keep_values(c_slot, 0, e, t, other_i, other_f, other_null, held_i, held_f, held_null)
            append(1, k, t, head, tail, following)
    return matched[:, : counts[1]], completing[: counts[1]], gone[: counts[2]]


@kernel
def waiting(head: Any, following: Any) -> Any:
    """The tokens of a list, oldest first."""
    n = 0
    t = head
    while t != -1:
        n += 1
        t = following[t]
    out = np.empty(n, np.int64)
    t = head
    for i in range(n):
        out[i] = t
        t = following[t]
    return out
