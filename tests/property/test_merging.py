"""Rows of several units are merged into one order, whatever pieces they come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.bus import OutputEntry
from lockstep.control.merging import cut, merged
from lockstep.events import Operation, OutputId, OutputRecord, OutputRow
from lockstep.events.outputs import NO_ROWS, Places, RowsOfColumns, in_columns, joined

LAST = 5
STREAMS = frozenset("AB")


@dataclass(frozen=True)
class Placed:
    """A row, and where in its position it came out."""

    row: OutputRow
    place: tuple[int, int] | None


@st.composite
def units(draw: st.DrawFn) -> list[list[Placed]]:
    """Rows of one to four units as they stand in their logs; those of channel C are left out."""
    found = []
    for unit in range(draw(st.integers(1, 4))):
        rows = []
        ids = draw(st.sets(st.tuples(st.integers(1, LAST), st.integers(0, 4)), max_size=8))
        has_places = {name: draw(st.booleans()) for name in "ABC"}
        for position, ordinal in sorted(ids):
            stream = draw(st.sampled_from("ABC"))
            operation = draw(st.sampled_from(Operation))
            data = (unit, position, ordinal)[: draw(st.integers(2, 3))]
            row = OutputRow(OutputId(position, ordinal), stream, position, data, operation)
            place = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
            rows.append(Placed(row, place if has_places[stream] else None))
        found.append(rows)
    return found


def columns(rows: Sequence[Placed]) -> RowsOfColumns:
    """As the log gives them."""
    places = {one.row.id: one.place for one in rows}
    found = []
    for each in in_columns([one.row for one in rows]).columns:
        ids = zip(each.positions.tolist(), each.ordinals.tolist(), strict=True)
        own = [place for one in ids if (place := places[OutputId(*one)]) is not None]
        moments, clocks = (np.array([one[at] for one in own], np.int64) for at in (0, 1))
        found.append(replace(each, places=Places(moments, clocks, clocks) if own else None))
    return RowsOfColumns(found)


def expected(given_units: Sequence[Sequence[Placed]]) -> list[OutputRow]:
    """One after the other, by the words of the rule."""
    keyed = []
    for unit, rows in enumerate(given_units):
        before: tuple[int, tuple[int, int]] | None = None
        for one in rows:
            if one.place is not None:
                before = (one.row.id.position, one.place)
            place = before[1] if before and before[0] == one.row.id.position else (-1, 0)
            clock = place[1] if place[0] % 2 == 0 else 0
            key = (one.row.id.position, place[0], clock, unit, one.row.id.ordinal)
            keyed.append((key, one.row))
    numbers: dict[int, int] = {}
    found = []
    for _, row in sorted(keyed, key=lambda one: one[0]):
        if row.stream in STREAMS:
            number = numbers.get(row.id.position, 0)
            numbers[row.id.position] = number + 1
            found.append(
                OutputRow(
                    OutputId(row.id.position, number), row.stream, row.timestamp_ms, row.data,
                    row.operation,
                )
            )  # fmt: skip
    return found


def pieces(rows: Sequence[Placed], cuts: Iterable[int]) -> list[RowsOfColumns]:
    """The same in several parts."""
    ends = [0, *sorted({min(one, len(rows)) for one in cuts}), len(rows)]
    return [columns(rows[a:b]) for a, b in pairwise(ends)]


@settings(deadline=None)
@given(units(), st.lists(st.integers(0, 8), max_size=3))
def test_rows_are_merged_by_moment_clock_unit_and_number(
    given_units: list[list[Placed]], cuts: list[int]
) -> None:
    """In whatever pieces the logs brought them."""
    parts = [joined(pieces(rows, cuts)) for rows in given_units]
    assert list(merged(parts, STREAMS)) == expected(given_units)


@settings(deadline=None)
@given(units(), st.integers(0, LAST))
def test_positions_are_merged_alike_together_and_apart(
    given_units: list[list[Placed]], up_to: int
) -> None:
    """How many positions come at once changes nothing."""
    first = [[one for one in rows if one.row.id.position <= up_to] for rows in given_units]
    second = [[one for one in rows if one.row.id.position > up_to] for rows in given_units]
    found: list[OutputRow] = []
    for some in (first, second):
        found += merged([columns(rows) for rows in some], STREAMS)
    assert found == expected(given_units)


@settings(deadline=None)
@given(units(), st.integers(1, 6), st.sets(st.integers(0, LAST + 1), max_size=2))
def test_entries_hold_whole_positions_up_to_their_sequence(
    given_units: list[list[Placed]], max_rows: int, stops: set[int]
) -> None:
    """In order, few enough rows in each, and none on both sides of a stop."""
    rows = merged([columns(one) for one in given_units], STREAMS)
    entries = cut(rows, LAST + 2, max_rows=max_rows, stops=stops)
    assert [row for entry in entries for row in _rows(entry)] == list(rows)
    sequences = [entry.sequence for entry in entries]
    assert sequences == sorted(set(sequences))
    assert sequences[-1] == LAST + 2
    before = 0
    for entry in entries:
        held = [row.id.position for row in _rows(entry)]
        assert all(before < position <= entry.sequence for position in held)
        assert len(held) <= max_rows or len(set(held)) == 1
        assert not any(before < stop < entry.sequence for stop in stops)
        before = entry.sequence


def test_nothing_is_merged_of_nothing() -> None:
    """No unit, and units without rows."""
    assert list(merged([], STREAMS)) == []
    assert list(merged([NO_ROWS, NO_ROWS], STREAMS)) == []
    assert [one.sequence for one in cut(NO_ROWS, 7, max_rows=1)] == [7]


def _rows(entry: OutputEntry) -> Sequence[OutputRow]:
    assert isinstance(entry.record, OutputRecord)
    return entry.record.rows
