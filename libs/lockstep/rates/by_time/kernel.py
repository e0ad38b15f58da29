"""The kernel of output rates (semantics 14)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.compiled import kernel


@kernel
def first_by_time(now: Any, group: Any, every: int, passed: Any, known: Any) -> Any:
    """Which rows pass: those whose group let none pass in the time before. `passed` and `known`
    tell, by group, when it did last, and whether it did at all."""
    out = np.zeros(len(now), np.bool_)
    for i in range(len(now)):
        g = group[i]
        if not known[g] or now[i] - passed[g] >= every:
            known[g] = True
            passed[g] = now[i]
            out[i] = True
    return out
