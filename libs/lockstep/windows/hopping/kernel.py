"""Kernels of hopping(t, hop): every `hop` milliseconds the events of the last t (semantics 7.16).

A row may wait for the next hop and be in the last batch as well; `uses` tells by place: 1 waits, 2
is in the batch. Chains by key are [first place, last place, how many]; `newer` links what waits,
`later` the batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel
from lockstep.columns.timer_kernel import pop, push
from lockstep.windows.batching_kernel import append, boundary_behind


@kernel
def forget_batch(
    key: int,
    shows_last: bool,
    n: int,
    freed: int,
    last: Any,
    later: Any,
    uses: Any,
    kind: Any,
    place: Any,
    free: Any,
) -> Any:
    """Takes a key's last batch away, and writes it as leaving if somebody sees that; gives the next
    free lines of what is written and of what is free."""
    p = last[key, 0]
    for _ in range(last[key, 2]):
        if shows_last:
            kind[n], place[n] = 1, p
            n += 1
        uses[p] -= 2
        if uses[p] == 0:
            free[freed] = p
            freed += 1
        p = later[p]
    return n, freed


@kernel
def make_batch(
    key: int,
    oldest: int,
    due: int,
    n: int,
    freed: int,
    times: Any,
    waiting: Any,
    last: Any,
    newer: Any,
    later: Any,
    uses: Any,
    kind: Any,
    place: Any,
    free: Any,
) -> Any:
    """Drops what is older than `oldest`, and writes what is before `due` as the batch; see
    `forget_batch`."""
    p, count = waiting[key, 0], waiting[key, 2]
    waiting[key, 2], last[key, 2] = 0, 0
    for _ in range(count):
        following = newer[p]
        if times[p] < oldest:
            uses[p] = 0
            free[freed] = p
            freed += 1
            p = following
            continue
        append(p, key, waiting, newer)
        if times[p] < due:
            append(p, key, last, later)
            uses[p] += 2
            kind[n], place[n] = 0, p
            n += 1
        p = following
    return n, freed


@kernel
def hop(
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
    length_ms: int,
    period: int,
    shows_last: bool,
    inside: int,
    state: Any,
    heap: Any,
    counts: Any,
    waiting: Any,
    last: Any,
    newer: Any,
    later: Any,
    uses: Any,
) -> Any:
    """(kind, place, free places; offset, key, moment, due time, clock and place among the firings
    of its moment and due time of each chunk).

    `state` by key: [next hop, number of the pending request or 0]; the rest as for
    `batching.close_by_time`.
    """
    kind, place = np.empty(1024, np.int8), np.empty(1024, np.int64)
    hops = np.empty((64, 6), np.int64)
    free = np.empty(inside + len(places), np.int64)
    n, out, freed, move = 0, 0, 0, 0
    size, number = counts[0], counts[1]
    for chunk in range(len(starts)):
        is_last = chunk == len(starts) - 1
        limit = np.iinfo(np.int64).max if is_last else moments[chunk]
        while move < len(move_moments) and move_moments[move] < limit:
            target = move_clock[move]
            while size > 0 and heap[0, 0] <= target:
                due, key = heap[0, 0], heap[0, 2]
                size = pop(heap, size)
                room = n + waiting[key, 2] + last[key, 2] + 1
                if room > len(kind):
                    kind = np.append(kind, np.empty(room, np.int8))
                    place = np.append(place, np.empty(room, np.int64))
                if out == len(hops):
                    hops = np.concatenate((hops, np.empty((out, 6), np.int64)))
                begun, had = n, last[key, 2]
                of_key = last[key, 0]
                n, freed = forget_batch(
                    key, shows_last, n, freed, last, later, uses, kind, place, free
                )
                mark = n
                n, freed = make_batch(
                    key,
                    due - length_ms,
                    due,
                    n + 1,
                    freed,
                    times,
                    waiting,
                    last,
                    newer,
                    later,
                    uses,
                    kind,
                    place,
                    free,
                )
                if had or last[key, 2]:
                    kind[mark], place[mark] = 3, of_key if had else last[key, 0]
                    hops[out, 0], hops[out, 1] = begun, key
                    hops[out, 2], hops[out, 3] = move_moments[move], due
                    # As in `close_by_time`: the clock that a timer looks at.
                    hops[out, 4] = target if leaps else max(due, before)
                    hops[out, 5] = 0
                    if out > 0 and hops[out - 1, 2] == hops[out, 2] and hops[out - 1, 3] == due:
                        hops[out, 5] = hops[out - 1, 5] + 1
                    out += 1
                else:
                    n = begun
                state[key, 0], state[key, 1] = due + period, 0
                if waiting[key, 2] or last[key, 2]:
                    number += 1
                    state[key, 1] = number
                    size = push(heap, size, due + period, number, key)
            before = max(before, target)
            move += 1
        if is_last:
            break
        key = keys[chunk]
        if waiting[key, 2] == 0 and last[key, 2] == 0:
            state[key, 0] = boundary_behind(state[key, 0], now[chunk], period, False, 0)
            number += 1
            state[key, 1] = number
            size = push(heap, size, state[key, 0], number, key)
        for i in range(starts[chunk], starts[chunk + 1]):
            p = places[i]
            uses[p] = 1
            append(p, key, waiting, newer)
    counts[0], counts[1] = size, number
    return kind[:n], place[:n], free[:freed], hops[:out]
