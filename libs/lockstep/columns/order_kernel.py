"""Where one ascending row of moments stands among another."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import lent

APART, MEETING, UNORDERED = 0, 1, 2


@lent
def count(those: Any, moments: Any, before: Any, through: Any) -> int:
    """How many of `those`, which ascend, are less than each moment, and how many are not greater.

    MEETING tells that some are equal, UNORDERED that the moments do not ascend, so that what was
    counted is void.
    """
    less, least, found = 0, 0, APART
    for i in range(len(moments)):
        moment = moments[i]
        if i and moment < moments[i - 1]:
            return UNORDERED
        while less < len(those) and those[less] < moment:
            less += 1
        least = max(least, less)
        while least < len(those) and those[least] == moment:
            least += 1
        before[i], through[i] = less, least
        if least != less:
            found = MEETING
    return found
