"""Kernels of session(gap [, key [, latency]]): what enters and which sessions end (semantics 7.9).

A key has a session that is open and one that is put aside, each in one of its two lines of
`sessions`; `lines` tells by key which line is which, or -1. The columns of a line are named below;
its rows are linked by `newer`, the late ones in front.

A session has one timer in the heap. It is not moved when events come: when it fires too early it is
asked for again. A timer whose session is gone is known by its due time and number, which are not
those of the line any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel
from lockstep.columns.timer_kernel import pop, push

START, END, HEAD, TAIL, LAST_LATE, COUNT, LATE, NUMBER, TIMER_DUE, TIMER_NUMBER = range(10)
COLUMNS = 10
OPEN, ASIDE = 0, 1
BEHIND_ASIDE = 1 << 60
"""Added to the numbers of open sessions: at one time those that were put aside end first."""


@kernel
def line_of(key: int, which: int, lines: Any) -> int:
    """The line of a key's open session or of that put aside, or -1."""
    return 2 * key + lines[key, which] if lines[key, which] >= 0 else -1


@kernel
def put_in_front(line: int, head: int, tail: int, count: int, sessions: Any, newer: Any) -> None:
    """Adds linked rows behind the late ones, as late."""
    last = sessions[line, LAST_LATE]
    if last == -1:
        newer[tail] = sessions[line, HEAD]
        sessions[line, HEAD] = head
    else:
        newer[tail] = newer[last]
        newer[last] = head
    if newer[tail] == -1:
        sessions[line, TAIL] = tail
    sessions[line, LAST_LATE] = tail
    sessions[line, COUNT] += count
    sessions[line, LATE] += count


@kernel
def append(
    line: int, p: int, end: int, counts: Any, by_key: bool, sessions: Any, newer: Any
) -> None:
    """Adds a row that is not before the start; the session ends at `end` at the earliest."""
    newer[p] = -1
    newer[sessions[line, TAIL]] = p
    sessions[line, TAIL] = p
    sessions[line, COUNT] += 1
    if end > sessions[line, END]:
        sessions[line, END] = end
        if by_key:
            counts[1] += 1
            sessions[line, NUMBER] = counts[1]


@kernel
def add_late(
    key: int, p: int, time: int, gap: int, latency: int, sessions: Any, lines: Any, newer: Any
) -> bool:
    """Adds an event from before the start of the open session; False when it is too late."""
    own, other = line_of(key, OPEN, lines), line_of(key, ASIDE, lines)
    if time >= sessions[own, START] - gap:
        put_in_front(own, p, p, 1, sessions, newer)
        sessions[own, START] = time
        touches = other >= 0 and sessions[other, END] >= time
    elif other < 0 or time < sessions[other, START] - gap or time > sessions[other, END]:
        return False
    else:
        if time < sessions[other, START]:
            put_in_front(other, p, p, 1, sessions, newer)
            sessions[other, START] = time
        else:
            append(other, p, time + gap, sessions[other], False, sessions, newer)
        touches = sessions[other, END] >= sessions[own, START]
    if touches:
        head, tail = sessions[other, HEAD], sessions[other, TAIL]
        put_in_front(own, head, tail, sessions[other, COUNT], sessions, newer)
        sessions[own, START] = min(sessions[own, START], sessions[other, START])
        lines[key, ASIDE] = -1
    return True


@kernel
def ask(line: int, due: int, counts: Any, sessions: Any, heap: Any) -> None:
    """The line's timer, which is not in the heap."""
    sessions[line, TIMER_DUE], sessions[line, TIMER_NUMBER] = due, sessions[line, NUMBER]
    counts[0] = push(heap, counts[0], due, sessions[line, NUMBER], line)


@kernel
def expire(line: int, n: int, sessions: Any, newer: Any, kind: Any, row: Any, place: Any) -> int:
    """Writes a session's rows as leaving; gives the next free line."""
    p = sessions[line, HEAD]
    for _ in range(sessions[line, COUNT]):
        kind[n], row[n], place[n] = 1, -1, p
        n += 1
        p = newer[p]
    return n


@kernel
def end_open(
    key: int,
    n: int,
    latency: int,
    sessions: Any,
    lines: Any,
    newer: Any,
    heap: Any,
    counts: Any,
    kind: Any,
    row: Any,
    place: Any,
) -> int:
    """The open session of a key is over: aside for the latency, or out at once."""
    line, other = line_of(key, OPEN, lines), line_of(key, ASIDE, lines)
    leaves = line if latency == 0 else other
    if leaves >= 0:
        n = expire(leaves, n, sessions, newer, kind, row, place)
    if latency == 0:
        lines[key, OPEN] = -1
        return n
    lines[key, OPEN], lines[key, ASIDE] = -1, lines[key, OPEN]
    counts[1] += 1
    sessions[line, NUMBER] = counts[1]
    ask(line, sessions[line, END] + latency, counts, sessions, heap)
    return n


@kernel
def open_session(
    key: int,
    p: int,
    time: int,
    gap: int,
    by_key: bool,
    sessions: Any,
    lines: Any,
    newer: Any,
    heap: Any,
    counts: Any,
) -> None:
    """A session begins with a row."""
    lines[key, OPEN] = 1 if lines[key, ASIDE] == 0 else 0
    line = line_of(key, OPEN, lines)
    newer[p] = -1
    counts[1] += 1
    sessions[line, START], sessions[line, END] = time, time + gap
    sessions[line, HEAD], sessions[line, TAIL] = p, p
    sessions[line, LAST_LATE], sessions[line, COUNT], sessions[line, LATE] = -1, 1, 0
    sessions[line, NUMBER] = counts[1] + (0 if by_key else BEHIND_ASIDE)
    ask(line, time + gap, counts, sessions, heap)


@kernel
def fire(
    due: int,
    n: int,
    latency: int,
    by_key: bool,
    sessions: Any,
    lines: Any,
    newer: Any,
    heap: Any,
    counts: Any,
    kind: Any,
    row: Any,
    place: Any,
) -> Any:
    """The sessions that are over at `due`, which the first timer is, leave: all of them, or
    (`by_key`) that of one key. Gives the next free line and the last key."""
    key = 0
    while counts[0] > 0 and heap[0, 0] == due:
        number, line = heap[0, 1], heap[0, 2]
        counts[0] = pop(heap, counts[0])
        owner, at = line // 2, line % 2
        if lines[owner, OPEN] != at and lines[owner, ASIDE] != at:
            continue
        if sessions[line, TIMER_DUE] != due or sessions[line, TIMER_NUMBER] != number:
            continue
        over = sessions[line, END] + (latency if lines[owner, ASIDE] == at else 0)
        if over > due:
            ask(line, over, counts, sessions, heap)
            continue
        key = owner
        if lines[owner, ASIDE] == at:
            lines[owner, ASIDE] = -1
            n = expire(line, n, sessions, newer, kind, row, place)
        else:
            n = end_open(owner, n, latency, sessions, lines, newer, heap, counts, kind, row, place)
        if by_key:
            break
    return n, key


@kernel
def take(
    first: int,
    until: int,
    n: int,
    keys: Any,
    places: Any,
    times: Any,
    gap: int,
    latency: int,
    by_key: bool,
    sessions: Any,
    lines: Any,
    newer: Any,
    heap: Any,
    counts: Any,
    kind: Any,
    row: Any,
    place: Any,
    dropped: Any,
) -> int:
    """The events of a chunk enter, those that are too late for any session do not: see `dropped`.
    Gives the next free line."""
    for i in range(first, until):
        key, p = keys[i], places[i]
        time = times[p]
        line = line_of(key, OPEN, lines)
        if line >= 0 and time < sessions[line, START]:
            if not add_late(key, p, time, gap, latency, sessions, lines, newer):
                dropped[i] = True
                continue
        elif line >= 0 and time < sessions[line, END]:
            append(line, p, time + gap, counts, by_key, sessions, newer)
        else:
            if line >= 0:
                n = end_open(
                    key, n, latency, sessions, lines, newer, heap, counts, kind, row, place
                )
            open_session(key, p, time, gap, by_key, sessions, lines, newer, heap, counts)
        kind[n], row[n], place[n] = 0, i, p
        n += 1
    return n


@kernel
def run_sessions(
    starts: Any,
    moments: Any,
    now: Any,
    keys: Any,
    places: Any,
    times: Any,
    move_moments: Any,
    move_clock: Any,
    before: int,
    leaps: bool,
    gap: int,
    latency: int,
    by_key: bool,
    inside: int,
    sessions: Any,
    lines: Any,
    newer: Any,
    heap: Any,
    counts: Any,
) -> Any:
    """(kind, row, place of what enters and leaves; of each chunk its offset, the chunk of the slice
    that it comes of (-1: of a timer), moment, due time, clock, key of a timer's and place among the
    firings of its moment and due time; which events were too late).

    `by_key` (partitions): each key's sessions end by a timer of their own, in the order of the
    requests. `keys` are those of the events. `counts`: how many timers, the last number.
    """
    room = 2 * len(places) + inside
    kind, row, place = np.empty(room, np.int8), np.empty(room, np.int64), np.empty(room, np.int64)
    made = np.empty((len(starts) + room + 1, 7), np.int64)
    dropped = np.zeros(len(places), np.bool_)
    n, out, move = 0, 0, 0
    for chunk in range(len(starts)):
        is_last = chunk == len(starts) - 1
        limit = np.iinfo(np.int64).max if is_last else moments[chunk]
        while move < len(move_moments) and move_moments[move] < limit:
            target = move_clock[move]
            while counts[0] > 0 and heap[0, 0] <= target:
                begun, due = n, heap[0, 0]
                n, key = fire(
                    due,
                    n,
                    latency,
                    by_key,
                    sessions,
                    lines,
                    newer,
                    heap,
                    counts,
                    kind,
                    row,
                    place,
                )
                if n == begun:
                    continue
                made[out, 0], made[out, 1], made[out, 2] = begun, -1, move_moments[move]
                made[out, 3], made[out, 5], made[out, 6] = due, key, 0
                made[out, 4] = target if leaps else max(due, before)
                if out > 0 and made[out - 1, 1] == -1:
                    last = made[out - 1]
                    if last[2] == made[out, 2] and last[3] == due:
                        made[out, 6] = last[6] + 1
                out += 1
            before = max(before, target)
            move += 1
        if is_last:
            break
        begun = n
        n = take(
            starts[chunk],
            starts[chunk + 1],
            n,
            keys,
            places,
            times,
            gap,
            latency,
            by_key,
            sessions,
            lines,
            newer,
            heap,
            counts,
            kind,
            row,
            place,
            dropped,
        )
        if n > begun:
            made[out, 0], made[out, 1], made[out, 2], made[out, 3] = begun, chunk, limit, 0
            made[out, 4], made[out, 5], made[out, 6] = now[chunk], 0, 0
            out += 1
    return kind[:n], row[:n], place[:n], made[:out], dropped
