"""Kernels of the sliding windows: what enters and leaves, event by event (semantics 7.1, 7.3, 7.7).

Held rows are chained by key in order of arrival: `head` and `tail` are places (-1 for none),
`newer` links them. A flow is four arrays: kind (0 enters, 1 leaves), row (of the slice, or -1),
place (of the held rows) and time. `offsets` are those of the chunks of the flow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel


@kernel
def slide_by_length(
    starts: Any,
    now: Any,
    keys: Any,
    places: Any,
    length: int,
    head: Any,
    tail: Any,
    count: Any,
    newer: Any,
) -> Any:
    """length(n): when n are inside, the oldest leaves in front of the new one."""
    events = len(places)
    kind = np.empty(2 * events, np.int8)
    row = np.empty(2 * events, np.int64)
    place = np.empty(2 * events, np.int64)
    time = np.empty(2 * events, np.int64)
    offsets = np.empty(len(starts), np.int64)
    n = 0
    for chunk in range(len(starts) - 1):
        offsets[chunk] = n
        key = keys[chunk]
        for i in range(starts[chunk], starts[chunk + 1]):
            if count[key] >= length:
                p = head[key]
                head[key] = newer[p]
                if head[key] == -1:
                    tail[key] = -1
                count[key] -= 1
                kind[n] = 1
                row[n] = -1
                place[n] = p
                time[n] = now[chunk]
                n += 1
            p = places[i]
            newer[p] = -1
            if tail[key] == -1:
                head[key] = p
            else:
                newer[tail[key]] = p
            tail[key] = p
            count[key] += 1
            kind[n] = 0
            row[n] = i
            place[n] = p
            n += 1
    offsets[len(starts) - 1] = n
    return kind[:n], row[:n], place[:n], time[:n], offsets


@kernel
def pass_by_length(starts: Any, now: Any, gone: Any, old: int, length: int) -> Any:
    """length(n) of one realm whose `old` rows from before the slice leave from `gone` (places), in
    that order: a row that leaves is one of the slice (`row`) or an old one (`place`)."""
    events = starts[-1]
    room = events + max(0, old + events - length)
    kind, row = np.empty(room, np.int8), np.empty(room, np.int64)
    place, time = np.empty(room, np.int64), np.empty(room, np.int64)
    offsets = np.empty(len(starts), np.int64)
    n = 0
    for chunk in range(len(starts) - 1):
        offsets[chunk] = n
        for i in range(starts[chunk], starts[chunk + 1]):
            leaves = old + i - length
            if leaves >= 0:
                kind[n], row[n], place[n], time[n] = 1, leaves - old, -1, now[chunk]
                if leaves < old:
                    row[n], place[n] = -1, gone[leaves]
                n += 1
            kind[n], row[n], place[n], time[n] = 0, i, -1, now[chunk]
            n += 1
    offsets[len(starts) - 1] = n
    return kind, row, place, time, offsets


@kernel
def slide_by_time(
    starts: Any,
    now: Any,
    keys: Any,
    places: Any,
    length_ms: int,
    most: int,
    times: Any,
    inside: int,
    head: Any,
    tail: Any,
    count: Any,
    newer: Any,
) -> Any:
    """time(t) and, with `most` above 0, timeLength(t, most): what is out by the clock leaves in
    front of the new one, and the oldest when there are too many; `inside` rows are held."""
    events = len(places)
    kind = np.empty(2 * events + inside, np.int8)
    row = np.empty(2 * events + inside, np.int64)
    place = np.empty(2 * events + inside, np.int64)
    time = np.empty(2 * events + inside, np.int64)
    offsets = np.empty(len(starts), np.int64)
    n = 0
    for chunk in range(len(starts) - 1):
        offsets[chunk] = n
        key = keys[chunk]
        last = now[chunk] - length_ms
        for i in range(starts[chunk], starts[chunk + 1]):
            ages = True
            while head[key] != -1:
                ages = ages and times[head[key]] <= last
                if not ages and not count[key] >= most > 0:
                    break
                p = head[key]
                head[key] = newer[p]
                if head[key] == -1:
                    tail[key] = -1
                count[key] -= 1
                kind[n] = 1
                row[n] = -1
                place[n] = p
                time[n] = now[chunk]
                n += 1
            p = places[i]
            newer[p] = -1
            if tail[key] == -1:
                head[key] = p
            else:
                newer[tail[key]] = p
            tail[key] = p
            count[key] += 1
            kind[n] = 0
            row[n] = i
            place[n] = p
            n += 1
    offsets[len(starts) - 1] = n
    return kind[:n], row[:n], place[:n], time[:n], offsets


@kernel
def slide_by_attribute(
    starts: Any,
    keys: Any,
    places: Any,
    length_ms: int,
    value: Any,
    values: Any,
    inside: int,
    head: Any,
    tail: Any,
    count: Any,
    newer: Any,
) -> Any:
    """externalTime(a, t): what is too old for the new event's value leaves in front of it."""
    events = len(places)
    kind = np.empty(2 * events + inside, np.int8)
    row = np.empty(2 * events + inside, np.int64)
    place = np.empty(2 * events + inside, np.int64)
    time = np.empty(2 * events + inside, np.int64)
    offsets = np.empty(len(starts), np.int64)
    n = 0
    for chunk in range(len(starts) - 1):
        offsets[chunk] = n
        key = keys[chunk]
        for i in range(starts[chunk], starts[chunk + 1]):
            last = value[i] - length_ms
            while head[key] != -1 and values[head[key]] <= last:
                p = head[key]
                head[key] = newer[p]
                if head[key] == -1:
                    tail[key] = -1
                count[key] -= 1
                kind[n] = 1
                row[n] = -1
                place[n] = p
                time[n] = value[i]
                n += 1
            p = places[i]
            newer[p] = -1
            if tail[key] == -1:
                head[key] = p
            else:
                newer[tail[key]] = p
            tail[key] = p
            count[key] += 1
            kind[n] = 0
            row[n] = i
            place[n] = p
            n += 1
    offsets[len(starts) - 1] = n
    return kind[:n], row[:n], place[:n], time[:n], offsets


@kernel
def follow(head: int, newer: Any, count: int) -> Any:
    """The places of a chain, oldest first."""
    places = np.empty(count, np.int64)
    for i in range(count):
        places[i] = head
        head = newer[head]
    return places


@kernel
def sweep_by_time(
    last: int, times: Any, head: Any, tail: Any, count: Any, newer: Any, inside: int
) -> Any:
    """(places that are out by the clock, in order of each key; the keys they left)."""
    places = np.empty(inside, np.int64)
    keys = np.empty(inside, np.int64)
    n = 0
    for key in range(len(head)):
        while head[key] != -1 and times[head[key]] <= last:
            p = head[key]
            head[key] = newer[p]
            if head[key] == -1:
                tail[key] = -1
            count[key] -= 1
            places[n] = p
            keys[n] = key
            n += 1
    return places[:n], keys[:n]


@kernel
def leave_one(
    at: int, n: int, chain: Any, newer: Any, kind: Any, row: Any, place: Any, time: Any
) -> int:
    """Writes the oldest row, which there is, as leaving at `at`; gives the next free line."""
    kind[n] = 1
    row[n] = -1
    place[n] = chain[0]
    time[n] = at
    chain[0] = newer[chain[0]]
    chain[2] -= 1
    if chain[0] == -1:
        chain[1] = -1
    return n + 1


@kernel
def leave(
    until: int,
    at: int,
    n: int,
    times: Any,
    chain: Any,
    newer: Any,
    kind: Any,
    row: Any,
    place: Any,
    time: Any,
) -> int:
    """Writes what is not younger than `until` as leaving at `at`; gives the next free line."""
    while chain[0] != -1 and times[chain[0]] <= until:
        kind[n] = 1
        row[n] = -1
        place[n] = chain[0]
        time[n] = at
        n += 1
        chain[0] = newer[chain[0]]
        chain[2] -= 1
    if chain[0] == -1:
        chain[1] = -1
    return n


@kernel
def enter(i: int, p: int, n: int, chain: Any, newer: Any, kind: Any, row: Any, place: Any) -> int:
    """Writes an event as entering; gives the next free line."""
    newer[p] = -1
    if chain[1] == -1:
        chain[0] = p
    else:
        newer[chain[1]] = p
    chain[1] = p
    chain[2] += 1
    kind[n] = 0
    row[n] = i
    place[n] = p
    return n + 1


@kernel
def ask(due: int, pending: Any, count: int) -> int:
    """Adds a due time to ascending ones, if it is not among them; gives how many there are."""
    at = count
    while at > 0 and pending[at - 1] >= due:
        if pending[at - 1] == due:
            return count
        at -= 1
    for i in range(count, at, -1):
        pending[i] = pending[i - 1]
    pending[at] = due
    return count + 1


@kernel
def slide_by_timers(
    starts: Any,
    moments: Any,
    now: Any,
    places: Any,
    length_ms: int,
    most: int,
    times: Any,
    inside: int,
    move_moments: Any,
    move_clock: Any,
    before: int,
    leaps: bool,
    chain: Any,
    newer: Any,
    pending: Any,
    asked: int,
) -> Any:
    """time(t), and with `most` from 0 on timeLength(t, most), where what leaves by a timer is seen:
    chunks of timers between those of events.

    One key. `chain` holds head, tail and count; `before` is the clock before the slice. `pending`
    holds the `asked` due times that timers wait for, ascending, and has room for one per event
    more: who enters an empty window of time(t) asks, and an old request stands although its event
    has left; timeLength(t, n) has one request at a time.
    Gives also a line per chunk of the flow: the chunk of the slice (-1 for a timer's), its moment,
    when the timer was due and the clock at it; and how many timers wait behind the slice.
    """
    room = 2 * len(places) + inside
    kind, row = np.empty(room, np.int8), np.empty(room, np.int64)
    place, time = np.empty(room, np.int64), np.empty(room, np.int64)
    chunks = len(starts) - 1
    offsets = np.empty(chunks + room + 1, np.int64)
    made = np.empty((chunks + room + 1, 4), np.int64)
    n = 0
    out = 0
    move = 0
    for chunk in range(chunks + 1):
        until = moments[chunk] if chunk < chunks else np.iinfo(np.int64).max
        while move < len(move_moments) and move_moments[move] < until:
            target = move_clock[move]
            while asked > 0 and pending[0] <= target:
                # Timers look at their own due time, or (playback) at the clock that leapt there.
                at = target if leaps else max(pending[0], before)
                offsets[out], made[out, 0], made[out, 1] = n, -1, move_moments[move]
                made[out, 2], made[out, 3] = pending[0], at
                asked -= 1
                for i in range(asked):
                    pending[i] = pending[i + 1]
                m = leave(at - length_ms, at, n, times, chain, newer, kind, row, place, time)
                if m > n:
                    out += 1
                    n = m
                if chain[0] != -1:
                    asked = ask(times[chain[0]] + length_ms, pending, asked)
            before = max(before, target)
            move += 1
        if chunk == chunks:
            break
        offsets[out], made[out, 0], made[out, 1] = n, chunk, until
        made[out, 2], made[out, 3] = 0, now[chunk]
        out += 1
        for i in range(starts[chunk], starts[chunk + 1]):
            last = now[chunk] - length_ms
            n = leave(last, now[chunk], n, times, chain, newer, kind, row, place, time)
            if chain[2] >= most > 0:
                n = leave_one(now[chunk], n, chain, newer, kind, row, place, time)
            if chain[0] == -1 and most < 0:
                asked = ask(times[places[i]] + length_ms, pending, asked)
            n = enter(i, places[i], n, chain, newer, kind, row, place)
            if asked == 0 and most >= 0:
                asked = ask(times[chain[0]] + length_ms, pending, asked)
    offsets[out] = n
    return kind[:n], row[:n], place[:n], time[:n], offsets[: out + 1], made[:out], asked
