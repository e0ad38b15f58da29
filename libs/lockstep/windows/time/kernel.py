"""time(t) where what leaves by a timer is seen, for many realms at once (semantics 7.3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.compiled import kernel, plain
from lockstep.columns.moves import Moves
from lockstep.columns.timer_kernel import pop, push


class Realms(NamedTuple):
    """By realm: the first and last row inside, how many there are, and how many timers wait."""

    head: Any
    tail: Any
    count: Any
    waits: Any


class Clock(NamedTuple):
    """Moves of the clock, where it stood before, and whether it leaps."""

    moments: Any
    clock: Any
    before: int
    leaps: bool

    @classmethod
    def of(cls, moves: Moves) -> Clock:
        """Those of a slice, as kernels take them."""
        arrays = plain(moves.moments, np.int64), plain(moves.clock, np.int64)
        return cls(*arrays, moves.before, moves.leaps)


@kernel
def ask(due: int, realm: int, waits: Any, heap: Any, counts: Any) -> None:
    """Sets a realm's timer, unless it waits for that time already."""
    if waits[realm] > 0:
        for i in range(counts[0]):
            if heap[i, 2] == realm and heap[i, 0] == due:
                return
    counts[1] += 1
    counts[0] = push(heap, counts[0], due, counts[1], realm)
    waits[realm] += 1


class Events(NamedTuple):
    """By chunk: first event (and the number behind the last), moment, clock, realm; by event: its
    place."""

    starts: Any
    moments: Any
    now: Any
    keys: Any
    places: Any

    @classmethod
    def of(cls, chunks: Chunks, keys: Any, places: Any) -> Events:
        """Those of a slice, as kernels take them."""
        starts, moments = plain(chunks.starts, np.int64), plain(chunks.order.moments, np.int64)
        return cls(starts, moments, plain(chunks.now, np.int64), keys, places)


class Rows(NamedTuple):
    """Held rows by place: their time, and who is next in their realm."""

    times: Any
    newer: Any


class Lines(NamedTuple):
    """Events of a flow: kind, row of the slice, place, time."""

    kind: Any
    row: Any
    place: Any
    time: Any


@kernel
def leave(realm: int, limit: int, at: int, n: int, rows: Rows, realms: Realms, lines: Lines) -> int:
    """A realm's rows of up to that time leave; gives how many lines there are."""
    head = realms.head
    while head[realm] != -1 and rows.times[head[realm]] <= limit:
        p = head[realm]
        head[realm] = rows.newer[p]
        realms.count[realm] -= 1
        lines.kind[n], lines.row[n], lines.place[n], lines.time[n] = 1, -1, p, at
        n += 1
    return n


@kernel
def enter(realm: int, i: int, p: int, n: int, rows: Rows, realms: Realms, lines: Lines) -> int:
    """A row enters a realm's window; gives how many lines there are."""
    if realms.head[realm] == -1:
        realms.head[realm] = p
    else:
        rows.newer[realms.tail[realm]] = p
    rows.newer[p] = -1
    realms.tail[realm] = p
    realms.count[realm] += 1
    lines.kind[n], lines.row[n], lines.place[n], lines.time[n] = 0, i, p, rows.times[p]
    return n + 1


@kernel
def slide_realms(
    events: Events,
    lengths: Any,
    rows: Rows,
    clock: Clock,
    realms: Realms,
    heap: Any,
    counts: Any,
    inside: int,
) -> Any:
    """Events enter the windows of their chunks' realms; what is too old leaves in front of them, or
    by a timer. `lengths`: by realm, again and again. `heap` and `counts` are the timers.

    Gives also a line per chunk of the flow: the chunk of the slice (-1 for a timer's), its moment,
    when the timer was due, the clock at it, the number of the timer, the realm.
    """
    starts, moments, now, keys, places = events
    before = clock.before
    room, chunks = 2 * len(places) + inside, len(starts) - 1
    lines = Lines(
        np.empty(room, np.int8),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
    )
    offsets = np.empty(chunks + room + 1, np.int64)
    made = np.empty((chunks + room + 1, 6), np.int64)
    n, out, move, chunk = 0, 0, 0, 0
    while chunk < chunks or move < len(clock.moments):
        offsets[out] = n
        if move < len(clock.moments) and (chunk == chunks or clock.moments[move] < moments[chunk]):
            # Timers in front of the chunk, one by one.
            target = clock.clock[move]
            if counts[0] == 0 or heap[0, 0] > target:
                before = max(before, target)
                move += 1
                continue
            due, number, realm = heap[0, 0], heap[0, 1], heap[0, 2]
            counts[0] = pop(heap, counts[0])
            realms.waits[realm] -= 1
            at = target if clock.leaps else max(due, before)
            made[out] = np.array([-1, clock.moments[move], due, at, number, realm])
            length = lengths[realm % len(lengths)]
            n = leave(realm, at - length, at, n, rows, realms, lines)
            if realms.head[realm] != -1:
                due = rows.times[realms.head[realm]] + length
                ask(due, realm, realms.waits, heap, counts)
        else:
            realm, at = keys[chunk], now[chunk]
            made[out] = np.array([chunk, moments[chunk], 0, at, 0, realm])
            length = lengths[realm % len(lengths)]
            for i in range(starts[chunk], starts[chunk + 1]):
                n = leave(realm, at - length, at, n, rows, realms, lines)
                if realms.head[realm] == -1:
                    ask(rows.times[places[i]] + length, realm, realms.waits, heap, counts)
                n = enter(realm, i, places[i], n, rows, realms, lines)
            chunk += 1
        if n > offsets[out]:
            out += 1
    offsets[out] = n
    kind, row, place, time = lines
    return kind[:n], row[:n], place[:n], time[:n], offsets[: out + 1], made[:out]
