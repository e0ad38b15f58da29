"""Columns with nulls: rows picked, put behind each other, and nothing at all."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.column import (
    Column,
    Strings,
    Unfit,
    concat,
    constant,
    from_arrow,
    from_values,
    truth,
)
from lockstep.events import AttributeType
from tests.unit.columns.flows import INT, STRING, longs

NOTHING = np.zeros(0, np.int64)


@pytest.mark.parametrize(
    ("type_", "values"), [(INT, [7, None, 9]), (STRING, ["a", None, "c"])], ids=["int", "string"]
)
def test_a_place_of_minus_one_gives_null(type_: AttributeType, values: list[object]) -> None:
    """Also out of a column without rows, and beside nulls of its own."""
    column = from_values(type_, values)
    assert column.take(longs(2, -1, 1)).to_pylist() == [values[2], None, None]
    assert column.take(NOTHING).take(longs(-1, -1)).to_pylist() == [None, None]
    assert column.take(NOTHING).to_pylist() == []
    assert column.keep(np.zeros(3, np.bool_)).to_pylist() == []


def test_objects_travel_as_bytes() -> None:
    """And come back; the same one in every row stays one value, and what cannot travel is told."""
    values = [[1, 2], None, {"a": {3}}, "x"]
    column = from_values(AttributeType.OBJECT, values)
    assert from_arrow(AttributeType.OBJECT, column.to_arrow()).to_pylist() == values
    assert constant(AttributeType.OBJECT, [1, 2], 3).to_pylist() == [[1, 2]] * 3
    with pytest.raises(Unfit, match="cannot travel"):
        from_values(AttributeType.OBJECT, [object()]).to_arrow()


def test_strings_are_the_same_by_codes_and_by_arrow() -> None:
    """Whichever form came first."""
    arrow = from_values(STRING, ["b", None, "a", "b"])
    assert isinstance(arrow, Strings)
    codes = Strings(codes=arrow.values, words=arrow.words, nulls=arrow.nulls)
    assert codes.to_arrow().to_pylist() == codes.to_pylist() == arrow.to_pylist()
    assert [codes.words.texts[code] for code in codes.values[[0, 2, 3]]] == ["b", "a", "b"]


def test_all_null_strings_have_codes_that_can_be_looked_up() -> None:
    """What stands under a null means nothing, but it is a place of the dictionary."""
    column = from_values(STRING, [None, None])
    assert isinstance(column, Strings)
    assert [column.words.texts[code] for code in column.values] == ["", ""]


def test_columns_behind_each_other() -> None:
    """Nulls of one do not get lost behind another without any."""
    whole = concat([from_values(INT, [1]), from_values(INT, [None, 3])])
    assert whole.to_pylist() == [1, None, 3]
    texts = concat([constant(STRING, "x", 2), from_values(STRING, [None])])
    assert texts.to_pylist() == ["x", "x", None]


def test_null_is_not_true() -> None:
    """A condition holds where it is exactly true."""
    column = Column(AttributeType.BOOL, np.array([True, True]), np.array([False, True]))
    assert truth(column).tolist() == [True, False]


@pytest.mark.parametrize("value", [2**31, "text", True])
def test_values_of_another_type_are_refused(value: object) -> None:
    """Nothing is cut off in silence."""
    with pytest.raises(Unfit):
        from_values(INT, [value])
