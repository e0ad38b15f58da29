"""Kernels that lay out the events of a slice's records."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import lent


class Laid(NamedTuple):
    """Of events: their timestamps, their moments, and the app clock there."""

    times: Any
    moments: Any
    now: Any


@lent
def lay(rows: Any, firsts: Any, clocks: Any, heard: Any, laid: Any) -> None:
    """Moments of the events of records, of which each has so many `rows` and a first moment, and
    the clock. It stands at a record's own clock at least, and moves with the events of those that
    are `heard`."""
    at = 0
    now = clocks[0]
    for record in range(len(rows)):
        now = max(now, clocks[record])
        moment, moves = firsts[record] + 3, heard[record]
        for _ in range(rows[record]):
            if moves:
                now = max(now, laid.times[at])
            laid.moments[at], laid.now[at] = moment, now
            moment += 2
            at += 1


@lent
def pick(laid: Any, begins: Any, rows: Any, records: Any, found: Any) -> None:
    """The events of some records, which begin there and have so many rows."""
    at = 0
    for record in records:
        for event in range(begins[record], begins[record] + rows[record]):
            found.times[at], found.moments[at] = laid.times[event], laid.moments[event]
            found.now[at] = laid.now[event]
            at += 1
