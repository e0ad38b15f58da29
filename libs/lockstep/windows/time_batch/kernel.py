"""Kernel of timeBatch(t, true): events pass at once, batches leave together (semantics 7.4)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import kernel
from lockstep.columns.timer_kernel import pop, push
from lockstep.windows.batching_kernel import append, boundary_behind
from lockstep.windows.sliding_kernel import follow
from lockstep.windows.time.kernel import Clock, Events, Lines


class Grid(NamedTuple):
    """Boundaries: whole periods from the first event, or from the start where there is one."""

    period: int
    has_start: bool
    start: int


@kernel
def blank_lines(room: int) -> Lines:
    """Room for so many; they have no row."""
    kind, row = np.empty(room, np.int8), np.full(room, -1, np.int64)
    return Lines(kind, row, np.empty(room, np.int64), np.empty(room, np.int64))


@kernel
def leave_together(gone: Any, at: int, n: int, shows_expired: bool, lines: Lines) -> int:
    """Writes `[expired …][RESET]` of the places that are gone; gives how many lines there are."""
    for p in gone:
        if shows_expired:
            lines.kind[n], lines.place[n], lines.time[n] = 1, p, at
            n += 1
    lines.kind[n], lines.place[n], lines.time[n] = 3, gone[0], at
    return n + 1


@kernel
def pass_by_time(
    events: Events,
    clock: Clock,
    grid: Grid,
    shows_expired: bool,
    inside: int,
    state: Any,
    heap: Any,
    counts: Any,
    collecting: Any,
    newer: Any,
) -> Any:
    """(kind, row, place and time of each line; offsets of the chunks; a line for each chunk; places
    that are free).

    The line of a chunk: that of the slice (-1: a boundary's), its moment, when the timer was due,
    the clock at it, the timer's number, the key. `state` by key: [next boundary, number of the
    pending request or 0]. `collecting` and `newer` are as in `pass_by_length`.
    """
    starts, moments, now, keys, places = events
    before, chunks = clock.before, len(starts) - 1
    most = counts[0] + chunks  # boundaries: of those that wait, and of those that chunks ask for
    room = 2 * len(places) + inside + most
    lines = blank_lines(room)
    kind, row, place, time = lines
    offsets = np.empty(chunks + most + 1, np.int64)
    made = np.empty((chunks + most, 6), np.int64)
    free = np.empty(len(places) + inside, np.int64)
    n, out, freed, move, chunk = 0, 0, 0, 0, 0
    while chunk < chunks or move < len(clock.moments):
        if move < len(clock.moments) and (chunk == chunks or clock.moments[move] < moments[chunk]):
            # Boundaries in front of the chunk, one by one.
            target = clock.clock[move]
            if counts[0] == 0 or heap[0, 0] > target:
                before = max(before, target)
                move += 1
                continue
            due, number, key = heap[0, 0], heap[0, 1], heap[0, 2]
            counts[0] = pop(heap, counts[0])
            at = target if clock.leaps else max(due, before)
            offsets[out] = n
            made[out] = np.array([-1, clock.moments[move], due, at, number, key])
            out += 1
            state[key, 0], state[key, 1] = due + grid.period, 0
            gone = follow(collecting[key, 0], newer, collecting[key, 2])
            free[freed : freed + len(gone)] = gone
            freed += len(gone)
            n = leave_together(gone, at, n, shows_expired, lines)
            collecting[key, 2] = 0
            continue
        key, at = keys[chunk], now[chunk]
        offsets[out] = n
        made[out] = np.array([chunk, moments[chunk], 0, at, 0, key])
        out += 1
        if collecting[key, 2] == 0:
            state[key, 0] = boundary_behind(
                state[key, 0], at, grid.period, grid.has_start, grid.start
            )
            counts[1] += 1
            state[key, 1] = counts[1]
            counts[0] = push(heap, counts[0], state[key, 0], counts[1], key)
        for i in range(starts[chunk], starts[chunk + 1]):
            new = places[i]
            append(new, key, collecting, newer)
            kind[n], row[n], place[n], time[n] = 0, i, new, at
            n += 1
        chunk += 1
    offsets[out] = n
    return (kind[:n], row[:n], place[:n], time[:n]), offsets[: out + 1], made[:out], free[:freed]
