"""Held rows as the reference's events, and back."""

from __future__ import annotations

from lockstep.columns.column import from_values
from lockstep.columns.held import HeldRows
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of, parts_of
from lockstep.operators.contract import StreamEvent
from tests.unit.columns.flows import INT, STRING, longs

TYPES = (STRING, INT)
ROWS = [("a", 1), (None, 2), ("c", None)]


def held() -> tuple[HeldRows, object]:
    """ROWS at 10, 20, 30."""
    rows = HeldRows(TYPES, StringPool())
    columns = [from_values(t, [row[i] for row in ROWS]) for i, t in enumerate(TYPES)]
    return rows, rows.add(columns, longs(10, 20, 30))


def test_there_and_back() -> None:
    """In the order of the places asked for; nulls stay nulls."""
    rows, _ = held()
    times, columns = columns_of(events_of(rows, longs(2, 0, 1)), TYPES)
    assert times.tolist() == [30, 10, 20]
    assert [column.to_pylist() for column in columns] == [["c", "a", None], [None, 1, 2]]


def test_no_rows() -> None:
    """An empty window."""
    rows, _ = held()
    times, columns = columns_of(events_of(rows, longs()), TYPES)
    assert times.tolist() == []
    assert [column.to_pylist() for column in columns] == [[], []]


def test_events_one_by_one() -> None:
    """As the reference has a few of them; a list is one stretch."""
    events = [StreamEvent(10 * (i + 1), row) for i, row in enumerate(ROWS)]
    ((times, columns),) = parts_of(events, TYPES)
    assert times.tolist() == [10, 20, 30]
    assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == ROWS


def test_what_is_drawn_is_drawn_when_it_is_read() -> None:
    """Not when the state was asked for: nothing is there twice."""
    rows, places = held()
    packed = events_of(rows, longs(0, 1))
    rows.times[0] = 99
    assert columns_of(packed, TYPES)[0].tolist() == [99, 20]
    assert len(rows) == 3
    assert places is not None
