"""The kernel of chains that end with `-> not X for t`: which tokens events move, which end, and
whose time is up (semantics 12.1, 12.5).

Tokens stand in buckets, as those of other chains do (patterns.chains.kernel).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import lent, part
from lockstep.columns.timer_kernel import pop, push
from lockstep.patterns.chains.kernel import (
    ARRIVED,
    FIRST,
    FOUND,
    FREE,
    NEXT,
    REALM,
    STATE,
    Bound,
    Comparisons,
    Ends,
    Events,
    bind,
    bucket_of,
    end,
    fits,
    link,
    unlink,
)

TICKET, DUE = 7, 8
"""Of a token that waits for time to pass: the number of its request, and when it is due. Nobody
asks in which order the others began."""
REALM_SHIFT = 32
"""Of a timer's owner the upper bits are the key, the lower ones the token."""
TOKEN_MASK = (1 << REALM_SHIFT) - 1
MOMENT, DUE_AT, CLOCK, KEY, FIRING, NUMBER = range(6)
MADE = 6


class Chain(NamedTuple):
    """How many states it has and for how long nothing may come at the last; what states
    compare."""

    states: int
    wait: int
    compare: Comparisons


class Waiting(NamedTuple):
    """Lines of tokens, and the first and last token of each bucket."""

    tokens: Any
    buckets: Any


class Clock(NamedTuple):
    """Moves of the clock: moments and times, where it stood before, and whether it leaps."""

    moments: Any
    times: Any
    before: int
    leaps: bool


class Pending(NamedTuple):
    """The heap of timers; how many there are and the last number that was given out; -1 by key;
    lines with room for all timers."""

    heap: Any
    counts: Any
    marks: Any
    queue: Any


class Found(NamedTuple):
    """The matches: refs by state; moment, due time, clock, key, the firing among those of its
    moment and due time, and its place in that."""

    matched: Any
    made: Any


@part
def arrive(
    t: int, state: int, now: int, chain: Chain, whole: Any, waiting: Waiting, pending: Pending
) -> None:
    """The token comes to wait at a state; at the last one for time to pass."""
    tokens, counts = waiting.tokens, pending.counts
    counts[1] += 1
    tokens[t, STATE], tokens[t, ARRIVED] = state, counts[1]
    link(t, chain.compare.index, whole, tokens, waiting.buckets)
    if state == chain.states - 1:
        due = now + chain.wait
        tokens[t, DUE], tokens[t, TICKET] = due, counts[1]
        owner = (tokens[t, REALM] << REALM_SHIFT) | t
        counts[0] = push(pending.heap, counts[0], due, counts[1], owner)


@part
def leave(t: int, refs: Any, waiting: Waiting, ends: Ends) -> None:
    """The token, which has left its bucket, is over."""
    waiting.tokens[t, STATE] = 0
    end(t, refs, ends)


@part
def fire(
    moment: int,
    clock: int,
    last: int,
    bound: Bound,
    waiting: Waiting,
    ends: Ends,
    pending: Pending,
    found: Found,
) -> None:
    """All timers that are due first: key by key, in the order in which they asked first. A key's
    tokens leave together; a timer whose token is gone still counts among keys.

    `last` is the state that waits for time to pass. The lines of the queue: owners and tickets of
    those that fire, who follows of the same key, and the first of each key.
    """
    heap, counts, marks, queue = pending
    tokens, made = waiting.tokens, found.made
    due = heap[0, 0]
    count = keys = 0
    while counts[0] > 0 and heap[0, 0] == due:
        queue[0, count], queue[1, count] = heap[0, 2], heap[0, 1]
        counts[0] = pop(heap, counts[0])
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
                and tokens[t, STATE] == last
                and tokens[t, TICKET] == queue[1, at]
                and tokens[t, DUE] == due
            ):
                n = ends.counts[FOUND]
                for state in range(last):
                    found.matched[state, n] = bound.refs[state, t]
                made[n, MOMENT], made[n, DUE_AT], made[n, CLOCK] = moment, due, clock
                made[n, KEY], made[n, FIRING], made[n, NUMBER] = k, firing, number
                ends.counts[FOUND] += 1
                number += 1
                unlink(t, tokens, waiting.buckets)
                leave(t, bound.refs, waiting, ends)
            at = queue[2, at]
        firing += number > 0


@lent
def play_absences(
    chain: Chain,
    moment: Any,
    events: Events,
    clock: Clock,
    bound: Bound,
    waiting: Waiting,
    ends: Ends,
    pending: Pending,
    found: Found,
) -> None:
    """Plays events and moves of the clock."""
    last, before, move = chain.states - 1, clock.before, 0
    tokens, buckets = waiting
    for e in range(len(moment) + 1):
        is_last = e == len(moment)
        limit = np.iinfo(np.int64).max if is_last else moment[e]
        while move < len(clock.moments) and clock.moments[move] < limit:
            target = clock.times[move]
            while pending.counts[0] > 0 and pending.heap[0, 0] <= target:
                now = target if clock.leaps else max(pending.heap[0, 0], before)
                fire(clock.moments[move], now, last, bound, waiting, ends, pending, found)
            before = max(before, target)
            move += 1
        if is_last:
            break
        k, now, bits = events.key[e], events.time[e], events.eligible[e]
        for state in range(last, 0, -1):
            if not (bits >> state) & 1:
                continue
            value = 0
            comparison = chain.compare.index[state]
            if comparison >= 0:
                if events.own.null[comparison, e]:
                    continue
                value = events.own.whole[comparison, e]
            t = buckets[bucket_of(state, k, value, len(buckets)), 0]
            while t != -1:
                after = tokens[t, NEXT]
                if (
                    tokens[t, STATE] == state
                    and tokens[t, REALM] == k
                    and fits(state, e, t, chain.compare, events.own, bound.held)
                ):
                    unlink(t, tokens, buckets)
                    if state == last:
                        leave(t, bound.refs, waiting, ends)
                    else:
                        bind(state, e, t, chain.compare.slot, events.other, bound)
                        arrive(t, state + 1, now, chain, bound.held.whole, waiting, pending)
                t = after
        if bits & 1:
            ends.counts[FREE] -= 1
            t = ends.free[ends.counts[FREE]]
            bound.refs[:, t] = -1
            tokens[t, REALM], tokens[t, FIRST] = k, now
            bind(0, e, t, chain.compare.slot, events.other, bound)
            arrive(t, 1, now, chain, bound.held.whole, waiting, pending)
