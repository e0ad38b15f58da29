"""The kernel of chains that end with `-> not X for t`: which tokens events move, which end, and
whose time is up (semantics 12.1, 12.5).

A token is a line of `tokens`. Who waits at a state stands in a bucket: that of the state, the key
and, where the state compares a whole number or a text of the event with ==, the value that it has
to have. So an event looks at the tokens that it may concern, not at all that wait. `timers` holds
how many timers are in the heap and the last number that was given out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel, part
from lockstep.columns.timer_kernel import pop, push
from lockstep.patterns.chains.kernel import fits, keep_values

STATE, REALM, ARRIVED, TICKET, DUE, FIRST, NEXT, BEFORE, BUCKET = range(9)
COLUMNS = 9
FREE, FOUND, GONE = 0, 1, 2
REALM_SHIFT = 32
"""Of a timer's owner the upper bits are the key, the lower ones the token."""
TOKEN_MASK = (1 << REALM_SHIFT) - 1
MOMENT, DUE_AT, CLOCK, KEY, FIRING, NUMBER = range(6)
MADE = 6


@part
def bucket_of(state: int, realm: int, value: int, buckets: int) -> int:
    """The bucket of a state, a key and a value; `buckets` is a power of two."""
    mixed = (value ^ (realm * 1_000_003) ^ (state * 998_244_353)) * 2_862_933_555_777_941_757
    return int((mixed ^ (mixed >> 31)) & (buckets - 1))


@kernel
def link(t: int, index: Any, held_i: Any, tokens: Any, buckets: Any) -> None:
    """The token stands at the end of the bucket of its state."""
    state = tokens[t, STATE]
    value = held_i[index[state], t] if index[state] >= 0 else 0
    b = bucket_of(state, tokens[t, REALM], value, len(buckets))
    last = buckets[b, 1]
    tokens[t, BUCKET], tokens[t, BEFORE], tokens[t, NEXT] = b, last, -1
    if last == -1:
        buckets[b, 0] = t
    else:
        tokens[last, NEXT] = t
    buckets[b, 1] = t


@part
def unlink(t: int, tokens: Any, buckets: Any) -> None:
    """The token leaves its bucket."""
    b, before, after = tokens[t, BUCKET], tokens[t, BEFORE], tokens[t, NEXT]
    if before == -1:
        buckets[b, 0] = after
    else:
        tokens[before, NEXT] = after
    if after == -1:
        buckets[b, 1] = before
    else:
        tokens[after, BEFORE] = before


@kernel
def link_all(order: Any, index: Any, held_i: Any, tokens: Any, buckets: Any) -> None:
    """Tokens stand in buckets anew, in that order."""
    buckets[:] = -1
    for i in range(len(order)):
        link(order[i], index, held_i, tokens, buckets)


@part
def end(t: int, refs: Any, tokens: Any, free: Any, gone: Any, counts: Any) -> None:
    """The token is over; the place of a first event from before the slice is nobody's any more."""
    tokens[t, STATE] = 0
    free[counts[FREE]] = t
    counts[FREE] += 1
    if refs[0, t] < -1:
        gone[counts[GONE]] = -refs[0, t] - 2
        counts[GONE] += 1


@part
def arrive(
    t: int,
    state: int,
    states: int,
    wait: int,
    now: int,
    index: Any,
    held_i: Any,
    tokens: Any,
    buckets: Any,
    heap: Any,
    timers: Any,
) -> None:
    """The token comes to wait at a state; at the last one for time to pass."""
    timers[1] += 1
    tokens[t, STATE], tokens[t, ARRIVED] = state, timers[1]
    link(t, index, held_i, tokens, buckets)
    if state == states - 1:
        tokens[t, DUE], tokens[t, TICKET] = now + wait, timers[1]
        owner = (tokens[t, REALM] << REALM_SHIFT) | t
        timers[0] = push(heap, timers[0], now + wait, timers[1], owner)


@part
def fire(
    due: int,
    moment: int,
    clock: int,
    states: int,
    refs: Any,
    tokens: Any,
    buckets: Any,
    free: Any,
    gone: Any,
    counts: Any,
    heap: Any,
    timers: Any,
    marks: Any,
    queue: Any,
    matched: Any,
    made: Any,
) -> None:
    """All timers that are due at `due`: key by key, in the order in which they asked first. A key's
    tokens leave together; a timer whose token is gone still counts among keys.

    `marks` is -1 by key; `queue` has lines with room for all timers: owners and tickets of those
    that fire, who follows of the same key, and the first of each key.
    """
    count = keys = 0
    while timers[0] > 0 and heap[0, 0] == due:
        queue[0, count], queue[1, count] = heap[0, 2], heap[0, 1]
        timers[0] = pop(heap, timers[0])
        k = queue[0, count] >> REALM_SHIFT
        queue[2, count] = -1
        if marks[k] == -1:
            queue[3, keys] = count
            keys += 1
        else:
            queue[2, marks[k]] = count
        marks[k] = count
        count += 1
    firing = 0
    for i in range(keys):
        at, number = queue[3, i], 0
        while at != -1:
            t, k = queue[0, at] & TOKEN_MASK, queue[0, at] >> REALM_SHIFT
            marks[k] = -1
            if (
                t != TOKEN_MASK
                and tokens[t, STATE] == states - 1
                and tokens[t, TICKET] == queue[1, at]
                and tokens[t, DUE] == due
            ):
                n = counts[FOUND]
                matched[:, n] = refs[:, t]
                made[n, MOMENT], made[n, DUE_AT], made[n, CLOCK] = moment, due, clock
                made[n, KEY], made[n, FIRING], made[n, NUMBER] = k, firing, number
                counts[FOUND] += 1
                number += 1
                unlink(t, tokens, buckets)
                end(t, refs, tokens, free, gone, counts)
            at = queue[2, at]
        firing += number > 0


@kernel
def play_absences(
    states: int,
    wait: int,
    index: Any,
    moment: Any,
    key: Any,
    time: Any,
    eligible: Any,
    own_i: Any,
    own_f: Any,
    own_null: Any,
    other_i: Any,
    other_f: Any,
    other_null: Any,
    move_moments: Any,
    move_clock: Any,
    before: int,
    leaps: bool,
    c_state: Any,
    c_slot: Any,
    ops: Any,
    is_float: Any,
    refs: Any,
    held_i: Any,
    held_f: Any,
    held_null: Any,
    tokens: Any,
    buckets: Any,
    free: Any,
    counts: Any,
    heap: Any,
    timers: Any,
    marks: Any,
) -> Any:
    """Plays events and moves of the clock. `eligible` has a bit per state whose own condition the
    event fulfils; `index` tells by state which comparison finds its bucket, or -1.

    Gives (matched refs by state; of each match moment, due time, clock, key, the firing among those
    of its moment and due time, and its place in that; places of first events that are gone).
    """
    room = len(tokens) - counts[FREE] + len(key)
    matched = np.empty((states - 1, room), np.int64)
    made = np.empty((room, MADE), np.int64)
    gone = np.empty(room, np.int64)
    queue = np.empty((4, len(heap)), np.int64)
    move = 0
    for e in range(len(key) + 1):
        is_last = e == len(key)
        limit = np.iinfo(np.int64).max if is_last else moment[e]
        while move < len(move_moments) and move_moments[move] < limit:
            target = move_clock[move]
            while timers[0] > 0 and heap[0, 0] <= target:
                due = heap[0, 0]
                fire(
                    due,
                    move_moments[move],
                    target if leaps else max(due, before),
                    states,
                    refs,
                    tokens,
                    buckets,
                    free,
                    gone,
                    counts,
                    heap,
                    timers,
                    marks,
                    queue,
                    matched,
                    made,
                )
            before = max(before, target)
            move += 1
        if is_last:
            break
        k, now, bits = key[e], time[e], eligible[e]
        for state in range(states - 1, 0, -1):
            if not (bits >> state) & 1:
                continue
            value = 0
            if index[state] >= 0:
                if own_null[index[state], e]:
                    continue
                value = own_i[index[state], e]
            t = buckets[bucket_of(state, k, value, len(buckets)), 0]
            while t != -1:
                after = tokens[t, NEXT]
                if (
                    tokens[t, STATE] == state
                    and tokens[t, REALM] == k
                    and fits(
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
                    )
                ):
                    unlink(t, tokens, buckets)
                    if state == states - 1:
                        end(t, refs, tokens, free, gone, counts)
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
                        arrive(
                            t,
                            state + 1,
                            states,
                            wait,
                            now,
                            index,
                            held_i,
                            tokens,
                            buckets,
                            heap,
                            timers,
                        )
                t = after
        if bits & 1:
            counts[FREE] -= 1
            t = free[counts[FREE]]
            refs[:, t] = -1
            refs[0, t] = e
            tokens[t, REALM], tokens[t, FIRST] = k, now
            keep_values(c_slot, 0, e, t, other_i, other_f, other_null, held_i, held_f, held_null)
            arrive(t, 1, states, wait, now, index, held_i, tokens, buckets, heap, timers)
    return matched[:, : counts[FOUND]], made[: counts[FOUND]], gone[: counts[GONE]]
