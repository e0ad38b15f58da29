"""Kernels of keyed tables: writes in order, and reads at any moment between them (semantics 10).

`latest` is the place of the row of each key, -1 where there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel

INSERT, UPSERT, UPDATE, DELETE = 0, 1, 2, 3
NOTHING = -2


@kernel
def write(kind: Any, key: Any, place: Any, latest: Any, number: Any, next_number: int) -> Any:
    """(place of the key's row before each write or NOTHING when it changed nothing, next
    number)."""
    previous = np.empty(len(kind), np.int64)
    for i in range(len(kind)):
        k = key[i]
        there = latest[k] != -1
        if (kind[i] == 0 and there) or (kind[i] >= 2 and not there):
            previous[i] = -2
            continue
        previous[i] = latest[k]
        if kind[i] == 3:
            latest[k] = -1
            continue
        if not there:
            number[k] = next_number
            next_number += 1
        latest[k] = place[i]
    return previous, next_number


@kernel
def read(key: Any, before: Any, op_key: Any, op_place: Any, previous: Any, latest: Any) -> Any:
    """The place that each key has when `before` of the writes are done; keys of -1 have none."""
    found = np.full(len(key), -1, np.int64)
    j = len(op_key)
    for i in range(len(key) - 1, -1, -1):
        while j > before[i]:
            j -= 1
            if previous[j] != -2:
                latest[op_key[j]] = previous[j]
        if key[i] >= 0:
            found[i] = latest[key[i]]
    while j < len(op_key):
        if previous[j] != -2:
            latest[op_key[j]] = op_place[j]
        j += 1
    return found


@kernel
def find_origins(keeps: Any, place: Any, previous: Any, origin: Any) -> None:
    """Where each place has a value from that rows keep when they are written again: changes
    `origin`, which begins as each place itself."""
    for i in range(len(place)):
        if keeps[i] and previous[i] >= 0 and place[i] >= 0:
            origin[place[i]] = origin[previous[i]]
