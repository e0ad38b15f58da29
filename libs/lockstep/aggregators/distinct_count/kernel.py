"""Kernel of distinctCount (see `accumulators` for what it takes)."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel


@kernel
def run_distinct(
    kind: Any,
    group: Any,
    realm: Any,
    epochs: Any,
    emptied: Any,
    pair: Any,
    pair_emptied: Any,
    copies: Any,
    owing: Any,
    count: Any,
    out: Any,
) -> None:
    """distinctCount(x): `pair` numbers the combinations of group and value; `owing` is 1 more than
    the pair that a group owes (contract.Debt), whose copies are below 0, or 0."""
    for i in range(len(kind)):
        if kind[i] == 3:
            epochs[realm[i]] += 1
            continue
        g = group[i]
        q = pair[i]
        epoch = epochs[realm[i]]
        if emptied[g] != epoch:
            emptied[g] = epoch
            count[g] = 0
            owing[g] = 0
        if pair_emptied[q] != epoch:
            pair_emptied[q] = epoch
            copies[q] = 0
        if owing[g] != 0 and owing[g] != q + 1:
            copies[owing[g] - 1] = 0
            owing[g] = 0
        if kind[i] == 0:
            copies[q] += 1
            if copies[q] == 1:
                count[g] += 1
        else:
            copies[q] -= 1
            if copies[q] == 0:
                count[g] -= 1
        if owing[g] != 0 or copies[q] < 0:
            owing[g] = q + 1 if copies[q] < 0 else 0
        out[i] = count[g]
