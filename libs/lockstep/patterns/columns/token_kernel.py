"""Partial matches in compiled code, and what they have bound; DESIGN.md tells what the arrays are.

`m` is the memory, `x` the slice. A *token* has the fields below, by slot the last of its *cells*,
and a link for each list that it stands in. A cell is an event and the cell before it; tokens share
them. An event is a number of this slice, or -2 - place for a held one. A *key* (partition instance)
has the fields below, then first, last and length of its lists: by node who waits there, who came to
it during this event, and in sequences whom it keeps.
"""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel, part
from lockstep.patterns.chains.kernel import holds

FAR = 1 << 62
NONE = -FAR
"""No first event yet."""
CANDIDATE = -2
"""Bound is the event that is being played, and nobody keeps it."""

STREAM, COUNT, LOGICAL, ABSENCE = range(4)
(
    KIND,
    SLOT,
    MINIMUM,
    MAXIMUM,
    EXCLUSIVE,
    IS_AND,
    LEADS,
    SILENT,
    OPENS,
    CLOSES,
    ABSENT,
    _,
    WAIT,
    _,
    NODE_WIDTH,
) = range(15)
"""Columns of nodes; ABSENT and the next tell which sides of a node are absences, WAIT and the next
for how long (-1: until the node is done). A MAXIMUM of -1 is none; LEADS: an absence at the
beginning; SILENT: the first side of an `and` brings no match; OPENS and CLOSES: the span that
begins or ends there, or -1."""
FIRST, LAST, EXPIRES, STAGE, OWES, WHERE, SIDES, ALIVE, LINKS, SINCE, TICKET, _, FIXED = range(13)
"""Columns of tokens, as patterns.meaning.token has them. EXPIRES: the latest time of an event
that it survives; LINKS: in how many lists it stands; LAST of a free one is the next free one;
TICKET and the next: the number of the request for the end of its wait, by side.
Behind them what is bound by slot, and links by list."""
NOBODY = (1 << 32) - 1
"""The token of a timer that a node at the beginning asked for. Of a timer's owner the upper bits
are the key, the lower ones the token."""
KEY_SHIFT = 32
EVENT, BEFORE, HEAD, LENGTH, OWNERS, CELL_WIDTH = range(6)
"""Columns of cells. HEAD: the first cell of the chain; OWNERS: tokens and cells that refer to it;
BEFORE of a free one is the next free one."""
(
    BEGUN,
    NEWEST,
    OLDEST,
    YOUNGEST,
    LATE,
    OWING,
    CREATED,
    LIVED,
    PASSED,
    MARK,
    DUE,
    _,
    LISTS,
) = range(13)
"""Columns of keys. NEWEST: time of the newest event; OLDEST, YOUNGEST: limits of what tokens
began at; LATE: the oldest beginning of a token that came later than `within`; OWING: the token that
owes the first span; CREATED, LIVED: tokens since lists were swept, and those left then; PASSED:
waits that ended since they were; MARK: the last of its timers among those that fire at once, or -1;
DUE and the next: when the waits at the beginning end, by side, or NONE."""
PENDING, ARRIVING, KEPT = range(3)

(
    IS_SEQUENCE,
    COPIES,
    WITHIN,
    LISTS_OF,
    NODES,
    SLOTS,
    PICKED,
    TOKEN_WIDTH,
    KEY_WIDTH,
    PLACE_ROOM,
    NODE_TABLE,
    SPANS,
    LEAVES,
    LEAVES_OF,
    STREAM_OF,
    COMPARED,
    COMPARED_OF,
    PICKS,
    KEYS,
    TOKENS,
    CELLS,
    PLACES,
    HELD,
    FREE_TOKEN,
    FREE_TOKENS,
    FREE_CELL,
    FREE_CELLS,
    FOUND,
    GONE,
    LOGGED,
    GROUP,
    ASKED,
    FIRED,
    NEED_TOKENS,
    NEED_CELLS,
    NEED_FOUND,
    NEED_ASKED,
    NOW,
    NUMBER,
    IS_TIMED,
    ASKED_LATE,
    MEMORY,
) = range(42)
"""The head of `m`, the pattern's memory: what it is; how wide rows are; where tables begin; how
many tokens and cells are free, and the first of them; what came of the slice so far, and what room
the next event or firing needs; the clock, the number of the last request for a timer, whether there
are any, and whether one was due no later than the timer that asked.

COPIES: many tokens may be copied for one event, an `every` stands in the middle. LISTS_OF: lists of
each node. SPANS: first and last node of each `every`. LEAVES: node and side, of each stream (from
LEAVES_OF on) from the last state to the first. COMPARED: slot, offset, whether that counts from the
last, and operator of each comparison, those of a slot's filter from COMPARED_OF on. PICKS: what is
read of a match, likewise. PLACES: how many cells hold each held event, by stream. HELD: by
comparison value and nullness of each held event, the first of no event.
"""
(
    COUNT_OF,
    ROOM,
    LOG_ROOM,
    ASKED_ROOM,
    OWN_AT,
    OTHER_AT,
    FOUND_AT,
    GONE_AT,
    LOG_AT,
    ASKED_AT,
    EVENTS,
) = range(11)
"""The head of `x`, the slice: how many events, room for matches, new cells and requests, and where
tables begin. EVENTS: by event its key, time, stream, a bit per slot whose own condition it fulfils,
the clock there, and its moment. Own and other: by comparison value and nullness
of each event. Found: completing events (-1 - firing for what a timer brings), what leaves together,
times, then each pick. Gone: (stream, place) of held events that nobody holds any more. Log: new
cells. Asked: due time, number and owner of the timers that were asked for."""
EVENT_WIDTH = 6
MATCH_WIDTH = 3


# --- places ---------------------------------------------------------------------------------------


@part
def node_at(m: Any, node: int) -> int:
    """Where a node's row begins."""
    return int(m[NODE_TABLE] + node * NODE_WIDTH)


@part
def token_at(m: Any, t: int) -> int:
    """Where a token's row begins."""
    return int(m[TOKENS] + t * m[TOKEN_WIDTH])


@part
def cell_at(m: Any, c: int) -> int:
    """Where a cell's row begins."""
    return int(m[CELLS] + c * CELL_WIDTH)


@part
def key_at(m: Any, k: int) -> int:
    """Where a key's row begins."""
    return int(m[KEYS] + k * m[KEY_WIDTH])


@part
def link_of(m: Any, node: int, which: int) -> int:
    """The column of a list's links."""
    return int(FIXED + m[SLOTS] + node * m[LISTS_OF] + which)


@part
def list_of(m: Any, node: int, which: int) -> int:
    """The column of a list's first token; the last and the length stand behind it."""
    return int(LISTS + 3 * (node * m[LISTS_OF] + which))


# --- memory ---------------------------------------------------------------------------------------


@part
def new_token(m: Any, k: int) -> int:
    """A token that has bound nothing."""
    t = m[FREE_TOKEN]
    at = token_at(m, t)
    m[FREE_TOKENS] -= 1
    m[FREE_TOKEN] = m[at + LAST]
    for column in range(m[TOKEN_WIDTH]):
        m[at + column] = -1
    m[at + FIRST] = NONE
    m[at + EXPIRES] = FAR
    m[at + SIDES] = 0
    m[at + ALIVE] = 1
    m[at + LINKS] = 0
    m[key_at(m, k) + CREATED] += 1
    return int(t)


@part
def free_token(m: Any, t: int) -> None:
    """The number may be given out again."""
    m[token_at(m, t) + LAST] = m[FREE_TOKEN]
    m[FREE_TOKEN] = t
    m[FREE_TOKENS] += 1


@part
def bind(m: Any, x: Any, t: int, slot: int, e: int) -> None:
    """The token has bound the event, behind what the slot has."""
    before = m[token_at(m, t) + FIXED + slot]
    c = m[FREE_CELL]
    at = cell_at(m, c)
    m[FREE_CELLS] -= 1
    m[FREE_CELL] = m[at + BEFORE]
    m[at + EVENT] = e
    m[at + BEFORE] = before
    m[cell_at(m, c) + HEAD] = c if before == -1 else m[cell_at(m, before) + HEAD]
    m[cell_at(m, c) + LENGTH] = 1 if before == -1 else m[cell_at(m, before) + LENGTH] + 1
    m[cell_at(m, c) + OWNERS] = 1
    m[token_at(m, t) + FIXED + slot] = c
    x[x[LOG_AT] + m[LOGGED]] = c
    m[LOGGED] += 1


@part
def release(m: Any, x: Any, slot: int, c: int) -> None:
    """One owner less of a cell, and of those before it where it was the last."""
    while c > -1:
        m[cell_at(m, c) + OWNERS] -= 1
        if m[cell_at(m, c) + OWNERS] > 0:
            return
        event = m[cell_at(m, c) + EVENT]
        if event < -1:
            stream, place = m[m[STREAM_OF] + slot], -event - 2
            m[m[PLACES] + (stream) * m[PLACE_ROOM] + place] -= 1
            if m[m[PLACES] + (stream) * m[PLACE_ROOM] + place] == 0:
                x[x[GONE_AT] + 2 * m[GONE]] = stream
                x[x[GONE_AT] + 2 * m[GONE] + 1] = place
                m[GONE] += 1
        before = m[cell_at(m, c) + BEFORE]
        m[cell_at(m, c) + BEFORE] = m[FREE_CELL]
        m[FREE_CELL] = c
        m[FREE_CELLS] += 1
        c = before


@part
def kill(m: Any, x: Any, k: int, t: int) -> None:
    """The token is over. Its number is free once it stands in no list."""
    m[token_at(m, t) + ALIVE] = 0
    for slot in range(m[SLOTS]):
        release(m, x, slot, m[token_at(m, t) + FIXED + slot])
    if m[key_at(m, k) + OWING] == t:
        m[key_at(m, k) + OWING] = -1
    if m[token_at(m, t) + LINKS] == 0:
        free_token(m, t)


@kernel
def append(m: Any, k: int, t: int, node: int, which: int) -> None:
    """The token stands at the end of a list."""
    at, link = list_of(m, node, which), link_of(m, node, which)
    m[token_at(m, t) + link] = -1
    m[token_at(m, t) + LINKS] += 1
    if m[key_at(m, k) + at] == -1:
        m[key_at(m, k) + at] = t
    else:
        m[token_at(m, m[key_at(m, k) + at + 1]) + link] = t
    m[key_at(m, k) + at + 1] = t
    m[key_at(m, k) + at + 2] += 1


@part
def left_list(m: Any, t: int) -> None:
    """The token has left a list; the number of a dead one that is in none is free."""
    m[token_at(m, t) + LINKS] -= 1
    if m[token_at(m, t) + LINKS] == 0 and m[token_at(m, t) + ALIVE] == 0:
        free_token(m, t)


@part
def unlink(m: Any, k: int, t: int, before: int, node: int, which: int) -> None:
    """The token behind `before` leaves a list."""
    at, link = list_of(m, node, which), link_of(m, node, which)
    after = m[token_at(m, t) + link]
    if before == -1:
        m[key_at(m, k) + at] = after
    else:
        m[token_at(m, before) + link] = after
    if after == -1:
        m[key_at(m, k) + at + 1] = before
    m[key_at(m, k) + at + 2] -= 1
    left_list(m, t)


@part
def stands_in(m: Any, k: int, t: int, node: int, which: int) -> bool:
    """Whether the token is in a list."""
    link = link_of(m, node, which)
    other = m[key_at(m, k) + list_of(m, node, which)]
    while other != -1 and other != t:
        other = m[token_at(m, other) + link]
    return bool(other == t)


@part
def settle(m: Any, k: int, node: int, which: int) -> None:
    """Who is in another list of a node waits there now, each once: in a sequence who waits for time
    to pass comes again with each event that it collects in front of the node."""
    at, link = list_of(m, node, which), link_of(m, node, which)
    t = m[key_at(m, k) + at]
    m[key_at(m, k) + at] = m[key_at(m, k) + at + 1] = -1
    m[key_at(m, k) + at + 2] = 0
    kind = m[node_at(m, node) + KIND]
    again = kind == LOGICAL or (kind == ABSENCE and which == ARRIVING)
    once = m[IS_SEQUENCE] and again
    while t != -1:
        after = m[token_at(m, t) + link]
        if not (once and stands_in(m, k, t, node, PENDING)):
            append(m, k, t, node, PENDING)
        left_list(m, t)
        t = after


# --- what a token has bound -----------------------------------------------------------------------


@part
def picked(m: Any, t: int, slot: int, offset: int, from_last: int, e: int) -> int:
    """One of the events that a slot has bound, or -1."""
    c = m[token_at(m, t) + FIXED + slot]
    if c == -1:
        return -1
    if c == CANDIDATE:
        return e if offset == 0 else -1
    length = m[cell_at(m, c) + LENGTH]
    back = offset if from_last else length - 1 - offset
    if back < 0 or back >= length:
        return -1
    if back == length - 1:
        return int(m[cell_at(m, m[cell_at(m, c) + HEAD]) + EVENT])
    for _ in range(back):
        c = m[cell_at(m, c) + BEFORE]
    return int(m[cell_at(m, c) + EVENT])


BASE, NEGATED, OR_NEXT = 7, 8, 16
"""An operator: the comparison itself, whether it must not hold, and whether it is enough that it or
the next one holds."""


@part
def fits(m: Any, x: Any, t: int, slot: int, e: int) -> bool:
    """Whether the event fulfils a state's conditions, for a token."""
    if not (x[EVENTS + (3) * x[COUNT_OF] + e] >> slot) & 1:
        return False
    any_holds = False
    for c in range(m[m[COMPARED_OF] + slot], m[m[COMPARED_OF] + slot + 1]):
        other, offset, from_last = (
            m[m[COMPARED] + 4 * (c) + 0],
            m[m[COMPARED] + 4 * (c) + 1],
            m[m[COMPARED] + 4 * (c) + 2],
        )
        op = m[m[COMPARED] + 4 * (c) + 3]
        ref = picked(m, t, other, offset, from_last, e)
        if other == slot and not from_last and ref == -1:
            # The candidate stands last in its own slot.
            tail = m[token_at(m, t) + FIXED + slot]
            if offset == (0 if tail == -1 else m[cell_at(m, tail) + LENGTH]):
                ref = e
        own = x[OWN_AT] + 2 * (c * x[COUNT_OF] + e)
        if ref >= 0:
            at = x[OTHER_AT] + 2 * (c * x[COUNT_OF] + ref)
            value, null = x[at], x[at + 1]
        else:
            at = m[HELD] + 2 * (c * (m[PLACE_ROOM] + 1) - ref - 1)
            value, null = m[at], m[at + 1]
        base = op & BASE
        is_true = base == 1 if null or x[own + 1] else holds(base, x[own], value)
        any_holds |= is_true != (op & NEGATED > 0)
        if op & OR_NEXT:
            continue
        if not any_holds:
            return False
        any_holds = False
    return True


@part
def matched(m: Any, x: Any, k: int, t: int, e: int) -> None:
    """The token is a match."""
    found = x[FOUND_AT] + m[FOUND]
    x[found] = e
    x[found + x[ROOM]] = m[GROUP]
    x[found + 2 * x[ROOM]] = m[token_at(m, t) + LAST]
    for i in range(m[PICKED]):
        at = m[PICKS] + 3 * i
        x[found + (MATCH_WIDTH + i) * x[ROOM]] = picked(m, t, m[at], m[at + 1], m[at + 2], e)
    m[FOUND] += 1
    kill(m, x, k, t)
