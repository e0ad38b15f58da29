"""The kernel of output rates (semantics 14)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel

TIME, NUMBER = 0, 1
"""Of a group: when it let a row pass, and the number of that row; 0 where it never did."""
COLUMNS = 2


@kernel
def first_by_time(now: Any, group: Any, every: int, number: int, passed: Any) -> Any:
    """Which rows pass: those whose group let none pass in the time before. `number` rows were
    there before these."""
    out = np.zeros(len(now), np.bool_)
    for i in range(len(now)):
        g = group[i]
        if not passed[g, NUMBER] or now[i] - passed[g, TIME] >= every:
            passed[g, TIME], passed[g, NUMBER] = now[i], number + i + 1
            out[i] = True
    return out
