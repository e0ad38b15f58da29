"""Reads that look at all rows of a table, by lines that go back with the writes."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.column import Column, Longs, Suspected, from_values
from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.tables import scan, scan_kernel
from lockstep.tables.scan import Bound, Scan
from tests.unit.columns.flows import DOUBLE, INT, longs

LONG = AttributeType.LONG
LESS, GREATER_EQUAL = ast.CompareOperator.LESS, ast.CompareOperator.GREATER_EQUAL


class Rows:
    """Two rows behind these entries: one came, one was changed, one went."""

    capacity = 9
    ENTRIES = np.array([[0, -1, 1], [1, 0, 2], [2, 3, -1]], np.int64)

    def __init__(self, values: Column, masks: list[int] | None = None) -> None:
        self._values = values
        self._masks: Longs = longs(*(masks or [0, 0, 0, 0]))

    def places(self) -> Longs:
        found: Longs = longs(2, 1)
        return found

    def column(self, attribute: int, places: Longs) -> Column:
        return self._values.take(places)

    def arrangement(self, places: Longs, mask: int) -> Longs:
        """The changed one, the one that went, the one that came."""
        order = np.argsort([{0: 0, 2: 0, 3: 1, 1: 2}[each] for each in places.tolist()])
        found: Longs = order[::-1] if mask else order
        return found

    def masks(self) -> Longs:
        return self._masks


def found(rows: Rows, bound: Bound | None, *when: int) -> list[tuple[int, int]] | None:
    """Pairs of a read and a place."""
    pairs = Scan(rows, Rows.ENTRIES, None, bound, arranges=True).run(longs(*when))
    return None if pairs is None else [*zip(*(each.tolist() for each in pairs), strict=True)]


def test_each_read_sees_the_rows_of_its_moment() -> None:
    """In the order that they had then."""
    rows = Rows(from_values(DOUBLE, [1.0, 2.0, 3.0, 4.0]))
    all_rows = [(0, 0), (0, 3), (1, 0), (1, 3), (1, 1), (2, 2), (2, 3), (2, 1), (3, 2), (3, 1)]
    assert found(rows, None, 0, 1, 2, 3) == all_rows
    turned = Rows(from_values(DOUBLE, [1.0, 2.0, 3.0, 4.0]), [0, 0, 1, 1])
    assert found(turned, None, 1, 2) == [(0, 0), (0, 3), (0, 1), (1, 1), (1, 3), (1, 2)]
    assert found(rows, None) == []


@pytest.mark.parametrize("type_", [DOUBLE, LONG, INT])
def test_a_bound_is_that_of_its_read(type_: AttributeType) -> None:
    """Against the value that the row had then."""
    rows = Rows(from_values(type_, [1, 2, 3, 4]))
    limits_ = from_values(type_, [1, 2, 3, 4])
    below = Bound(0, LESS, limits_)
    assert found(rows, below, 0, 1, 2, 3) == [(1, 0), (2, 1), (3, 2), (3, 1)]
    above = Bound(0, GREATER_EQUAL, limits_)
    assert found(rows, above, 0, 1, 2, 3) == [(0, 0), (0, 3), (1, 3), (1, 1), (2, 2), (2, 3)]


def test_null_is_within_no_bound() -> None:
    """Whole numbers have none that says so: then there is no answer."""
    bound = Bound(0, LESS, from_values(DOUBLE, [9.0, None]))
    assert found(Rows(from_values(DOUBLE, [1.0, None, None, 4.0])), bound, 1, 1) == [(0, 0), (0, 3)]
    whole = Bound(0, LESS, from_values(LONG, [9, 9]))
    assert found(Rows(from_values(LONG, [1, None, 3, 4])), whole, 1, 1) is None
    no_limit = Bound(0, LESS, from_values(LONG, [None]))
    assert found(Rows(from_values(LONG, [1, 2, 3, 4])), no_limit, 1) is None


def test_too_many_rows_of_one_read_are_suspected(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none of those that a bound leaves out."""
    monkeypatch.setattr(scan, "allowed", lambda _: 1)
    rows = Rows(from_values(DOUBLE, [1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(Suspected, match="too many rows"):
        found(rows, None, 0)
    assert found(rows, Bound(0, LESS, from_values(DOUBLE, [2.0])), 0) == [(0, 0)]


def test_blocks_end_in_front_of_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose rows may have no room; parts end where lines would grow."""
    monkeypatch.setattr(scan, "BLOCK_ROWS", 1)
    monkeypatch.setattr(scan, "PART_ENTRIES", 1)
    test_each_read_sees_the_rows_of_its_moment()


def test_room_for_each_read() -> None:
    """As the kernel leaves it."""
    lines = scan_kernel.Lines(longs(5, -1), np.zeros(2), np.zeros(9, np.int64), np.zeros(0))
    rows = scan_kernel.Rows(np.zeros(3, np.int64), np.zeros(3, np.int64))
    state, none = longs(3, 0, 0), np.zeros((0, 3), np.int64)
    whens, numbers = longs(0, 0, 0), np.zeros(3)
    begin = scan_kernel.scan(whens, none, lines, scan_kernel.ALL, numbers, 9, rows, state)
    assert (begin, state.tolist()) == (1, [1, 0, 0])
    assert rows.reads[begin:].tolist() == [1, 2]
