"""Kernels of the selector: which rows of a chunk come out (semantics 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel


@kernel
def last_of_chunks(starts: Any, wanted: Any) -> Any:
    """The last wanted event of each chunk, -1 where there is none."""
    count = len(starts) - 1
    last = np.full(count, -1, np.int64)
    for chunk in range(count):
        for i in range(starts[chunk + 1] - 1, starts[chunk] - 1, -1):
            if wanted[i]:
                last[chunk] = i
                break
    return last


@kernel
def last_of_groups(starts: Any, wanted: Any, group: Any, groups: int) -> Any:
    """(events, rows per chunk): of each chunk the last wanted event of each group, groups in order
    of their first wanted event."""
    count = len(starts) - 1
    out = np.empty(len(wanted), np.int64)
    lengths = np.zeros(count, np.int64)
    seen = np.full(groups, -1, np.int64)
    place = np.zeros(groups, np.int64)
    n = 0
    for chunk in range(count):
        before = n
        for i in range(starts[chunk], starts[chunk + 1]):
            if not wanted[i]:
                continue
            g = group[i]
            if seen[g] == chunk:
                out[place[g]] = i
            else:
                seen[g] = chunk
                place[g] = n
                out[n] = i
                n += 1
        lengths[chunk] = n - before
    return out[:n], lengths
