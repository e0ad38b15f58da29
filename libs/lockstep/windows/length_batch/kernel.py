"""Kernel of lengthBatch(n, true): events pass at once, batches leave together (semantics 7.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel
from lockstep.windows.batching_kernel import append


@kernel
def pass_by_length(
    starts: Any,
    now: Any,
    keys: Any,
    places: Any,
    length: int,
    shows_expired: bool,
    inside: int,
    collecting: Any,
    newer: Any,
) -> Any:
    """(kind, row, place and time of each line; offsets of the chunks; places that are free).

    The event behind a full batch expires it: `[expired …][RESET]` stand in front of it. With a
    length of 0 they stand behind each event, of which nothing stays. `collecting` are chains by
    key, [first place, last place, how many], with `inside` rows in all; `newer` links them.
    """
    events = len(places)
    room = 3 * events + inside
    kind, row = np.empty(room, np.int8), np.full(room, -1, np.int64)
    place, time = np.empty(room, np.int64), np.empty(room, np.int64)
    offsets = np.empty(len(starts), np.int64)
    free = np.empty(events + inside, np.int64)
    n, freed = 0, 0
    for chunk in range(len(starts) - 1):
        offsets[chunk] = n
        key = keys[chunk]
        for i in range(starts[chunk], starts[chunk + 1]):
            new = places[i]
            if length == 0:
                kind[n], row[n], place[n], time[n] = 0, i, new, now[chunk]
                n += 1
            if length == 0 or collecting[key, 2] == length:
                first = new if length == 0 else collecting[key, 0]
                p = first
                for _ in range(max(length, 1)):
                    free[freed] = p
                    freed += 1
                    if shows_expired:
                        kind[n], place[n], time[n] = 1, p, now[chunk]
                        n += 1
                    p = newer[p]
                kind[n], place[n], time[n] = 3, first, now[chunk]
                n += 1
                collecting[key, 2] = 0
            if length == 0:
                continue
            append(new, key, collecting, newer)
            kind[n], row[n], place[n], time[n] = 0, i, new, now[chunk]
            n += 1
    offsets[len(starts) - 1] = n
    return (kind[:n], row[:n], place[:n], time[:n]), offsets, free[:freed]
