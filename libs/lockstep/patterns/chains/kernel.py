"""The kernel of chains `every e1 -> e2 -> … within t`: which tokens an event moves (semantics
12.1, 12.2).

A token is a line of `tokens`. Who waits at a state stands in a bucket: that of the state, the key
and, where the state compares a whole number or a text of the event with ==, the value that it has
to have. So an event looks at the tokens that it may concern, not at all that wait. Of each key the
tokens stand in the order of their beginnings, too: `within` looks at both ends of that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import kernel, lent, part

STATE, REALM, ARRIVED, FIRST, NEXT, BEFORE, BUCKET = range(7)
"""Of a token: where it waits and since which arrival, when it began, its bucket and neighbours."""
YOUNGER, OLDER = 7, 8
"""Its neighbours in the order of beginnings."""
COLUMNS = 9
FRONT, BACK, LATE = 0, 1, 2
"""Of a key: the token that began first, the one that began last, and one near the last late one."""
FREE, FOUND, GONE, ARRIVALS = 0, 1, 2, 3


class Comparisons(NamedTuple):
    """By comparison: the state that compares, the slot it compares with, how, and whether as
    floating numbers; and by state which comparison finds its bucket, or -1."""

    state: Any
    slot: Any
    operator: Any
    is_float: Any
    index: Any


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
    tokens are free, how many matches were found, how many such places there are, and how often a
    token came to wait."""

    free: Any
    gone: Any
    counts: Any


class Waiting(NamedTuple):
    """Lines of tokens, the first and last token of each bucket, and of each key."""

    tokens: Any
    buckets: Any
    ages: Any


class Found(NamedTuple):
    """The matches: refs by state, and the events that completed them."""

    matched: Any
    completing: Any


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


@part
def bucket_of(state: int, realm: int, value: int, buckets: int) -> int:
    """The bucket of a state, a key and a value; `buckets` is a power of two."""
    mixed = (value ^ (realm * 1_000_003) ^ (state * 998_244_353)) * 2_862_933_555_777_941_757
    return int((mixed ^ (mixed >> 31)) & (buckets - 1))


@lent
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
def stand_behind(k: int, before: int, t: int, tokens: Any, ages: Any) -> None:
    """Behind `before` in the order of beginnings stands `t`; -1: nobody."""
    if before == -1:
        ages[k, FRONT] = t
    else:
        tokens[before, YOUNGER] = t


@part
def stand_in_front(k: int, after: int, t: int, tokens: Any, ages: Any) -> None:
    """In front of `after` stands `t`; -1: nobody."""
    if after == -1:
        ages[k, BACK] = t
    else:
        tokens[after, OLDER] = t


@lent
def begin_age(t: int, tokens: Any, ages: Any) -> None:
    """The token stands behind all of its key that did not begin later. It is last, but for events
    that are late: these look from the place of the late one before, as a sender whose clock is
    behind stays behind by about as much."""
    k, first = tokens[t, REALM], tokens[t, FIRST]
    after, before = -1, ages[k, BACK]
    if before != -1 and tokens[before, FIRST] > first:
        if ages[k, LATE] != -1:
            before = ages[k, LATE]
        while before != -1 and tokens[before, FIRST] > first:
            before = tokens[before, OLDER]
        after = ages[k, FRONT] if before == -1 else tokens[before, YOUNGER]
        while after != -1 and tokens[after, FIRST] <= first:
            before, after = after, tokens[after, YOUNGER]
        ages[k, LATE] = t
    tokens[t, OLDER], tokens[t, YOUNGER] = before, after
    stand_behind(k, before, t, tokens, ages)
    stand_in_front(k, after, t, tokens, ages)


@part
def end_age(t: int, tokens: Any, ages: Any) -> None:
    """The token leaves the order of beginnings."""
    k, before, after = tokens[t, REALM], tokens[t, OLDER], tokens[t, YOUNGER]
    stand_behind(k, before, after, tokens, ages)
    stand_in_front(k, after, before, tokens, ages)
    if ages[k, LATE] == t:
        ages[k, LATE] = after if before == -1 else before


@kernel
def begin_ages(order: Any, tokens: Any, ages: Any) -> None:
    """Tokens stand in the order of their beginnings anew."""
    ages[:] = -1
    for i in range(len(order)):
        begin_age(order[i], tokens, ages)


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
def leave(t: int, refs: Any, waiting: Waiting, ends: Ends) -> None:
    """The token is over."""
    unlink(t, waiting.tokens, waiting.buckets)
    end_age(t, waiting.tokens, waiting.ages)
    waiting.tokens[t, STATE] = 0
    end(t, refs, ends)


@part
def expire(k: int, now: int, within: int, refs: Any, waiting: Waiting, ends: Ends) -> None:
    """Drops the tokens of a key that began too far from `now`: too long ago, or, if the event is
    late, too long behind it."""
    tokens, ages = waiting.tokens, waiting.ages
    while ages[k, FRONT] != -1 and tokens[ages[k, FRONT], FIRST] < now - within:
        leave(ages[k, FRONT], refs, waiting, ends)
    while ages[k, BACK] != -1 and tokens[ages[k, BACK], FIRST] > now + within:
        leave(ages[k, BACK], refs, waiting, ends)


@part
def arrive(
    t: int, state: int, compare: Comparisons, whole: Any, waiting: Waiting, ends: Ends
) -> None:
    """The token comes to wait at a state."""
    ends.counts[ARRIVALS] += 1
    waiting.tokens[t, STATE], waiting.tokens[t, ARRIVED] = state, ends.counts[ARRIVALS]
    link(t, compare.index, whole, waiting.tokens, waiting.buckets)


@lent
def play_chain(
    within: int,
    compare: Comparisons,
    events: Events,
    bound: Bound,
    waiting: Waiting,
    ends: Ends,
    found: Found,
) -> None:
    """Plays events. `within` is -1 where matches may take any time."""
    last = len(compare.index) - 1
    tokens, buckets, _ = waiting
    for e in range(len(events.key)):
        k, now, bits = events.key[e], events.time[e], events.eligible[e]
        if within >= 0:
            expire(k, now, within, bound.refs, waiting, ends)
        for state in range(last, 0, -1):
            if not (bits >> state) & 1:
                continue
            value = 0
            comparison = compare.index[state]
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
                    and fits(state, e, t, compare, events.own, bound.held)
                ):
                    if state == last:
                        n = ends.counts[FOUND]
                        for slot in range(last):
                            found.matched[slot, n] = bound.refs[slot, t]
                        found.completing[n] = e
                        ends.counts[FOUND] += 1
                        leave(t, bound.refs, waiting, ends)
                    else:
                        unlink(t, tokens, buckets)
                        bind(state, e, t, compare.slot, events.other, bound)
                        arrive(t, state + 1, compare, bound.held.whole, waiting, ends)
                t = after
        if bits & 1:
            ends.counts[FREE] -= 1
            t = ends.free[ends.counts[FREE]]
            bound.refs[:, t] = -1
            tokens[t, REALM], tokens[t, FIRST] = k, now
            bind(0, e, t, compare.slot, events.other, bound)
            arrive(t, 1, compare, bound.held.whole, waiting, ends)
            if within >= 0:
                begin_age(t, tokens, waiting.ages)
            else:
                # Nobody asks for the order then.
                tokens[t, OLDER], tokens[t, YOUNGER] = -1, -1
