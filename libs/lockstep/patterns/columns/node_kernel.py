"""How tokens move along the chain of a pattern or sequence, and what its states do with an event:
what patterns.meaning does in `progress` and in its nodes; see pattern_tokens for the arrays."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import part
from lockstep.patterns.columns.token_kernel import (
    ABSENCE,
    ABSENT,
    ALIVE,
    ARRIVING,
    CANDIDATE,
    CLOSES,
    COUNT,
    COUNT_OF,
    EVENTS,
    EXCLUSIVE,
    EXPIRES,
    FIRST,
    FIXED,
    IS_AND,
    IS_SEQUENCE,
    KEPT,
    KIND,
    LAST,
    LATE,
    LEADS,
    LENGTH,
    LINKS,
    LOGICAL,
    MAXIMUM,
    MINIMUM,
    NEWEST,
    NODES,
    NONE,
    OLDEST,
    OPENS,
    OWES,
    OWING,
    OWNERS,
    PENDING,
    SIDES,
    SILENT,
    SLOT,
    SPANS,
    STAGE,
    STREAM,
    WAIT,
    WHERE,
    WITHIN,
    YOUNGEST,
    append,
    bind,
    cell_at,
    fits,
    key_at,
    kill,
    link_of,
    list_of,
    matched,
    new_token,
    node_at,
    stands_in,
    token_at,
    unlink,
)
from lockstep.patterns.columns.waits_kernel import following, wait, wait_anew, wait_until

# --- moving along the chain -----------------------------------------------------------------------


@part
def is_taken(m: Any, k: int, node: int, in_event: bool) -> bool:
    """In a sequence: whether an older token has come to the node already."""
    if not m[IS_SEQUENCE] or not m[node_at(m, node) + EXCLUSIVE]:
        return False
    if m[key_at(m, k) + list_of(m, node, ARRIVING)] != -1:
        return True
    if m[key_at(m, k) + list_of(m, node, PENDING)] != -1 and not in_event:
        return True
    return bool(
        m[node_at(m, node) + KIND] == COUNT and m[key_at(m, k) + list_of(m, node, KEPT)] != -1
    )


@part
def restarted(m: Any, k: int, t: int, span: int) -> int:
    """A copy for a span, with what was bound in front of it; -1 where sequences need none."""
    m[token_at(m, t) + OWES] = -1
    if m[key_at(m, k) + OWING] == t:
        m[key_at(m, k) + OWING] = -1
    first = m[m[SPANS] + 2 * (span) + 0]
    if m[IS_SEQUENCE] and not m[node_at(m, first) + LEADS]:
        return -1
    copy = new_token(m, k)
    m[token_at(m, copy) + LAST] = m[token_at(m, t) + LAST]
    m[token_at(m, copy) + STAGE] = first - 1
    for slot in range(m[node_at(m, first) + SLOT]):
        c = m[token_at(m, t) + FIXED + slot]
        m[token_at(m, copy) + FIXED + slot] = c
        if c > -1:
            m[cell_at(m, c) + OWNERS] += 1
            m[token_at(m, copy) + FIRST] = m[token_at(m, t) + FIRST]
            m[token_at(m, copy) + EXPIRES] = m[token_at(m, t) + EXPIRES]
    return int(copy)


@part
def enter(m: Any, x: Any, k: int, t: int, node: int, e: int, in_event: bool) -> int:
    """The token comes to a node, and to those behind it while it may pass without an event. Gives
    the copy for a span that it has passed so, or -1: its way ends in front of this token's."""
    copy = -1
    end = node
    while True:
        span = m[node_at(m, end) + OPENS]
        if span != -1:
            m[token_at(m, t) + OWES] = span
            if end == 0:
                m[key_at(m, k) + OWING] = t
            elif m[key_at(m, k) + OWING] == t:
                m[key_at(m, k) + OWING] = -1
        if m[node_at(m, end) + KIND] != COUNT or m[node_at(m, end) + MINIMUM] != 0:
            break
        closed = m[node_at(m, end) + CLOSES]
        if closed != -1 and m[token_at(m, t) + OWES] != -1:
            copy = restarted(m, k, t, closed)
        if end == m[NODES] - 1:
            matched(m, x, k, t, e)
            return int(copy)
        end += 1
    for at in range(end, node - 1, -1):
        arrive(m, x, k, t, at, in_event)
    return int(copy)


@part
def arrive(m: Any, x: Any, k: int, t: int, node: int, in_event: bool) -> None:
    """The token comes to wait at a node, if no older one keeps it out there."""
    taken = is_taken(m, k, node, in_event)
    kind, leads = m[node_at(m, node) + KIND], m[node_at(m, node) + LEADS]
    stays = not leads and kind in (LOGICAL, ABSENCE)
    if kind == LOGICAL or stays:
        is_new = m[token_at(m, t) + WHERE] != node
        if is_new and taken:
            return
        if is_new and kind == LOGICAL:
            m[token_at(m, t) + SIDES] = 0
    elif not taken:
        append(m, k, t, node, ARRIVING)
    if leads and kind == ABSENCE and m[token_at(m, t) + LAST] != -1:
        span = m[node_at(m, node) + WAIT]
        wait_until(m, x, k, 0, following(m, m[token_at(m, t) + LAST], span))
    if stays:
        wait(m, x, k, t, node)
    if kind == LOGICAL or stays:
        m[token_at(m, t) + WHERE] = node
        append(m, k, t, node, ARRIVING)


@part
def begin(m: Any, x: Any, k: int, t: int, node: int, e: int, in_event: bool) -> None:
    """A new token comes to a node; in a sequence it may be refused, and is gone then."""
    enter(m, x, k, t, node, e, in_event)
    if m[token_at(m, t) + ALIVE] and m[token_at(m, t) + LINKS] == 0:
        kill(m, x, k, t)


@part
def bound(m: Any, x: Any, k: int, t: int, node: int, e: int) -> None:
    """The node has bound the event."""
    now = x[EVENTS + (1) * x[COUNT_OF] + e]
    if m[token_at(m, t) + FIRST] == NONE:
        m[token_at(m, t) + FIRST] = now
        if m[WITHIN] >= 0:
            m[key_at(m, k) + OLDEST] = min(m[key_at(m, k) + OLDEST], now)
            m[key_at(m, k) + YOUNGEST] = max(m[key_at(m, k) + YOUNGEST], now)
            if m[key_at(m, k) + NEWEST] > now + m[WITHIN]:
                m[key_at(m, k) + LATE] = min(m[key_at(m, k) + LATE], now)
            else:
                m[token_at(m, t) + EXPIRES] = now + m[WITHIN]
    passed(m, x, k, t, node, now, e)


@part
def passed(m: Any, x: Any, k: int, t: int, node: int, now: int, e: int) -> None:
    """The token is past the node: what it waited for has come, or has not come until now."""
    m[token_at(m, t) + STAGE] = node
    m[token_at(m, t) + LAST] = now
    span = m[token_at(m, t) + OWES]
    if span != -1 and m[m[SPANS] + 2 * (span) + 1] < node:
        copy = restarted(m, k, t, span)
        if copy != -1:
            begin(m, x, k, copy, m[m[SPANS] + 2 * (span) + 0], e, e >= 0)


@part
def complete(m: Any, x: Any, k: int, t: int, node: int, e: int, silently: bool) -> None:
    """The node is satisfied: the token goes to the next one, or matches."""
    span = m[node_at(m, node) + CLOSES]
    if span != -1 and m[token_at(m, t) + OWES] != -1:
        copy = restarted(m, k, t, span)
        if copy != -1:
            begin(m, x, k, copy, m[m[SPANS] + 2 * (span) + 0], e, e >= 0)
    if node + 1 < m[NODES]:
        copy = enter(m, x, k, t, node + 1, e, e >= 0)
        if copy != -1:
            begin(m, x, k, copy, m[token_at(m, copy) + STAGE] + 1, e, e >= 0)
    elif silently:
        kill(m, x, k, t)
    else:
        matched(m, x, k, t, e)


@part
def abandon(m: Any, x: Any, k: int, t: int, e: int) -> None:
    """The token dies; an `every` at the beginning that it has not passed yet starts anew."""
    span = m[token_at(m, t) + OWES]
    copy = -1
    if span != -1 and m[m[SPANS] + 2 * (span) + 0] == 0:
        copy = restarted(m, k, t, span)
    kill(m, x, k, t)
    if copy != -1:
        begin(m, x, k, copy, 0, e, False)


# --- nodes ----------------------------------------------------------------------------------------


@part
def is_over(m: Any, x: Any, k: int, t: int) -> bool:
    """Whether the token is dead; one that the time of an earlier event killed is found out here."""
    if m[token_at(m, t) + ALIVE] and m[key_at(m, k) + NEWEST] > m[token_at(m, t) + EXPIRES]:
        kill(m, x, k, t)
    return bool(m[token_at(m, t) + ALIVE] == 0)


@part
def take_one(m: Any, x: Any, k: int, node: int, e: int) -> None:
    """An event of a single state; in a sequence who waits here is looked after by `close`."""
    slot, link = m[node_at(m, node) + SLOT], link_of(m, node, PENDING)
    is_last = node == m[NODES] - 1
    before = -1
    t = m[key_at(m, k) + list_of(m, node, PENDING)]
    while t != -1:
        after = m[token_at(m, t) + link]
        passes = False
        leaves = is_over(m, x, k, t) or m[token_at(m, t) + STAGE] >= node
        if not leaves:
            leaves = passes = fits(m, x, t, slot, e)
        if passes:
            if is_last:
                m[token_at(m, t) + FIXED + slot] = CANDIDATE
            else:
                bind(m, x, t, slot, e)
            bound(m, x, k, t, node, e)
            complete(m, x, k, t, node, e, False)
        if leaves and not m[IS_SEQUENCE]:
            unlink(m, k, t, before, node, PENDING)
        else:
            before = t
        t = after


@part
def collect(m: Any, x: Any, k: int, t: int, node: int, e: int) -> bool:
    """Binds the event to a counted state if it fits; whether it did."""
    slot = m[node_at(m, node) + SLOT]
    if not fits(m, x, t, slot, e):
        return False
    bind(m, x, t, slot, e)
    length = m[cell_at(m, m[token_at(m, t) + FIXED + slot]) + LENGTH]
    bound(m, x, k, t, node, e)
    minimum = m[node_at(m, node) + MINIMUM]
    if length == minimum or (m[IS_SEQUENCE] and length > minimum):
        complete(m, x, k, t, node, e, False)
    elif length > minimum and m[token_at(m, t) + WHERE] == node + 1:
        wait(m, x, k, t, node + 1)
    return True


@part
def is_through(m: Any, t: int, node: int) -> bool:
    """Whether a token that has collected matched, or has as many events as it may."""
    if not m[token_at(m, t) + ALIVE]:
        return True
    maximum = m[node_at(m, node) + MAXIMUM]
    return bool(
        maximum >= 0
        and m[cell_at(m, m[token_at(m, t) + FIXED + m[node_at(m, node) + SLOT]]) + LENGTH]
        >= maximum
    )


@part
def take_counted(m: Any, x: Any, k: int, node: int, e: int) -> None:
    """An event of a counted state."""
    link = link_of(m, node, PENDING)
    before = -1
    t = m[key_at(m, k) + list_of(m, node, PENDING)]
    while t != -1:
        after = m[token_at(m, t) + link]
        leaves = is_over(m, x, k, t) or m[token_at(m, t) + STAGE] > node
        if not leaves and collect(m, x, k, t, node, e):
            leaves = is_through(m, t, node)
        if leaves:
            unlink(m, k, t, before, node, PENDING)
        else:
            before = t
        t = after


@part
def opens_next(m: Any, t: int, node: int) -> bool:
    """Sequences, `every` with minimum 0: whether what moved the token on may also begin the next
    match: always when it was empty, else when a single event completed it."""
    if node != 0 or m[node_at(m, 0) + MINIMUM] != 0 or m[node_at(m, 0) + OPENS] == -1:
        return False
    if m[token_at(m, t) + FIXED + m[node_at(m, 0) + SLOT]] == -1:
        return True
    return bool(m[NODES] > 1 and m[node_at(m, 1) + KIND] == STREAM)


@part
def collect_adjacent(m: Any, x: Any, k: int, node: int, e: int) -> None:
    """An event of a counted state of a sequence."""
    link = link_of(m, node, PENDING)
    opens = stays = False
    t = m[key_at(m, k) + list_of(m, node, PENDING)]
    while t != -1:
        if not m[token_at(m, t) + ALIVE] or m[token_at(m, t) + STAGE] > node:
            opens = opens or opens_next(m, t, node)
        elif collect(m, x, k, t, node, e) and not is_through(m, t, node):
            if not (stays and m[node_at(m, node) + EXCLUSIVE]):
                append(m, k, t, node, KEPT)
            stays = True
        t = m[token_at(m, t) + link]
    if opens and not stays:
        fresh = new_token(m, k)
        m[token_at(m, fresh) + OWES] = m[node_at(m, 0) + OPENS]
        if collect(m, x, k, fresh, node, e) and not is_through(m, fresh, node):
            append(m, k, fresh, node, KEPT)
        if m[token_at(m, fresh) + ALIVE] and m[token_at(m, fresh) + LINKS] == 0:
            kill(m, x, k, fresh)


@part
def is_done(m: Any, t: int, node: int, side: int) -> bool:
    """Whether a side of a logical state is satisfied."""
    if m[node_at(m, node) + ABSENT + side] and m[node_at(m, node) + WAIT + side] < 0:
        return not m[token_at(m, t) + SIDES] >> (2 + side) & 1
    return bool(m[token_at(m, t) + SIDES] >> side & 1)


@part
def came(m: Any, x: Any, k: int, t: int, node: int, side: int, e: int) -> bool:
    """Binds the event to a side of a logical state; whether the token stays."""
    is_last = node == m[NODES] - 1
    other_done = is_done(m, t, node, 1 - side)
    passes = other_done or not m[node_at(m, node) + IS_AND]
    if is_last and passes:
        m[token_at(m, t) + FIXED + m[node_at(m, node) + SLOT] + side] = CANDIDATE
    else:
        bind(m, x, t, m[node_at(m, node) + SLOT] + side, e)
    m[token_at(m, t) + SIDES] |= 1 << side
    bound(m, x, k, t, node, e)
    if not passes:
        if not m[token_at(m, t) + SIDES] >> (3 - side) & 1:
            return True
        m[token_at(m, t) + WHERE] = -1
        abandon(m, x, k, t, e)
        return False
    m[token_at(m, t) + WHERE] = -1
    complete(m, x, k, t, node, e, side == 0 and m[node_at(m, node) + SILENT] == 1)
    return False


@part
def absent_came(m: Any, x: Any, k: int, t: int, node: int, side: int, e: int) -> bool:
    """An event that should not come; whether the token stays."""
    if m[node_at(m, node) + LEADS]:
        if m[node_at(m, node) + WAIT + side] < 0:
            m[token_at(m, t) + SIDES] |= 4 << side
        else:
            wait_anew(m, x, k, node, side, x[EVENTS + (1) * x[COUNT_OF] + e])
        return True
    m[token_at(m, t) + SIDES] |= 4 << side
    both = m[node_at(m, node) + ABSENT + 1 - side] and m[token_at(m, t) + SIDES] >> (3 - side) & 1
    if m[IS_SEQUENCE] or m[node_at(m, node) + IS_AND] or both:
        kill(m, x, k, t)
        return False
    return True


@part
def take_logical(m: Any, x: Any, k: int, node: int, side: int, e: int) -> None:
    """An event of one side of a logical state. In a sequence a token stays when the event moved it
    or did not concern it, and is shown to the other side too."""
    slot, link = m[node_at(m, node) + SLOT] + side, link_of(m, node, PENDING)
    is_absent = m[node_at(m, node) + ABSENT + side]
    before = -1
    t = m[key_at(m, k) + list_of(m, node, PENDING)]
    while t != -1:
        after = m[token_at(m, t) + link]
        stays = not is_over(m, x, k, t) and m[token_at(m, t) + WHERE] == node
        if stays:
            done = (
                m[token_at(m, t) + SIDES] >> side & 1 or m[token_at(m, t) + SIDES] >> (2 + side) & 1
            )
            if done or not fits(m, x, t, slot, e):
                stays = bool(is_absent) or not m[IS_SEQUENCE]
            elif is_absent:
                stays = absent_came(m, x, k, t, node, side, e)
            else:
                stays = came(m, x, k, t, node, side, e)
        if m[IS_SEQUENCE]:
            if stays and not stands_in(m, k, t, node, KEPT):
                append(m, k, t, node, KEPT)
        elif not stays:
            unlink(m, k, t, before, node, PENDING)
            t = before
        before = t
        t = after
    if m[IS_SEQUENCE]:
        keep_waiting(m, k, node)


@part
def keep_waiting(m: Any, k: int, node: int) -> None:
    """Of those that a logical state of a sequence keeps, they who wait there still."""
    before = -1
    t = m[key_at(m, k) + list_of(m, node, KEPT)]
    while t != -1:
        after = m[token_at(m, t) + link_of(m, node, KEPT)]
        if m[token_at(m, t) + ALIVE] and m[token_at(m, t) + WHERE] == node:
            before = t
        else:
            unlink(m, k, t, before, node, KEPT)
        t = after


@part
def take_absent(m: Any, x: Any, k: int, node: int, e: int) -> None:
    """An event that should not come: whom it fits is over. In a sequence it disturbs nobody else
    who waits here."""
    slot, link = m[node_at(m, node) + SLOT], link_of(m, node, PENDING)
    before = -1
    t = m[key_at(m, k) + list_of(m, node, PENDING)]
    while t != -1:
        after = m[token_at(m, t) + link]
        stays = not is_over(m, x, k, t) and m[token_at(m, t) + WHERE] == node
        if stays and fits(m, x, t, slot, e):
            kill(m, x, k, t)
            stays = False
        if m[IS_SEQUENCE]:
            if stays:
                append(m, k, t, node, KEPT)
        elif not stays:
            unlink(m, k, t, before, node, PENDING)
            t = before
        before = t
        t = after


@part
def take_leading(m: Any, x: Any, k: int, node: int, e: int) -> None:
    """An event that should not come at the beginning: the wait starts anew; a sequence without
    `every` ends."""
    first = m[key_at(m, k) + list_of(m, node, PENDING)]
    if first == -1:
        return
    comes = fits(m, x, first, m[node_at(m, node) + SLOT], e)
    if comes and m[IS_SEQUENCE] and m[node_at(m, node) + OPENS] == -1:
        return
    t = first if m[IS_SEQUENCE] else -1
    while t != -1:
        append(m, k, t, node, KEPT)
        t = m[token_at(m, t) + link_of(m, node, PENDING)]
    if comes:
        wait_anew(m, x, k, node, 0, x[EVENTS + (1) * x[COUNT_OF] + e])
