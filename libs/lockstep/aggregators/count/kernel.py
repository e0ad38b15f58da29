"""Kernel of count (see `accumulators` for what it takes)."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel


@kernel
def run_counts(
    kind: Any, group: Any, realm: Any, epochs: Any, emptied: Any, count: Any, out: Any
) -> None:
    """count()."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            count[g] = 0
        count[g] += 1 if kind[i] == 0 else -1
        out[i] = count[g]
