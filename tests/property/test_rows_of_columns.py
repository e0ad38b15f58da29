"""Rows in columns are the same sequence as the rows themselves, however they are cut and joined."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.events import Operation, OutputId, OutputRecord, OutputRow
from lockstep.events.codec import decode_output, encode_record
from lockstep.events.outputs import RowsOfColumns, first_id, in_columns, joined, last_id

IDS = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), unique=True, max_size=16)
VALUES = st.one_of(st.none(), st.integers(-(2**70), 2**70), st.text(max_size=3), st.booleans())


@st.composite
def rows(draw: st.DrawFn) -> list[OutputRow]:
    """Rows of up to three streams and two widths, in ascending identity."""
    found = []
    for position, ordinal in sorted(draw(IDS)):
        stream = draw(st.sampled_from("ABC"))
        data = (draw(VALUES),) if draw(st.booleans()) else (draw(VALUES), 1.5)
        operation = draw(st.sampled_from(Operation))
        found.append(OutputRow(OutputId(position, ordinal), stream, position, data, operation))
    return found


@settings(deadline=None)
@given(rows(), st.integers(0, 16), st.integers(0, 16))
def test_a_slice_is_the_slice_of_the_rows(given_rows: list[OutputRow], a: int, b: int) -> None:
    """Also of a slice, and row by row."""
    columns = in_columns(given_rows)
    cut = columns[min(a, b) : max(a, b)]
    wanted = given_rows[min(a, b) : max(a, b)]
    assert list(cut) == wanted
    assert len(cut) == len(wanted)
    assert [cut[i] for i in range(-len(wanted), len(wanted))] == wanted + wanted
    assert list(cut[1:][:-1]) == wanted[1:][:-1]


@settings(deadline=None)
@given(rows(), st.lists(st.integers(0, 16), max_size=4))
def test_what_was_cut_can_be_joined(given_rows: list[OutputRow], cuts: list[int]) -> None:
    """In the order of the log, as slices bring it."""
    ends = sorted({min(cut, len(given_rows)) for cut in cuts} | {len(given_rows)})
    parts, start = [], 0
    for end in ends:
        parts.append(in_columns(given_rows[start:end]))
        start = end
    assert list(joined(parts)) == given_rows


@settings(deadline=None)
@given(rows(), st.integers(0, 7), st.integers(0, 7))
def test_how_many_are_up_to_an_identity(given_rows: list[OutputRow], p: int, o: int) -> None:
    """Whether there is a row of that identity or not."""
    last = OutputId(p, o)
    columns = in_columns(given_rows)
    assert columns.up_to(last) == sum(row.id <= last for row in given_rows)
    if given_rows:
        ends = given_rows[0].id, given_rows[-1].id
        assert (columns.first_id, columns.last_id) == ends
        assert (first_id(columns), last_id(columns)) == ends
        assert (first_id(given_rows), last_id(given_rows)) == ends


@settings(deadline=None)
@given(rows())
def test_a_record_of_columns_reads_as_the_rows(given_rows: list[OutputRow]) -> None:
    """Written in columns and never made into rows in between."""
    whole = in_columns(given_rows)
    halves = joined([whole[: len(whole) // 2], whole[len(whole) // 2 :]])
    found = decode_output(encode_record(OutputRecord(2, halves)))
    assert isinstance(found, OutputRecord)
    assert isinstance(found.rows, RowsOfColumns)
    assert list(found.rows) == given_rows
    for name in "ABC":
        assert list(found.rows.of_stream(name)) == [r for r in given_rows if r.stream == name]
