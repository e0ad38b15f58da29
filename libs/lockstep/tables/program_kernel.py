"""What writes test and compute of a row that is there, while they are made: a program is a few
steps on a stack of numbers, for every pair of a write and a row.

A number stands in 64 bits: whole numbers, booleans and codes of strings as they are, `float` and
`double` as a double. Each array of such numbers comes twice, once seen as doubles (`real…`). Nulls
stand beside them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lockstep.columns.compiled import inlined, part

(
    GIVEN, HELD, TO_DOUBLE, TO_SINGLE,
    ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER,
    REAL_ADD, REAL_SUBTRACT, REAL_MULTIPLY, REAL_DIVIDE, REAL_REMAINDER,
    EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL,
    REAL_EQUAL, REAL_NOT_EQUAL, REAL_LESS, REAL_LESS_EQUAL, REAL_GREATER, REAL_GREATER_EQUAL,
    AND, OR, NOT, IS_NULL, CHOOSE, FIRST_PRESENT, SEEN, UNSEEN,
) = range(34)  # fmt: skip
STACK = 32
"""How many numbers a program may have on its stack."""


class Values(NamedTuple):
    """`owner` tells each write's writer. By writer: the steps of its test (from, to; none: every
    row passes), and by attribute what a new row gets (a given column, -1 for null) or the steps
    that compute it (`born`), what a changed one gets (-1: it keeps its own) and the steps that
    compute it. `kept` are the attributes that are followed here: `cells` has them by attribute and
    place, `given` the columns of the writes.

    A write that is foretold hangs on the row that was seen when its events asked the table, before
    any of them wrote: `guards` are the steps that tell by writer whether it is made. `moments`
    tells each write's moment of asking (-1: it is not foretold), and is empty where none is.
    """

    owner: Any
    tests: Any
    guards: Any
    moments: Any
    inserted: Any
    born: Any
    changed: Any
    computed: Any
    steps: Any
    kept: Any
    given: Any
    missing: Any
    cells: Any
    gone: Any
    stack: Any
    real_stack: Any
    nulls: Any


@inlined
def passes(values: Any, write: int, place: int, seen: int) -> bool:
    """Whether a row passes the test of a write."""
    owner = values.owner[write]
    first, end = values.tests[owner, 0], values.tests[owner, 1]
    if first == end:
        return True
    _run(values, first, end, write, place, seen)
    return values.stack[0] != 0 and not values.nulls[0]


@inlined
def is_made(values: Any, write: int, seen: int) -> bool:
    """Whether a foretold write is made, by the row that was seen (-1: there was none)."""
    owner = values.owner[write]
    first, end = values.guards[owner, 0], values.guards[owner, 1]
    if first == end:
        return True
    _run(values, first, end, write, -1, seen)
    return values.stack[0] != 0 and not values.nulls[0]


@inlined
def begin(values: Any, write: int, new: int, seen: int) -> None:
    """The values of a row that a write inserts."""
    owner = values.owner[write]
    for number in range(len(values.kept)):
        attribute = values.kept[number]
        column = values.inserted[owner, attribute]
        first, end = values.born[owner, attribute, 0], values.born[owner, attribute, 1]
        if first != end:
            _run(values, first, end, write, -1, seen)
            values.cells[attribute, new] = values.stack[0]
            values.gone[attribute, new] = values.nulls[0]
        elif column < 0:
            values.cells[attribute, new], values.gone[attribute, new] = 0, True
        else:
            values.cells[attribute, new] = values.given[column, write]
            values.gone[attribute, new] = values.missing[column, write]


@inlined
def carry_on(values: Any, write: int, old: int, new: int, seen: int) -> None:
    """The values of a row as a write changes it."""
    owner = values.owner[write]
    for number in range(len(values.kept)):
        attribute = values.kept[number]
        column = values.changed[owner, attribute]
        first = values.computed[owner, attribute, 0]
        end = values.computed[owner, attribute, 1]
        if first != end:
            _run(values, first, end, write, old, seen)
            values.cells[attribute, new] = values.stack[0]
            values.gone[attribute, new] = values.nulls[0]
        elif column < 0:
            values.cells[attribute, new] = values.cells[attribute, old]
            values.gone[attribute, new] = values.gone[attribute, old]
        else:
            values.cells[attribute, new] = values.given[column, write]
            values.gone[attribute, new] = values.missing[column, write]


@inlined
def _run(values: Any, first: int, end: int, write: int, place: int, seen: int) -> None:
    """Makes the steps; the result stands at the bottom of the stack."""
    stack, real, nulls = values.stack, values.real_stack, values.nulls
    top = -1
    for at in range(first, end):
        what, which = values.steps[at, 0], values.steps[at, 1]
        if what == GIVEN:
            top += 1
            stack[top], nulls[top] = values.given[which, write], values.missing[which, write]
        elif what == HELD:
            top += 1
            stack[top], nulls[top] = values.cells[which, place], values.gone[which, place]
        elif what == SEEN:
            top += 1
            if seen < 0:
                stack[top], nulls[top] = 0, True
            else:
                stack[top], nulls[top] = values.cells[which, seen], values.gone[which, seen]
        elif what == UNSEEN:
            top += 1
            stack[top], nulls[top] = seen < 0, False
        elif what == TO_DOUBLE:
            real[top] = np.float64(stack[top])
        elif what == TO_SINGLE:
            real[top] = np.float64(np.float32(real[top]))
        elif what == NOT:
            stack[top], nulls[top] = stack[top] == 0 or nulls[top], False
        elif what == IS_NULL:
            stack[top], nulls[top] = nulls[top], False
        elif what == CHOOSE:
            top -= 2
            if stack[top] == 0 or nulls[top]:
                stack[top], nulls[top] = stack[top + 2], nulls[top + 2]
            else:
                stack[top], nulls[top] = stack[top + 1], nulls[top + 1]
        else:
            top -= 1
            if what == FIRST_PRESENT:
                if nulls[top]:
                    stack[top], nulls[top] = stack[top + 1], nulls[top + 1]
            elif what in (AND, OR):
                one = stack[top] != 0 and not nulls[top]
                other = stack[top + 1] != 0 and not nulls[top + 1]
                stack[top], nulls[top] = (one and other) if what == AND else (one or other), False
            elif what >= EQUAL:
                _compare(what, top, stack, real, nulls)
            else:
                nulls[top] = nulls[top] or nulls[top + 1]
                if what >= REAL_ADD:
                    _compute_real(what, top, real, nulls)
                    if which:
                        real[top] = np.float64(np.float32(real[top]))
                else:
                    _compute(what, top, stack, nulls)
                    if which:
                        stack[top] = np.int64(np.int32(stack[top]))


@part
def _compute(what: int, top: int, stack: Any, nulls: Any) -> None:
    one, other = stack[top], stack[top + 1]
    if what == ADD:
        stack[top] = one + other
    elif what == SUBTRACT:
        stack[top] = one - other
    elif what == MULTIPLY:
        stack[top] = one * other
    elif other == 0:
        nulls[top] = True
    else:
        # The least number has no positive one beside it.
        whole = -one if other == -1 else one // other
        if whole * other != one and (one < 0) != (other < 0):
            whole += 1
        stack[top] = whole if what == DIVIDE else one - whole * other


@part
def _compute_real(what: int, top: int, real: Any, nulls: Any) -> None:
    one, other = real[top], real[top + 1]
    if what == REAL_ADD:
        real[top] = one + other
    elif what == REAL_SUBTRACT:
        real[top] = one - other
    elif what == REAL_MULTIPLY:
        real[top] = one * other
    elif other == 0.0:
        nulls[top] = True
    elif what == REAL_DIVIDE:
        real[top] = one / other
    else:
        real[top] = np.fmod(one, other)


@part
def _compare(what: int, top: int, stack: Any, real: Any, nulls: Any) -> None:
    """Never null: a null is equal to nothing and unequal to everything."""
    if nulls[top] or nulls[top + 1]:
        stack[top], nulls[top] = what in (NOT_EQUAL, REAL_NOT_EQUAL), False
        return
    if what >= REAL_EQUAL:
        stack[top] = _holds(what - REAL_EQUAL + EQUAL, real[top], real[top + 1])
    else:
        stack[top] = _holds(what, stack[top], stack[top + 1])


@part
def _holds(what: int, one: Any, other: Any) -> bool:
    """Of two whole numbers, or two others."""
    if what == EQUAL:
        return bool(one == other)
    if what == NOT_EQUAL:
        return bool(one != other)
    if what == LESS:
        return bool(one < other)
    if what == LESS_EQUAL:
        return bool(one <= other)
    if what == GREATER:
        return bool(one > other)
    return bool(one >= other)
