"""The kernel of patterns and sequences (semantics 12, 13): plays events on tokens, finds matches.

The nodes do what those of patterns.meaning do; see pattern_tokens for what they work on. In
patterns a token that `within` is over for is found out when it is next looked at, in sequences and
where its end has consequences at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel, lent, part
from lockstep.patterns.columns.firing_kernel import (
    NEVER,
    NEXT_EVENT,
    SPARE,
    fire_until,
    prune_all,
    put_requests,
)
from lockstep.patterns.columns.node_kernel import (
    abandon,
    begin,
    collect_adjacent,
    take_absent,
    take_counted,
    take_leading,
    take_logical,
    take_one,
)
from lockstep.patterns.columns.token_kernel import (
    ABSENCE,
    ALIVE,
    ARRIVING,
    ASKED_ROOM,
    BEGUN,
    COPIES,
    COUNT,
    COUNT_OF,
    CREATED,
    EVENTS,
    EXCLUSIVE,
    EXPIRES,
    FAR,
    FIRST,
    FOUND,
    FOUND_AT,
    FREE_CELLS,
    FREE_TOKENS,
    GROUP,
    IS_SEQUENCE,
    IS_TIMED,
    KEPT,
    KIND,
    LATE,
    LEADS,
    LEAVES,
    LEAVES_OF,
    LINKS,
    LIVED,
    LOG_ROOM,
    LOGGED,
    LOGICAL,
    MINIMUM,
    NEED_ASKED,
    NEED_CELLS,
    NEED_FOUND,
    NEED_TOKENS,
    NEWEST,
    NODES,
    NONE,
    NOW,
    OLDEST,
    OPENS,
    OWING,
    PENDING,
    ROOM,
    SLOT,
    STAGE,
    STREAM,
    WAIT,
    WHERE,
    WITHIN,
    YOUNGEST,
    append,
    key_at,
    kill,
    left_list,
    link_of,
    list_of,
    new_token,
    node_at,
    settle,
    stands_in,
    token_at,
    unlink,
)
from lockstep.patterns.columns.waits_kernel import wait_until

SWEEP_MIN = 64
"""Tokens of a key that may come before its lists are looked through for those that are over."""


@part
def forget(m: Any, x: Any, k: int, now: int, node: int, which: int, e: int) -> None:
    """Takes out of a list who is over, by an event at `now` (NONE: by those before) at the
    latest."""
    link = link_of(m, node, which)
    before = -1
    t = m[key_at(m, k) + list_of(m, node, which)]
    while t != -1:
        after = m[token_at(m, t) + link]
        first = m[token_at(m, t) + FIRST]
        if m[token_at(m, t) + ALIVE] and first != NONE and m[WITHIN] >= 0:
            is_over_now = now != NONE and abs(now - first) > m[WITHIN]
            if is_over_now or m[key_at(m, k) + NEWEST] > m[token_at(m, t) + EXPIRES]:
                abandon(m, x, k, t, e)
        if not m[token_at(m, t) + ALIVE] or m[token_at(m, t) + STAGE] > node:
            unlink(m, k, t, before, node, which)
        else:
            before = t
            m[key_at(m, k) + LIVED] += 1
            if first != NONE:
                m[key_at(m, k) + OLDEST] = min(m[key_at(m, k) + OLDEST], first)
                m[key_at(m, k) + YOUNGEST] = max(m[key_at(m, k) + YOUNGEST], first)
                if m[token_at(m, t) + EXPIRES] == FAR:
                    m[key_at(m, k) + LATE] = min(m[key_at(m, k) + LATE], first)
        t = after


@part
def sweep(m: Any, x: Any, k: int, now: int, e: int) -> None:
    """Takes who is over out of all lists of a key."""
    m[key_at(m, k) + CREATED] = m[key_at(m, k) + LIVED] = 0
    m[key_at(m, k) + OLDEST] = m[key_at(m, k) + LATE] = FAR
    m[key_at(m, k) + YOUNGEST] = -FAR
    for node in range(m[NODES]):
        forget(m, x, k, now, node, PENDING, e)
        forget(m, x, k, now, node, ARRIVING, e)
    for node in range(m[NODES]):
        settle(m, k, node, ARRIVING)


@part
def expire(m: Any, x: Any, k: int, now: int, e: int) -> None:
    """`within` (12.2) at the time of an event."""
    m[key_at(m, k) + NEWEST] = max(m[key_at(m, k) + NEWEST], now)
    newest, within = m[key_at(m, k) + NEWEST], m[WITHIN]
    if m[key_at(m, k) + YOUNGEST] > now + within or m[key_at(m, k) + LATE] < now - within:
        sweep(m, x, k, now, e)
    elif m[IS_SEQUENCE]:
        if m[key_at(m, k) + OLDEST] < now - within:
            sweep(m, x, k, now, e)
    else:
        t = m[key_at(m, k) + OWING]
        if t != -1 and newest > m[token_at(m, t) + EXPIRES]:
            abandon(m, x, k, t, e)
        if m[key_at(m, k) + CREATED] > SWEEP_MIN + 2 * m[key_at(m, k) + LIVED]:
            sweep(m, x, k, now, e)


@part
def start(m: Any, x: Any, k: int, e: int) -> None:
    """An empty token at the beginning."""
    m[key_at(m, k) + BEGUN] = 1
    begin(m, x, k, new_token(m, k), 0, e, False)
    for node in range(m[NODES]):
        settle(m, k, node, ARRIVING)


@part
def open_key(m: Any, x: Any, k: int, e: int) -> None:
    """The first of a key: its waits begin, and an empty token stands at the beginning."""
    for side in range(2):
        span = m[node_at(m, 0) + WAIT + side]
        if m[node_at(m, 0) + LEADS] and span >= 0:
            wait_until(m, x, k, side, m[NOW] + span)
    start(m, x, k, e)


@part
def renew(m: Any, x: Any, k: int, e: int) -> None:
    """Sequences under `every`: an empty token stands at the beginning for the next event."""
    if m[node_at(m, 0) + OPENS] == -1:
        return
    t = m[key_at(m, k) + list_of(m, 0, PENDING)]
    if m[node_at(m, 0) + KIND] == LOGICAL:
        while t != -1 and m[token_at(m, t) + FIRST] != NONE:
            t = m[token_at(m, t) + link_of(m, 0, PENDING)]
    if t == -1 or (m[node_at(m, 0) + KIND] == COUNT and not m[node_at(m, 0) + EXCLUSIVE]):
        start(m, x, k, e)


@part
def rearm(m: Any, x: Any, k: int) -> None:
    """Sequences whose first state may stay empty: an empty token that an older one kept out of the
    next state makes room for one that may come there, as the older one may be too old now."""
    if m[node_at(m, 0) + OPENS] == -1 or m[node_at(m, 0) + KIND] != COUNT:
        return
    t = m[key_at(m, k) + list_of(m, 0, PENDING)]
    if m[node_at(m, 0) + MINIMUM] != 0 or t == -1:
        return
    is_alone = m[key_at(m, k) + list_of(m, 0, PENDING) + 2] == 1 and m[token_at(m, t) + LINKS] == 1
    if is_alone and m[token_at(m, t) + FIRST] == NONE:
        kill(m, x, k, t)
        unlink(m, k, t, -1, 0, PENDING)


@part
def close(m: Any, x: Any, k: int, node: int) -> None:
    """Sequences: the event is over; who did not advance is gone."""
    at, link = list_of(m, node, PENDING), link_of(m, node, PENDING)
    kind = m[node_at(m, node) + KIND]
    if kind in (LOGICAL, ABSENCE):
        rests = m[node_at(m, node) + LEADS] and m[node_at(m, node) + OPENS] != -1
        t = m[key_at(m, k) + at]
        while t != -1:
            if not stands_in(m, k, t, node, KEPT):
                # Under `every` who waits for anything to come is not disturbed.
                alone = m[token_at(m, t) + ALIVE] and m[token_at(m, t) + FIRST] == NONE
                if rests and (alone or kind == ABSENCE):
                    append(m, k, t, node, KEPT)
                elif m[token_at(m, t) + WHERE] == node and not stands_in(m, k, t, node, ARRIVING):
                    m[token_at(m, t) + WHERE] = -1
            t = m[token_at(m, t) + link]
    t = m[key_at(m, k) + at]
    m[key_at(m, k) + at] = m[key_at(m, k) + at + 1] = -1
    m[key_at(m, k) + at + 2] = 0
    while t != -1:
        after = m[token_at(m, t) + link]
        left_list(m, t)
        if m[token_at(m, t) + LINKS] == 0 and m[token_at(m, t) + ALIVE]:
            kill(m, x, k, t)
        t = after
    settle(m, k, node, KEPT)
    settle(m, k, node, ARRIVING)


@part
def take(m: Any, x: Any, k: int, node: int, side: int, e: int) -> None:
    """An event for a side of a node."""
    if m[node_at(m, node) + KIND] == STREAM:
        take_one(m, x, k, node, e)
    elif m[node_at(m, node) + KIND] == LOGICAL:
        take_logical(m, x, k, node, side, e)
    elif m[node_at(m, node) + KIND] == ABSENCE:
        if m[node_at(m, node) + LEADS]:
            take_leading(m, x, k, node, e)
        else:
            take_absent(m, x, k, node, e)
    elif m[IS_SEQUENCE]:
        collect_adjacent(m, x, k, node, e)
    else:
        take_counted(m, x, k, node, e)


@part
def take_all(m: Any, x: Any, k: int, e: int) -> None:
    """An event for all states of its stream, from the last to the first. What it completes in one
    state leaves together where the stream has several (semantics 12.1)."""
    begin_at, end = (
        m[m[LEAVES_OF] + x[EVENTS + (2) * x[COUNT_OF] + e]],
        m[m[LEAVES_OF] + x[EVENTS + (2) * x[COUNT_OF] + e] + 1],
    )
    for leaf in range(begin_at, end):
        node, side = m[m[LEAVES] + 2 * (leaf) + 0], m[m[LEAVES] + 2 * (leaf) + 1]
        if (
            not m[IS_SEQUENCE]
            and not (x[EVENTS + (3) * x[COUNT_OF] + e] >> (m[node_at(m, node) + SLOT] + side)) & 1
        ):
            continue
        found = m[FOUND]
        take(m, x, k, node, side, e)
        if end - begin_at > 1:
            m[GROUP] += m[FOUND] > found
        else:
            for i in range(found, m[FOUND]):
                x[x[FOUND_AT] + x[ROOM] + i] = m[GROUP]
                m[GROUP] += 1


@part
def has_room(m: Any, x: Any, k: int, e: int, spare: int) -> bool:
    """Whether there is room for whatever the event may do, `spare` being that for timers; else the
    head of the memory tells what it needs."""
    waiting = binding = 0
    for leaf in range(
        m[m[LEAVES_OF] + x[EVENTS + (2) * x[COUNT_OF] + e]],
        m[m[LEAVES_OF] + x[EVENTS + (2) * x[COUNT_OF] + e] + 1],
    ):
        node = m[m[LEAVES] + 2 * (leaf) + 0]
        length = (
            m[key_at(m, k) + list_of(m, node, PENDING) + 2]
            + m[key_at(m, k) + list_of(m, node, ARRIVING) + 2]
        )
        waiting += length
        if m[node_at(m, node) + KIND] != STREAM or node + 1 < m[NODES]:
            binding += length
    m[NEED_TOKENS] = SPARE + (waiting if m[COPIES] else 0)
    m[NEED_CELLS] = SPARE + binding
    m[NEED_FOUND] = SPARE + waiting
    m[NEED_ASKED] = 4 * (SPARE + waiting) if m[IS_TIMED] else 0
    return bool(
        m[FREE_TOKENS] >= m[NEED_TOKENS]
        and m[FREE_CELLS] >= m[NEED_CELLS]
        and x[LOG_ROOM] - m[LOGGED] >= m[NEED_CELLS]
        and x[ROOM] - m[FOUND] >= m[NEED_FOUND]
        and x[ASKED_ROOM] >= m[NEED_ASKED]
        and spare >= m[NEED_ASKED]
    )


@part
def play_one(m: Any, x: Any, k: int, e: int) -> None:
    """Plays an event for which there is room."""
    if not m[key_at(m, k) + BEGUN]:
        open_key(m, x, k, e)
    if m[WITHIN] >= 0:
        expire(m, x, k, x[EVENTS + (1) * x[COUNT_OF] + e], e)
        if m[IS_SEQUENCE]:
            rearm(m, x, k)
    if m[IS_SEQUENCE]:
        renew(m, x, k, e)
        take_all(m, x, k, e)
        for node in range(m[NODES]):
            close(m, x, k, node)
        renew(m, x, k, e)
    elif x[EVENTS + (3) * x[COUNT_OF] + e]:
        for leaf in range(
            m[m[LEAVES_OF] + x[EVENTS + (2) * x[COUNT_OF] + e]],
            m[m[LEAVES_OF] + x[EVENTS + (2) * x[COUNT_OF] + e] + 1],
        ):
            settle(m, k, m[m[LEAVES] + 2 * (leaf) + 0], ARRIVING)
        take_all(m, x, k, e)


@lent
def play(
    m: Any, x: Any, clock: Any, state: Any, heap: Any, counts: Any, queue: Any, fired: Any
) -> bool:
    """Plays a slice on from where it is (`state`); False when there is no room for what is next.
    `clock` are the moves of the clock; `heap`, `counts`, `queue` and `fired` those of the timers
    (see `firing_kernel`)."""
    for e in range(state[NEXT_EVENT], x[COUNT_OF]):
        k = x[EVENTS + (0) * x[COUNT_OF] + e]
        if m[IS_TIMED]:
            moment = x[EVENTS + (5) * x[COUNT_OF] + e]
            if not fire_until(m, x, clock, state, moment, heap, counts, queue, fired):
                return False
            m[NOW] = x[EVENTS + (4) * x[COUNT_OF] + e]
        if not has_room(m, x, k, e, len(heap) - counts[0]):
            return False
        play_one(m, x, k, e)
        if m[IS_TIMED]:
            put_requests(m, x, heap, counts)
        state[NEXT_EVENT] = e + 1
    if m[IS_TIMED]:
        return bool(fire_until(m, x, clock, state, NEVER, heap, counts, queue, fired))
    return True


@kernel
def tidy(m: Any, x: Any, keys: int, opens: bool, heap: Any, counts: Any) -> None:
    """Nobody stands in a list who is over, and all keys have begun if it `opens` them (before a
    snapshot, and when the app starts)."""
    for k in range(keys):
        if m[key_at(m, k) + BEGUN]:
            sweep(m, x, k, NONE, 0)
            if m[IS_TIMED]:
                prune_all(m, x, k)
        elif opens:
            open_key(m, x, k, 0)
        put_requests(m, x, heap, counts)


@kernel
def waiting(m: Any, k: int, node: int, which: int) -> Any:
    """The tokens of a list, oldest first."""
    link = link_of(m, node, which)
    out = np.empty(m[key_at(m, k) + list_of(m, node, which) + 2], np.int64)
    t = m[key_at(m, k) + list_of(m, node, which)]
    for i in range(len(out)):
        out[i] = t
        t = m[token_at(m, t) + link]
    return out
