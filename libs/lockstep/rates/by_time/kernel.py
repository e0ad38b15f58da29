"""The kernel of output rates (semantics 14)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel


@kernel
def first_by_time(now: Any, group: Any, every: int, number: int, passed: Any, numbers: Any) -> Any:
    """Which rows pass: those whose group let none pass in the time before. `passed` and `numbers`
    tell, by group, when it did last, and the number of that row; 0 where it never did. `number`
    rows were there before these."""
    out = np.zeros(len(now), np.bool_)
    for i in range(len(now)):
        g = group[i]
        if not numbers[g] or now[i] - passed[g] >= every:
            passed[g], numbers[g] = now[i], number + i + 1
            out[i] = True
    return out
