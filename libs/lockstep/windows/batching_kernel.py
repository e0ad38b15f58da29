"""Kernels of the tumbling windows: when the batches of each key close (semantics 7.2, 7.4),
and what leaves then.

A closing is told by how many events of the slice came before it, and by its key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import inlined, kernel
from lockstep.columns.timer_kernel import pop, push

UNKNOWN = np.iinfo(np.int64).min
"""A boundary that no event has set yet."""


@inlined
def append(place: int, key: int, chains: Any, links: Any) -> None:
    """Puts a place behind the others of its key: `chains` are [first, last, how many] by key."""
    links[place] = -1
    if chains[key, 2] == 0:
        chains[key, 0] = place
    else:
        links[chains[key, 1]] = place
    chains[key, 1] = place
    chains[key, 2] += 1


@kernel
def close_by_length(keys: Any, length: int, collected: Any) -> Any:
    """lengthBatch: (the events that complete a batch, their keys)."""
    events = np.empty(len(keys), np.int64)
    closing = np.empty(len(keys), np.int64)
    out = 0
    for i in range(len(keys)):
        key = keys[i]
        collected[key] += 1
        if collected[key] >= length:
            collected[key] = 0
            events[out] = i
            closing[out] = key
            out += 1
    return events[:out], closing[:out]


@kernel
def boundary_behind(boundary: int, now: int, period: int, has_start: bool, start: int) -> int:
    """The boundary of a grid behind `now`; those that passed without events are left out."""
    if boundary == UNKNOWN:
        return now + period - ((now - start) % period if has_start else 0)
    if boundary <= now:
        return boundary + ((now - boundary) // period + 1) * period
    return boundary


@kernel
def close_by_time(
    starts: Any,
    moments: Any,
    now: Any,
    keys: Any,
    move_moments: Any,
    move_clock: Any,
    before: int,
    leaps: bool,
    period: int,
    has_start: bool,
    start: int,
    state: Any,
    heap: Any,
    counts: Any,
) -> Any:
    """timeBatch: (events before it, key, moment, due time, clock, place among the firings of its
    moment and due time) of each closing.

    `state` by key: [next boundary, events collected, whether there is a last batch, number of the
    pending request or 0]. `heap`: the pending timers; `counts`: [how many, last number]. `starts`,
    `moments`, `now` and `keys` are those of the chunks.
    """
    size, number = counts[0], counts[1]
    # A batch leaves twice at most, and every key that waits has a last one.
    closed = np.empty((3 * size + 2 * len(starts), 6), np.int64)
    out = 0
    move = 0
    for chunk in range(len(starts)):
        is_last = chunk == len(starts) - 1
        limit = np.iinfo(np.int64).max if is_last else moments[chunk]
        while move < len(move_moments) and move_moments[move] < limit:
            target = move_clock[move]
            while size > 0 and heap[0, 0] <= target:
                due, key = heap[0, 0], heap[0, 2]
                size = pop(heap, size)
                closed[out, 0], closed[out, 1] = starts[chunk], key
                closed[out, 2], closed[out, 3] = move_moments[move], due
                # Timers look at their own due time, or (playback) at the clock that leapt there.
                closed[out, 4] = target if leaps else max(due, before)
                closed[out, 5] = 0
                if out > 0 and closed[out - 1, 2] == closed[out, 2] and closed[out - 1, 3] == due:
                    closed[out, 5] = closed[out - 1, 5] + 1
                out += 1
                state[key, 0], state[key, 3] = due + period, 0
                state[key, 2] = 1 if state[key, 1] > 0 else 0
                if state[key, 1] > 0:
                    number += 1
                    state[key, 3] = number
                    size = push(heap, size, state[key, 0], number, key)
                state[key, 1] = 0
            before = max(before, target)
            move += 1
        if is_last:
            break
        key = keys[chunk]
        empty = state[key, 1] == 0 and state[key, 2] == 0
        if empty:
            state[key, 0] = boundary_behind(state[key, 0], now[chunk], period, has_start, start)
        # Something held without a timer: see the reference's window.
        if empty or state[key, 3] == 0:
            number += 1
            state[key, 3] = number
            size = push(heap, size, state[key, 0], number, key)
        state[key, 1] += starts[chunk + 1] - starts[chunk]
    counts[0], counts[1] = size, number
    return closed[:out]


@kernel
def count_again(keys: Any, at: Any, closing: Any, again: Any, collecting: Any, last: Any) -> int:
    """How many rows of last batches come out once more; see `batches`."""
    collected, held = collecting[:, 2].copy(), last[:, 2].copy()
    total, i = 0, 0
    for c in range(len(at)):
        while i < at[c]:
            collected[keys[i]] += 1
            i += 1
        key = closing[c]
        if again[c]:
            # It leaves and comes, and leaves once more with the next.
            total += 2 * held[key]
            collected[key] += held[key]
        held[key], collected[key] = collected[key], 0
    return total


@kernel
def batches(
    keys: Any,
    places: Any,
    at: Any,
    closing: Any,
    again: Any,
    shows_last: bool,
    inside: int,
    collecting: Any,
    last: Any,
    newer: Any,
) -> Any:
    """`[expired][RESET][current]` of each closing: (kind, place, offsets of the closings, places
    that are free).

    The slice's rows have `keys` and `places`; closings stand behind the first `at` of them. With
    those of `again` (empty: none) the last batch of the key comes once more, in front of what was
    collected, and they are one batch.
    `collecting` and `last` are chains by key, [first place, last place, how many], with `inside`
    rows at most; `newer` links them. A RESET bears the place of a row of its key.
    """
    rows = inside + len(places)
    more = count_again(keys, at, closing, again, collecting, last) if len(again) else 0
    kind = np.empty((2 if shows_last else 1) * rows + more + len(at), np.int8)
    place = np.empty(len(kind), np.int64)
    offsets = np.empty(len(at) + 1, np.int64)
    free = np.empty(rows, np.int64)
    n, freed, i = 0, 0, 0
    for c in range(len(at) + 1):
        until = at[c] if c < len(at) else len(places)
        while i < until:
            key, p = keys[i], places[i]
            append(p, key, collecting, newer)
            i += 1
        offsets[c] = n
        if c == len(at):
            break
        key = closing[c]
        comes_again = len(again) > 0 and again[c] != 0
        p = last[key, 0]
        for _ in range(last[key, 2]):
            if not comes_again:
                free[freed] = p
                freed += 1
            if shows_last:
                kind[n], place[n] = 1, p
                n += 1
            p = newer[p]
        kind[n], place[n] = 3, collecting[key, 0] if collecting[key, 2] else last[key, 0]
        n += 1
        if comes_again:
            newer[last[key, 1]] = collecting[key, 0]
            collecting[key, 0] = last[key, 0]
            collecting[key, 2] += last[key, 2]
        p = collecting[key, 0]
        for _ in range(collecting[key, 2]):
            kind[n], place[n] = 0, p
            n += 1
            p = newer[p]
        for k in range(3):
            last[key, k] = collecting[key, k]
        collecting[key, 2] = 0
    return kind[:n], place[:n], offsets, free[:freed]
