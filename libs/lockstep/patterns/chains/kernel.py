"""The kernel of chains `every e1 -> e2 -> … within t`: which tokens an event moves (semantics
12.1, 12.2).

A token is a number, and a place in all arrays that are by token. Tokens wait in lists by state and
key.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import kernel, lent, part

_FAR = np.int64(1) << 62
FREE, FOUND, GONE = 0, 1, 2


class Comparisons(NamedTuple):
    """By comparison: the state that compares, the slot it compares with, how, and whether as
    floating numbers."""

    state: Any
    slot: Any
    operator: Any
    is_float: Any


class Values(NamedTuple):
    """What is compared, a line per comparison: as whole numbers or as floating ones, and where it
    is null."""

    whole: Any
    floating: Any
    null: Any


class Events(NamedTuple):
    """What is played: `eligible` has a bit per state whose own condition the event fulfils; what
    the event's state compares, and what later states will compare with."""

    key: Any
    time: Any
    eligible: Any
    own: Values
    other: Values


class Bound(NamedTuple):
    """By token: the events that it has bound, a line per state but the last, and what later states
    compare with."""

    refs: Any
    held: Values


class Ends(NamedTuple):
    """Which tokens are free, which places of first events nobody needs any more; and how many
    tokens are free, how many matches were found, and how many such places there are."""

    free: Any
    gone: Any
    counts: Any


class Lists(NamedTuple):
    """Who waits: first and last by state and key, and who follows by token."""

    head: Any
    tail: Any
    following: Any


class Ages(NamedTuple):
    """When a token began and whether it still waits; by key when its oldest and youngest began."""

    first: Any
    alive: Any
    oldest: Any
    youngest: Any


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


@lent
def end(t: int, refs: Any, ends: Ends) -> None:
    """The token is over; the place of a first event from before the slice is nobody's any more."""
    ends.free[ends.counts[FREE]] = t
    ends.counts[FREE] += 1
    if refs[0, t] < -1:
        ends.gone[ends.counts[GONE]] = -refs[0, t] - 2
        ends.counts[GONE] += 1


@lent
def append(state: int, k: int, t: int, lists: Lists) -> None:
    """The token comes to wait at a state."""
    lists.following[t] = -1
    if lists.tail[state, k] == -1:
        lists.head[state, k] = t
    else:
        lists.following[lists.tail[state, k]] = t
    lists.tail[state, k] = t


@lent
def unlink(state: int, k: int, before: int, after: int, lists: Lists) -> None:
    """What stood between two tokens of a list leaves it."""
    if before == -1:
        lists.head[state, k] = after
    else:
        lists.following[before] = after
    if after == -1:
        lists.tail[state, k] = before


@part
def bind(slot: int, e: int, t: int, slots: Any, other: Values, bound: Bound) -> None:
    """The token binds an event at `slot`, and keeps what later states compare with."""
    bound.refs[slot, t] = e
    for c in range(len(slots)):
        if slots[c] == slot:
            bound.held.whole[c, t] = other.whole[c, e]
            bound.held.floating[c, t] = other.floating[c, e]
            bound.held.null[c, t] = other.null[c, e]


@part
def fits(state: int, e: int, t: int, compare: Comparisons, own: Values, held: Values) -> bool:
    """Whether the comparisons of a state hold."""
    for c in range(len(compare.operator)):
        if compare.state[c] != state:
            continue
        operator = compare.operator[c]
        if own.null[c, e] or held.null[c, t]:
            true = operator == 1
        elif compare.is_float[c]:
            true = holds(operator, own.floating[c, e], held.floating[c, t])
        else:
            true = holds(operator, own.whole[c, e], held.whole[c, t])
        if not true:
            return False
    return True


@part
def expire(
    k: int, now: int, within: int, bound: Bound, lists: Lists, ages: Ages, ends: Ends
) -> None:
    """Drops the tokens of a key that began too far from `now`."""
    low, high = _FAR, -_FAR
    for state in range(1, len(lists.head)):
        before = -1
        t = lists.head[state, k]
        while t != -1:
            after = lists.following[t]
            if abs(now - ages.first[t]) > within:
                ages.alive[t] = False
                end(t, bound.refs, ends)
                unlink(state, k, before, after, lists)
            else:
                low = min(low, ages.first[t])
                high = max(high, ages.first[t])
                before = t
            t = after
    ages.oldest[k], ages.youngest[k] = low, high


@kernel
def match_chain(
    within: int,
    compare: Comparisons,
    events: Events,
    bound: Bound,
    lists: Lists,
    ages: Ages,
    ends: Ends,
) -> Any:
    """Plays events: gives (matched refs by state, completing events)."""
    states = len(lists.head)
    # A match ends a token, so there are no more than tokens and events.
    room = len(ages.first) + len(events.key)
    matched = np.empty((states - 1, room), np.int64)
    completing = np.empty(room, np.int64)
    counts = ends.counts
    for e in range(len(events.key)):
        k, now, bits = events.key[e], events.time[e], events.eligible[e]
        if within >= 0 and (ages.oldest[k] < now - within or ages.youngest[k] > now + within):
            expire(k, now, within, bound, lists, ages, ends)
        for state in range(states - 1, 0, -1):
            if not (bits >> state) & 1:
                continue
            before = -1
            t = lists.head[state, k]
            while t != -1:
                after = lists.following[t]
                if fits(state, e, t, compare, events.own, bound.held):
                    unlink(state, k, before, after, lists)
                    if state == states - 1:
                        matched[:, counts[FOUND]] = bound.refs[:, t]
                        completing[counts[FOUND]] = e
                        counts[FOUND] += 1
                        ages.alive[t] = False
                        end(t, bound.refs, ends)
                    else:
                        bind(state, e, t, compare.slot, events.other, bound)
                        append(state + 1, k, t, lists)
                else:
                    before = t
                t = after
        if bits & 1:
            counts[FREE] -= 1
            t = ends.free[counts[FREE]]
            bound.refs[:, t] = -1
            bind(0, e, t, compare.slot, events.other, bound)
            ages.alive[t] = True
            ages.first[t] = now
            ages.oldest[k] = min(ages.oldest[k], now)
            ages.youngest[k] = max(ages.youngest[k], now)
            append(1, k, t, lists)
    return matched[:, : counts[FOUND]], completing[: counts[FOUND]]


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
