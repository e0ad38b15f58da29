"""Kernels that lay out the events of a slice's records."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import lent


class Laid(NamedTuple):
    """Of events: their moments, and the app clock there."""

    moments: Any
    now: Any


class Moved(NamedTuple):
    """When the app clock moves, and what to."""

    moments: Any
    clocks: Any


@lent
def lay(
    rows: Any, firsts: Any, clocks: Any, heard: Any, begins: Any, times: Any, laid: Any, moved: Any
) -> None:
    """Lays the events of records, of which each has so many `rows`, a first moment, and a place
    where its events begin, as their `times` do. The clock stands at a record's own clock at least.
    The events of records that are `heard` move it, and `moved` has room for them."""
    moves = 0
    now = clocks[0]
    for record in range(len(rows)):
        now = max(now, clocks[record])
        moment, place, hears = firsts[record] + 3, begins[record], heard[record]
        for _ in range(rows[record]):
            if hears:
                now = max(now, times[place])
                moved.moments[moves], moved.clocks[moves] = moment - 1, now
                moves += 1
            laid.moments[place], laid.now[place] = moment, now
            moment += 2
            place += 1
