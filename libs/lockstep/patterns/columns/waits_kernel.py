"""What absences ask of the clock: when a token's wait ends, and when those at the beginning of a
chain do (semantics 12.5). Requests are only noted here; `kernel` puts them among the timers."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import part
from lockstep.patterns.columns.token_kernel import (
    ASKED,
    ASKED_AT,
    DUE,
    KEY_SHIFT,
    LAST,
    NOBODY,
    NONE,
    NOW,
    NUMBER,
    SINCE,
    TICKET,
    WAIT,
    WHERE,
    key_at,
    node_at,
    token_at,
)
from lockstep.patterns.meaning.absent_state import MAX_CATCH_UP_WAITS

NOWHERE = -1
"""No node, no time."""


@part
def ask(m: Any, x: Any, k: int, t: int, due: int) -> int:
    """Asks for a timer; gives the number of the request."""
    m[NUMBER] += 1
    at = x[ASKED_AT] + 3 * m[ASKED]
    x[at], x[at + 1], x[at + 2] = due, m[NUMBER], (k << KEY_SHIFT) | t
    m[ASKED] += 1
    return int(m[NUMBER])


@part
def wait(m: Any, x: Any, k: int, t: int, node: int) -> None:
    """The token waits at a node, from its last event on, or from now if it has none. Who is there
    since that time has asked already."""
    at = token_at(m, t)
    since = m[NOW] if m[at + LAST] == NOWHERE else m[at + LAST]
    if m[at + WHERE] != node or m[at + SINCE] != since:
        m[at + WHERE], m[at + SINCE] = node, since
        for side in range(2):
            span = m[node_at(m, node) + WAIT + side]
            if span >= 0:
                m[at + TICKET + side] = ask(m, x, k, t, since + span)


@part
def wait_until(m: Any, x: Any, k: int, side: int, due: int) -> None:
    """The wait at the beginning ends then."""
    m[key_at(m, k) + DUE + side] = due
    ask(m, x, k, NOBODY, due)


@part
def wait_anew(m: Any, x: Any, k: int, node: int, side: int, time: int) -> None:
    """What should not come has come: the wait at the beginning starts again, if that is later."""
    due = m[key_at(m, k) + DUE + side]
    wait_until(
        m, x, k, side, max(time + m[node_at(m, node) + WAIT + side], 0 if due == NONE else due)
    )


@part
def following(m: Any, due: int, span: int) -> int:
    """The end of the wait that follows the one which ended at `due`."""
    if m[NOW] - due > MAX_CATCH_UP_WAITS * span:
        return int(m[NOW] + span)
    return int(due + span)
