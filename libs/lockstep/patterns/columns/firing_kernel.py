"""What the end of a wait brings: the nodes' `on_timer` of patterns.meaning, and the timers of all
keys that fire at once."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import part
from lockstep.columns.timer_kernel import pop, push
from lockstep.patterns.columns.node_kernel import abandon, complete, is_done, is_over, passed
from lockstep.patterns.columns.token_kernel import (
    ABSENCE,
    ALIVE,
    ARRIVING,
    ASKED,
    ASKED_AT,
    ASKED_LATE,
    ASKED_ROOM,
    DUE,
    FIRED,
    FIRST,
    FOUND,
    FOUND_AT,
    FREE_TOKENS,
    GROUP,
    IS_AND,
    IS_SEQUENCE,
    KEY_SHIFT,
    KIND,
    LAST,
    LEADS,
    LINKS,
    LOGICAL,
    MARK,
    NEED_ASKED,
    NEED_CELLS,
    NEED_FOUND,
    NEED_TOKENS,
    NOBODY,
    NODES,
    NONE,
    NOW,
    OPENS,
    PASSED,
    PENDING,
    ROOM,
    SIDES,
    SINCE,
    STAGE,
    TICKET,
    WAIT,
    WHERE,
    WITHIN,
    key_at,
    kill,
    link_of,
    list_of,
    node_at,
    settle,
    token_at,
    unlink,
)
from lockstep.patterns.columns.waits_kernel import following, wait_until

SPARE = 8
"""Tokens, matches and requests that a step may take beside those of the tokens that it moves."""
OWNER, TICKET_OF, NEXT, FIRST_OF = range(4)
"""Lines of the queue: owners and tickets of the timers that fire at once, who follows of the same
key, and the first of each key."""
FIRED_WIDTH = 5
"""Columns of what fired: moment, due time, clock, key, and the place among those due at once."""
NEVER = (1 << 63) - 1
"""Behind all moments."""
MOVE, BEFORE_IT, LEAPS, NEXT_EVENT = range(4)
"""Where a slice is: the next move of the clock, where the clock stood in front of it, whether it
leaps, and the next event."""


# --- lists ----------------------------------------------------------------------------------------


@part
def prune(m: Any, x: Any, k: int, node: int) -> None:
    """Takes out of a node's list who is over or past it."""
    settle(m, k, node, ARRIVING)
    kind, link = m[node_at(m, node) + KIND], link_of(m, node, PENDING)
    waits = kind == LOGICAL or (kind == ABSENCE and not m[node_at(m, node) + LEADS])
    before = -1
    t = m[key_at(m, k) + list_of(m, node, PENDING)]
    while t != -1:
        at = token_at(m, t)
        after = m[at + link]
        stays = m[at + ALIVE] == 1
        if stays:
            stays = m[at + WHERE] == node if waits else m[at + STAGE] <= node
        if stays:
            before = t
        else:
            unlink(m, k, t, before, node, PENDING)
            if m[at + ALIVE] and m[at + LINKS] == 0:
                kill(m, x, k, t)
        t = after


@part
def prune_all(m: Any, x: Any, k: int) -> None:
    """All lists of a key."""
    m[key_at(m, k) + PASSED] = 0
    for node in range(m[NODES]):
        prune(m, x, k, node)


# --- ends of waits --------------------------------------------------------------------------------


@part
def go_on(m: Any, x: Any, k: int, t: int, node: int, end: int, firing: int) -> None:
    """The token passes a node because of the time."""
    m[key_at(m, k) + PASSED] += 1
    m[token_at(m, t) + WHERE] = -1
    found = m[FOUND]
    passed(m, x, k, t, node, end, firing)
    complete(m, x, k, t, node, firing, False)
    for i in range(found, m[FOUND]):
        x[x[FOUND_AT] + x[ROOM] + i] = m[GROUP]
        m[GROUP] += 1


@part
def is_expired(m: Any, t: int, end: int) -> bool:
    """Whether the token is too old by `within` at the end of its wait."""
    first = m[token_at(m, t) + FIRST]
    return bool(m[WITHIN] >= 0 and first != NONE and abs(end - first) > m[WITHIN])


@part
def give_up(m: Any, x: Any, k: int, t: int, firing: int) -> None:
    """The token is too old."""
    m[key_at(m, k) + PASSED] += 1
    m[token_at(m, t) + WHERE] = -1
    abandon(m, x, k, t, firing)


@part
def end_wait(m: Any, x: Any, k: int, t: int, node: int, side: int, end: int, firing: int) -> None:
    """The wait of a side of a logical state is over for a token."""
    if m[token_at(m, t) + SIDES] >> side & 5:
        return
    if is_expired(m, t, end):
        give_up(m, x, k, t, firing)
        return
    m[token_at(m, t) + SIDES] |= 1 << side
    m[token_at(m, t) + STAGE] = node
    if not m[node_at(m, node) + IS_AND] or is_done(m, t, node, 1 - side):
        go_on(m, x, k, t, node, end, firing)


@part
def ended(m: Any, x: Any, k: int, t: int, ticket: int, node: int, side: int, firing: int) -> None:
    """One request of a token is due: its wait is over, if it waits still and has not asked anew."""
    at = token_at(m, t)
    if m[at + TICKET + side] != ticket or m[at + WHERE] != node or is_over(m, x, k, t):
        return
    end = m[at + SINCE] + m[node_at(m, node) + WAIT + side]
    if m[node_at(m, node) + KIND] == LOGICAL:
        end_wait(m, x, k, t, node, side, end, firing)
    elif is_expired(m, t, end):
        give_up(m, x, k, t, firing)
    else:
        go_on(m, x, k, t, node, end, firing)


@part
def end_absence(m: Any, x: Any, k: int, due: int, firing: int) -> None:
    """The wait of an absence at the beginning: whoever is there passes."""
    settle(m, k, 0, ARRIVING)
    end, at = m[key_at(m, k) + DUE], key_at(m, k) + list_of(m, 0, PENDING)
    if end == NONE or end > due or m[at] == -1:
        return
    m[key_at(m, k) + DUE] = NONE
    while m[at] != -1:
        t = m[at]
        unlink(m, k, t, -1, 0, PENDING)
        go_on(m, x, k, t, 0, end, firing)
        if m[token_at(m, t) + ALIVE] and m[token_at(m, t) + LINKS] == 0:
            kill(m, x, k, t)


@part
def end_sides(m: Any, x: Any, k: int, due: int, firing: int) -> None:
    """The waits of a logical state at the beginning."""
    for side in range(2):
        end, span = m[key_at(m, k) + DUE + side], m[node_at(m, 0) + WAIT + side]
        if end == NONE or end > due or span < 0:
            continue
        m[key_at(m, k) + DUE + side] = NONE
        prune(m, x, k, 0)
        t = m[key_at(m, k) + list_of(m, 0, PENDING)]
        while t != -1:
            after = m[token_at(m, t) + link_of(m, 0, PENDING)]
            long = m[IS_SEQUENCE] or m[token_at(m, t) + LAST] <= end - span
            if not is_over(m, x, k, t) and (m[node_at(m, 0) + IS_AND] or long):
                end_wait(m, x, k, t, 0, side, end, firing)
            t = after
        prune(m, x, k, 0)
        if m[node_at(m, 0) + OPENS] != -1:
            wait_until(m, x, k, side, following(m, end, span))


@part
def make_way(m: Any, x: Any, k: int, node: int, gone: int) -> None:
    """Sequences: who has just passed a node keeps nobody out of it, if that is most of them."""
    if gone > m[key_at(m, k) + list_of(m, node, PENDING) + 2] // 2:
        prune(m, x, k, node)


@part
def wake(m: Any, x: Any, k: int, first: int, due: int, queue: Any, firing: int) -> None:
    """Timers of a key fire: all nodes are told, from the last to the first."""
    for node in range(m[NODES] - 1, -1, -1):
        kind, before = m[node_at(m, node) + KIND], m[key_at(m, k) + PASSED]
        if m[node_at(m, node) + LEADS]:
            if kind == ABSENCE:
                end_absence(m, x, k, due, firing)
            else:
                end_sides(m, x, k, due, firing)
        elif kind in (ABSENCE, LOGICAL):
            for side in range(2):
                if m[node_at(m, node) + WAIT + side] < 0:
                    continue
                at = first
                while at != -1:
                    t = queue[OWNER, at] & NOBODY
                    if t != NOBODY:
                        ended(m, x, k, t, queue[TICKET_OF, at], node, side, firing)
                    at = queue[NEXT, at]
            if m[IS_SEQUENCE]:
                make_way(m, x, k, node, m[key_at(m, k) + PASSED] - before)
    lengths = 0
    for node in range(m[NODES]):
        lengths += m[key_at(m, k) + list_of(m, node, PENDING) + 2]
    if m[IS_SEQUENCE] or 2 * m[key_at(m, k) + PASSED] > SPARE + lengths:
        prune_all(m, x, k)


# --- timers ---------------------------------------------------------------------------------------


@part
def put_requests(m: Any, x: Any, heap: Any, counts: Any) -> None:
    """The timers that were asked for wait."""
    for i in range(m[ASKED]):
        at = x[ASKED_AT] + 3 * i
        counts[0] = push(heap, counts[0], x[at], x[at + 1], x[at + 2])
    m[ASKED] = 0


@part
def take_due(m: Any, heap: Any, counts: Any, queue: Any) -> Any:
    """Takes all timers out that are due first; gives (how many, of how many keys)."""
    due, count, keys = heap[0, 0], 0, 0
    while counts[0] > 0 and heap[0, 0] == due:
        queue[OWNER, count], queue[TICKET_OF, count] = heap[0, 2], heap[0, 1]
        counts[0] = pop(heap, counts[0])
        k = queue[OWNER, count] >> KEY_SHIFT
        queue[NEXT, count] = -1
        mark = key_at(m, k) + MARK
        if m[mark] == -1:
            queue[FIRST_OF, keys] = count
            keys += 1
        else:
            queue[NEXT, m[mark]] = count
        m[mark] = count
        count += 1
    for i in range(count):
        m[key_at(m, queue[OWNER, i] >> KEY_SHIFT) + MARK] = -1
    return count, keys


@part
def fire(
    m: Any, x: Any, moment: int, now: int, heap: Any, counts: Any, queue: Any, fired: Any
) -> bool:
    """All timers that are due first: key by key, in the order in which they asked first. False when
    there is no room for what they may do; then they wait still."""
    due = heap[0, 0]
    count, keys = take_due(m, heap, counts, queue)
    lists = 0
    for i in range(keys):
        k = queue[OWNER, queue[FIRST_OF, i]] >> KEY_SHIFT
        lists += m[key_at(m, k) + list_of(m, 0, PENDING) + 2]
        lists += m[key_at(m, k) + list_of(m, 0, ARRIVING) + 2]
    m[NEED_TOKENS] = m[NEED_FOUND] = SPARE + 2 * (count + lists + keys)
    m[NEED_CELLS], m[NEED_ASKED] = 0, 2 * m[NEED_TOKENS]
    if (
        m[FREE_TOKENS] < m[NEED_TOKENS]
        or x[ROOM] - m[FOUND] < m[NEED_FOUND]
        or x[ASKED_ROOM] < m[NEED_ASKED]
        or len(heap) - counts[0] < count + m[NEED_ASKED]
        or len(fired) - m[FIRED] < keys
    ):
        for i in range(count):
            counts[0] = push(heap, counts[0], due, queue[TICKET_OF, i], queue[OWNER, i])
        return False
    m[NOW] = now
    for i in range(keys):
        k = queue[OWNER, queue[FIRST_OF, i]] >> KEY_SHIFT
        n = m[FIRED]
        fired[n, 0], fired[n, 1], fired[n, 2], fired[n, 3], fired[n, 4] = moment, due, now, k, i
        wake(m, x, k, queue[FIRST_OF, i], due, queue, -1 - n)
        m[FIRED] += 1
        for j in range(m[ASKED]):
            m[ASKED_LATE] |= x[x[ASKED_AT] + 3 * j] <= due
        put_requests(m, x, heap, counts)
    return True


@part
def fire_until(
    m: Any,
    x: Any,
    clock: Any,
    state: Any,
    limit: int,
    heap: Any,
    counts: Any,
    queue: Any,
    fired: Any,
) -> bool:
    """The moves of the clock in front of a moment. `clock`: their moments and times. False when
    there is no room."""
    while state[MOVE] < clock.shape[1] and clock[0, state[MOVE]] < limit:
        target = clock[1, state[MOVE]]
        while counts[0] > 0 and heap[0, 0] <= target:
            now = target if state[LEAPS] else max(heap[0, 0], state[BEFORE_IT])
            if not fire(m, x, clock[0, state[MOVE]], now, heap, counts, queue, fired):
                return False
        state[BEFORE_IT] = max(state[BEFORE_IT], target)
        state[MOVE] += 1
    m[NOW] = max(m[NOW], state[BEFORE_IT])
    return True
