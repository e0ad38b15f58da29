"""Where what a timer brings stands among all that one move of the clock brings, as numbers.

A move of the clock stands at an even moment; there everything has levels that begin with a
*firing*: the timer's due time, its owner's rank (plan.ranks), and a count. A timer
that was asked for too late, with a due time in front of the firing that asked, fires right behind
that one: LATE below it, and a firing of its own there. So the levels order the firings of
independent owners as one queue of all timers would.
"""

from __future__ import annotations

from lockstep.columns.order import BEHIND

LATE = BEHIND >> 1
"""The level below a firing that late timers stand at: behind all that the firing brought, in front
of the next firing."""

Levels = tuple[int, ...]


def label(due_ms: int, rank: int, behind: Levels) -> Levels:
    """The firing of a timer, where `behind` is the last firing before it in the same move (or
    nothing)."""
    if not behind or (due_ms, rank) > behind[:2]:
        return (due_ms, rank, 0)
    if (due_ms, rank) == behind[:2]:
        return (due_ms, rank, behind[2] + 1)
    return (*behind[:3], LATE, *label(due_ms, rank, behind[4:]))


def firing_of(levels: Levels) -> Levels:
    """The firing that brought what stands at some levels."""
    end = 3
    while end < len(levels) and levels[end] == LATE:
        end += 4
    return levels[:end]
