"""Columns that are made when they are first read."""

from __future__ import annotations

import pytest

from lockstep.columns.column import Column, from_values
from lockstep.columns.lazy import LazyColumns
from lockstep.events import AttributeType

pytestmark = pytest.mark.unit


class _Made:
    """Counts what is made."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, number: int) -> Column:
        self.numbers.append(number)
        return from_values(AttributeType.LONG, [number])


def test_a_column_is_made_once_and_the_others_are_not() -> None:
    """What nobody reads costs nothing."""
    made = _Made()
    columns = LazyColumns(3, made)
    assert len(columns) == 3
    assert made.numbers == []
    assert columns[1] is columns[1]
    assert columns[1].to_pylist() == [1]
    assert made.numbers == [1]


def test_it_is_a_sequence() -> None:
    """Iteration, numbers from the end, slices."""
    made = _Made()
    columns = LazyColumns(3, made)
    assert [column.to_pylist() for column in columns] == [[0], [1], [2]]
    assert columns[-1] is columns[2]
    assert columns[1:] == (columns[1], columns[2])
    assert made.numbers == [0, 1, 2]
    with pytest.raises(IndexError):
        columns[3]
