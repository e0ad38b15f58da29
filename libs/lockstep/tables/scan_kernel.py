"""Looks at all rows of a table for each of some reads, from the last read back to the first, while
writes are taken back (see kernel for `entries`)."""

from __future__ import annotations

from typing import Any, NamedTuple

from lockstep.columns.compiled import lent, part

ALL, GREATER, GREATER_EQUAL = 0, 1, 2


class Lines(NamedTuple):
    """The rows that there are at some time, a line each, in the table's order: `at` has the place
    of each (-1: it is not there), `cells` its value, `line` the line of each place. `olds` has the
    value of what each entry changed or took away."""

    at: Any
    cells: Any
    line: Any
    olds: Any


class Rows(NamedTuple):
    """Room for what reads find: which read, and the place of the row. Filled from the end."""

    reads: Any
    places: Any


@part
def _take_back(entries: Any, lines: Any, j: int) -> None:
    old, new = entries[j, 1], entries[j, 2]
    line = lines.line[old if new == -1 else new]
    lines.at[line] = old
    if old != -1:
        lines.line[old] = line
        lines.cells[line] = lines.olds[j]


@lent
def scan(
    when: Any, entries: Any, lines: Any, test: int, limits: Any, most: int, rows: Any, state: Any
) -> int:
    """Where in `rows` begins what was found. Read i comes when `when[i]` entries are made, which
    ascends, and finds the rows whose cell passes the `test` against `limits[i]`.

    `state`: the reads that are left, the entries that are made, 1 if a read found more than `most`.
    It stops in front of a read for which there may be no room; else all entries are taken back.
    """
    i, j, count = state[0], state[1], len(lines.at)
    begin = len(rows.reads)
    while i > 0 and begin >= count:
        i -= 1
        while j > when[i]:
            j -= 1
            _take_back(entries, lines, j)
        before = begin
        for back in range(count):
            line = count - 1 - back
            place = lines.at[line]
            if place < 0:
                continue
            if test == GREATER and not lines.cells[line] > limits[i]:
                continue
            if test == GREATER_EQUAL and not lines.cells[line] >= limits[i]:
                continue
            begin -= 1
            rows.reads[begin], rows.places[begin] = i, place
        if before - begin > most:
            state[2] = 1
    while i == 0 and j > 0:
        j -= 1
        _take_back(entries, lines, j)
    state[0], state[1] = i, j
    return begin
