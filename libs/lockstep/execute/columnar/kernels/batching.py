"""Kernels of the tumbling windows: when batches close (semantics 7.4, 7.8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.execute.columnar.kernels.compiled import kernel


@kernel
def close_by_time(
    starts: Any,
    moments: Any,
    now: Any,
    move_moments: Any,
    move_clock: Any,
    before: int,
    leaps: bool,
    period: int,
    has_start: bool,
    start: int,
    state: Any,
) -> Any:
    """timeBatch: (events collected when it closed, moment, due time, clock) of each closing.

    `state`: [next boundary, whether it is known, events collected, whether there is a last batch].
    Events are counted from the first one collected before the slice.
    """
    room = 2 * (len(move_moments) + len(starts)) + 2
    until = np.empty(room, np.int64)
    moment = np.empty(room, np.int64)
    due = np.empty(room, np.int64)
    clock = np.empty(room, np.int64)
    boundary, known, collected, has_last = state[0], state[1], state[2], state[3]
    taken = 0
    total = collected
    chunks = len(starts) - 1
    out = 0
    move = 0
    for chunk in range(chunks + 1):
        limit = moments[chunk] if chunk < chunks else np.iinfo(np.int64).max
        while move < len(move_moments) and move_moments[move] < limit:
            target = move_clock[move]
            while (total > taken or has_last == 1) and boundary <= target:
                until[out] = total
                moment[out] = move_moments[move]
                due[out] = boundary
                clock[out] = target if leaps else max(boundary, before)
                out += 1
                has_last = 1 if total > taken else 0
                taken = total
                boundary += period
            before = max(before, target)
            move += 1
        if chunk == chunks:
            break
        if total == taken and has_last == 0:
            at = now[chunk]
            if known == 0:
                known = 1
                boundary = at + period
                if has_start:
                    boundary = at + period - (at - start) % period
            elif boundary <= at:
                boundary += ((at - boundary) // period + 1) * period
        total += starts[chunk + 1] - starts[chunk]
    state[0], state[1], state[2], state[3] = boundary, known, total - taken, has_last
    return until[:out], moment[:out], due[:out], clock[:out]


@kernel
def close_by_attribute(value: Any, period: int, has_start: bool, start: int, state: Any) -> Any:
    """externalTimeBatch: (events in front of which a batch closed, the time at which it did).

    `state`: [start, end, whether they are known, latest value].
    """
    events = np.empty(len(value), np.int64)
    time = np.empty(len(value), np.int64)
    begin, end, known, latest = state[0], state[1], state[2], state[3]
    out = 0
    for i in range(len(value)):
        x = value[i]
        if known == 0:
            known = 1
            latest = x
            if has_start:
                begin = start
                end = x + period - (x - begin) % period
            else:
                begin = x
                end = x + period
        latest = max(latest, x)
        if x >= end:
            events[out] = i
            time[out] = latest
            out += 1
            end = latest + period - (latest - begin) % period
    state[0], state[1], state[2], state[3] = begin, end, known, latest
    return events[:out], time[:out]
