"""Kernel of externalTimeBatch: when the batches of each key close (semantics 7.8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel
from lockstep.columns.timer_kernel import pop, push
from lockstep.windows.batching_kernel import UNKNOWN
from lockstep.windows.time.kernel import Clock

START, END, LATEST, DUE, NUMBER, FLUSHED, COLLECTED = range(7)
"""What is known of a key: when its first batch began and its open one ends (or UNKNOWN), the latest
value, when its silence has lasted too long, the number of that timer's request (0 when it does not
wait), whether the open batch came out early, and how many events came behind that."""


@kernel
def close_by_attribute(
    starts: Any,
    moments: Any,
    now: Any,
    keys: Any,
    value: Any,
    begins: Any,
    period: int,
    timeout: int,
    clock: Clock,
    state: Any,
    heap: Any,
    counts: Any,
) -> Any:
    """For each closing: how many events come before it, its key, when it closed by the attribute,
    whether the batch came out before, the chunk that closes it (-1 for a timer), its moment, when
    the timer was due, the clock at it, the number of the timer.

    `starts`, `moments`, `now` and `keys` are those of the chunks; a batch is counted from the
    `begins` of the key's first event. `timeout` is 0 where no silence closes a batch. In `heap`
    each key has one timer, which is asked for again when events have moved it.
    """
    closed = np.empty((len(value) + counts[0] + len(starts), 9), np.int64)
    before, move, out = clock.before, 0, 0
    for chunk in range(len(starts)):
        is_last = chunk == len(starts) - 1
        limit = np.iinfo(np.int64).max if is_last else moments[chunk]
        while timeout > 0 and move < len(clock.moments) and clock.moments[move] < limit:
            target = clock.clock[move]
            while counts[0] > 0 and heap[0, 0] <= target:
                due, number, key = heap[0, 0], heap[0, 1], heap[0, 2]
                counts[0] = pop(heap, counts[0])
                if due != state[key, DUE]:
                    due, number = state[key, DUE], state[key, NUMBER]
                    counts[0] = push(heap, counts[0], due, number, key)
                    continue
                closed[out, :4] = starts[chunk], key, state[key, LATEST], state[key, FLUSHED]
                closed[out, 4], closed[out, 5], closed[out, 6] = -1, clock.moments[move], due
                closed[out, 7] = target if clock.leaps else max(due, before)
                closed[out, 8] = number
                out += 1
                state[key, NUMBER], state[key, FLUSHED], state[key, COLLECTED] = 0, 1, 0
            before = max(before, target)
            move += 1
        if is_last:
            break
        key = keys[chunk]
        for i in range(starts[chunk], starts[chunk + 1]):
            x = value[i]
            if state[key, END] == UNKNOWN:
                state[key, START], state[key, LATEST] = begins[i], x
                state[key, END] = x + period - (x - begins[i]) % period
            state[key, LATEST] = max(state[key, LATEST], x)
            if x >= state[key, END]:
                if state[key, COLLECTED] > 0:
                    closed[out, :4] = i, key, state[key, LATEST], state[key, FLUSHED]
                    closed[out, 4], closed[out, 5], closed[out, 6] = chunk, moments[chunk], 0
                    closed[out, 7], closed[out, 8] = now[chunk], 0
                    out += 1
                state[key, FLUSHED], state[key, COLLECTED] = 0, 0
                latest = state[key, LATEST]
                state[key, END] = latest + period - (latest - state[key, START]) % period
            state[key, COLLECTED] += 1
        due = now[chunk] + timeout
        if timeout > 0 and (due != state[key, DUE] or state[key, NUMBER] == 0):
            counts[1] += 1
            if state[key, NUMBER] == 0:
                counts[0] = push(heap, counts[0], due, counts[1], key)
            state[key, DUE], state[key, NUMBER] = due, counts[1]
    return closed[:out]
