"""How far times in columns may lie from the epoch, so that sums of times and periods fit."""

from __future__ import annotations

from typing import Final

from lockstep.columns.column import Longs, Unfit

REACH_MS: Final = 1 << 61
"""Beyond it a time is nobody's, and a time and a period could go round: some send the largest long
for `never`. Nanoseconds that somebody takes for milliseconds are within."""


def within_reach(times: Longs) -> Longs:
    """The times. Unfit where one is beyond reach."""
    if len(times) == 1:  # most slices of a stream on which little comes
        check_time(times.item(0))
    elif len(times) and not (times.min() > -REACH_MS and times.max() < REACH_MS):
        raise Unfit(f"a time beyond {REACH_MS} ms")
    return times


def check_time(time_ms: int) -> None:
    """The same for one."""
    if not -REACH_MS < time_ms < REACH_MS:
        raise Unfit(f"a time beyond {REACH_MS} ms")
