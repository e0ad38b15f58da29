"""The kernel of equi-joins whose rows leave in the order in which they came: who is inside on each
side, and whom an event meets (semantics 9).

A side's rows are numbered as they come, so what is inside is a range of numbers: from `low` to the
row that came last. Rows of a key are chained; who has left is dropped from a chain when somebody
looks at it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import lent
from lockstep.joins.columns.kernel import EXTERNAL, LENGTH, NONE, TIME

DONE, FULL, OVER = 0, 1, 2
"""How a run ends: all is played; there is no more room for what is found; a step brings more pairs
than allowed."""

CHUNK, ROW, FIRST, LOW, MOVE, OWN, NEXT, LINES, PAIRS, BEFORE, STEP, ALLOWED, SIZE = (
    *(0, 2, 4, 6),
    *range(8, 17),
)
"""Where a run stands. By side: the next chunk, the next row, the number of the slice's first row,
and `low`. Then: moves of the clock that were heard; the side of an event that is not through (-1:
none) and whom it meets next; lines and pairs; those in front of this step; the step, and how many
pairs it may bring."""


class Coming(NamedTuple):
    """What comes on a side. By chunk: its rank among the chunks of both sides, its moment, where
    its rows begin (and where the last one's end), the clock; by row its key, -1 for none."""

    rank: Any
    moments: Any
    starts: Any
    now: Any
    keys: Any


class Windows(NamedTuple):
    """By side: the kind of its window, its length, whether its events look for rows, and whether
    they have a line when they meet nobody."""

    kinds: Any
    lengths: Any
    triggers: Any
    listed: Any


class Inside(NamedTuple):
    """By side and number of a row: what its window goes by, and the next one of the same key; the
    first and the last one by side and key."""

    clock: Any
    same: Any
    heads: Any
    tails: Any


class Found(NamedTuple):
    """Lines: an event that looked for rows, by side and row, and its chunk. Pairs: line, and number
    of the row that is met."""

    side: Any
    row: Any
    chunk: Any
    line: Any
    met: Any


@lent
def leave(side: int, until: int, limit: int, clock: Any, state: Any) -> None:
    """Lets out what is not younger than `limit`, of the rows up to before `until`."""
    low = state[LOW + side]
    while low < until and clock[side, low] <= limit:
        low += 1
    state[LOW + side] = low


@lent
def enter(side: int, number: int, key: int, low: int, inside: Inside) -> None:
    """A row is inside from here on, and the last one of its key."""
    _, same, heads, tails = inside
    same[side, number] = -1
    if key < 0:
        return
    last = tails[side, key]
    if last < low:
        heads[side, key] = number
    else:
        same[side, last] = number
    tails[side, key] = number


@lent
def admit(
    side: int, number: int, key: int, now: int, windows: Windows, inside: Inside, state: Any
) -> None:
    """A row comes to its side's window, and others may leave it."""
    kind, length = windows.kinds[side], windows.lengths[side]
    if kind == TIME:
        leave(side, number, now - length, inside.clock, state)
    elif kind == EXTERNAL:
        leave(side, number, inside.clock[side, number] - length, inside.clock, state)
    elif kind == LENGTH and number - state[LOW + side] >= length:
        state[LOW + side] += 1
    if kind != NONE:
        enter(side, number, key, state[LOW + side], inside)


@lent
def first_of(side: int, key: int, low: int, inside: Inside) -> int:
    """The oldest row of a key that is inside, -1 for none."""
    found = inside.heads[side, key]
    if found == -1 or found >= low:
        return int(found)
    while found != -1 and found < low:
        found = inside.same[side, found]
    inside.heads[side, key] = found
    return int(found)


@lent
def hear(heard: int, clock: Any, windows: Windows, inside: Inside, state: Any) -> None:
    """The clock has moved so often: timers fire on both sides."""
    for side in range(2):
        if windows.kinds[side] == TIME:
            limit = clock[heard - 1] - windows.lengths[side]
            until = state[FIRST + side] + state[ROW + side]
            leave(side, until, limit, inside.clock, state)


@lent
def side_of_next(left: Any, at: int, right: Any, on: int) -> int:
    """The side of the next chunk, by ranks; at least one side has one."""
    if on == len(right) or (at < len(left) and left[at] <= right[on]):
        return 0
    return 1


@lent
def enter_rows(side: int, first: int, keys: Any, inside: Inside) -> None:
    """Rows are inside, and nobody leaves."""
    for row in range(len(keys)):
        enter(side, first + row, keys[row], 0, inside)


@lent
def to_front(side: int, low: int, top: int, places: Any, inside: Inside) -> None:
    """Rows from `low` up to before `top` get the numbers from 0 on; older ones are forgotten."""
    clock, same, heads, tails = inside
    for key in range(heads.shape[1]):
        first = first_of(side, key, low, inside)
        heads[side, key] = first - low if first != -1 else -1
        tails[side, key] = tails[side, key] - low if first != -1 else -1
    for number in range(top - low):
        old = number + low
        clock[side, number], places[side, number] = clock[side, old], places[side, old]
        same[side, number] = same[side, old] - low if same[side, old] != -1 else -1


@lent
def add_line(side: int, row: int, chunk: int, lines: int, found: Found) -> int:
    """An event has looked for rows; gives the number of lines."""
    found.side[lines], found.row[lines], found.chunk[lines] = side, row, chunk
    return lines + 1


@lent
def meet(
    left: Coming,
    right: Coming,
    moments: Any,
    clock: Any,
    windows: Windows,
    inside: Inside,
    least: int,
    state: Any,
    found: Found,
) -> int:
    """Plays the chunks of both sides in their order, from where `state` says; gives DONE, FULL or
    OVER, after which it can go on. `moments` and `clock`: the moves of the clock. `least`: what a
    step may bring before somebody asks."""
    lines, pairs, own, q = state[LINES], state[PAIRS], state[OWN], state[NEXT]
    while True:
        at, on = state[CHUNK], state[CHUNK + 1]
        if own < 0:
            if at == len(left.rank) and on == len(right.rank):
                break
            side = side_of_next(left.rank, at, right.rank, on)
        else:
            side = own
        mine, theirs, other = (left, right, 1) if side == 0 else (right, left, 0)
        chunk, row, base = state[CHUNK + side], state[ROW + side], state[FIRST + side]
        behind = state[CHUNK + other]
        bounded = behind < len(theirs.rank)
        until = theirs.rank[behind] if bounded else 0
        while chunk < len(mine.rank):
            rank = mine.rank[chunk]
            if bounded and (rank > until or (rank == until and side == 1)):
                break
            moment, now = mine.moments[chunk], mine.now[chunk]
            if moment != state[STEP]:
                state[STEP], state[BEFORE], state[ALLOWED] = moment, pairs, least
            heard = state[MOVE]
            while heard < len(moments) and moments[heard] < moment:
                heard += 1
            if heard > state[MOVE]:
                state[MOVE], state[ROW + side] = heard, row
                hear(heard, clock, windows, inside, state)
            while row < mine.starts[chunk + 1]:
                if own < 0:
                    if lines == len(found.side) or pairs == len(found.line):
                        return int(saved(FULL, side, chunk, row, lines, pairs, -1, -1, state))
                    key = mine.keys[row]
                    admit(side, base + row, key, now, windows, inside, state)
                    q = -1
                    if windows.triggers[side]:
                        if key >= 0:
                            q = first_of(other, key, state[LOW + other], inside)
                        if q != -1 or windows.listed[side]:
                            lines = add_line(side, row, chunk, lines, found)
                own = -1
                while q != -1:
                    if pairs == len(found.line):
                        return int(saved(FULL, side, chunk, row, lines, pairs, side, q, state))
                    if pairs - state[BEFORE] == state[ALLOWED]:
                        return int(saved(OVER, side, chunk, row, lines, pairs, side, q, state))
                    found.line[pairs], found.met[pairs] = lines - 1, q
                    pairs += 1
                    q = inside.same[other, q]
                row += 1
            chunk += 1
        saved(DONE, side, chunk, row, lines, pairs, -1, -1, state)
    if state[MOVE] < len(moments):
        state[MOVE] = len(moments)
        hear(len(moments), clock, windows, inside, state)
    return DONE


class Runs(NamedTuple):
    """Lines that follow one another within a chunk: its side, and its number there."""

    side: Any
    chunk: Any


@lent
def runs_of(side: Any, chunk: Any, run_of: Any, runs: Runs) -> int:
    """Writes the runs of lines, and of which one each line is; gives how many there are."""
    count = 0
    for line in range(len(side)):
        if line == 0 or side[line] != side[line - 1] or chunk[line] != chunk[line - 1]:
            runs.side[count], runs.chunk[count] = side[line], chunk[line]
            count += 1
        run_of[line] = count - 1
    return count


@lent
def times_of(side: Any, row: Any, left: Any, right: Any, times: Any) -> None:
    """The time of the event of each line, from those of both sides."""
    for line in range(len(side)):
        times[line] = left[row[line]] if side[line] == 0 else right[row[line]]


@lent
def saved(
    why: int,
    side: int,
    chunk: int,
    row: int,
    lines: int,
    pairs: int,
    own: int,
    q: int,
    state: Any,
) -> int:
    """Keeps where a run stands; gives `why`."""
    state[CHUNK + side], state[ROW + side] = chunk, row
    state[LINES], state[PAIRS], state[OWN], state[NEXT] = lines, pairs, own, q
    return why
