"""Numbers as Java has them, and rows of two columns put together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.columns.arithmetic import as_type, compare, compute, joined
from lockstep.columns.column import Column, from_values
from lockstep.events import AttributeType
from lockstep.siddhiql.ast import ArithmeticOperator, CompareOperator
from tests.unit.columns.flows import DOUBLE, INT, LONG, STRING

FLOAT = AttributeType.FLOAT
LEAST_INT = -(2**31)


@pytest.mark.parametrize(
    ("wanted", "left", "right", "expected"),
    [
        (ArithmeticOperator.ADD, 2**31 - 1, 1, LEAST_INT),
        (ArithmeticOperator.SUBTRACT, LEAST_INT, 1, 2**31 - 1),
        (ArithmeticOperator.DIVIDE, LEAST_INT, -1, LEAST_INT),
        (ArithmeticOperator.DIVIDE, -7, 2, -3),
        (ArithmeticOperator.DIVIDE, 7, -2, -3),
        (ArithmeticOperator.DIVIDE, 6, -2, -3),
        (ArithmeticOperator.REMAINDER, -7, 2, -1),
        (ArithmeticOperator.REMAINDER, 7, 0, None),
        (ArithmeticOperator.DIVIDE, None, 0, None),
    ],
)
def test_whole_numbers(wanted: ArithmeticOperator, left: Any, right: Any, expected: Any) -> None:
    """They wrap around, divide towards zero, and give null for a divisor of 0."""
    result = compute(wanted, from_values(INT, [left]), from_values(INT, [right]))
    assert (result.type, result.to_pylist()) == (INT, [expected])


def test_a_long_becomes_a_float_by_way_of_a_double() -> None:
    """Rounded twice, as the reference rounds."""
    number = 2**53 + 2**29 + 1  # halfway between two floats only after the first rounding
    found = as_type(from_values(LONG, [number]), FLOAT)
    assert found.tolist() == [float(np.float32(float(number)))]


def test_nan_is_unequal_to_itself_and_null_to_everything() -> None:
    """A comparison is never null."""
    column = Column(DOUBLE, np.array([np.nan, 1.0, 1.0]), np.array([False, False, True]))
    assert compare(CompareOperator.EQUAL, column, column).to_pylist() == [False, True, False]
    assert compare(CompareOperator.NOT_EQUAL, column, column).to_pylist() == [True, False, True]
    assert compare(CompareOperator.LESS_EQUAL, column, column).to_pylist() == [False, True, False]


def test_strings_of_different_dictionaries() -> None:
    """Codes mean nothing outside of their own; a word that the other lacks is equal to none."""
    left = from_values(STRING, ["a", "b", None, "x"])
    right = from_values(STRING, ["b", "b", None, "a"])
    equal = compare(CompareOperator.EQUAL, left, right)
    assert equal.to_pylist() == [False, True, False, False]


def test_rows_of_two_columns() -> None:
    """Each with its own nulls; strings keep their texts."""
    first = np.array([True, False, False])
    texts = joined(
        from_values(STRING, ["a", "b", "c"]), from_values(STRING, ["c", None, "a"]), first
    )
    assert texts.to_pylist() == ["a", None, "a"]
    assert compare(CompareOperator.EQUAL, texts, texts).to_pylist() == [True, False, True]
    numbers = joined(from_values(INT, [None, 2, 3]), from_values(INT, [4, 5, 6]), first)
    assert numbers.to_pylist() == [None, 5, 6]
    assert joined(from_values(INT, [1]), from_values(INT, [2]), first[:1]).nulls is None


def test_a_text_that_both_columns_have_is_one_text() -> None:
    """Where it is compared, and where rows are told apart by its code."""
    first = from_values(STRING, ["a", "b", "c", "b"])
    second = from_values(STRING, ["b", "c", "b", "a"])
    texts = joined(first, second, np.array([True, True, False, False]))
    assert texts.to_pylist() == ["a", "b", "b", "a"]
    one = from_values(STRING, ["b"] * 4)
    assert compare(CompareOperator.EQUAL, texts, one).to_pylist() == [False, True, True, False]
    assert compare(CompareOperator.EQUAL, one, texts).to_pylist() == [False, True, True, False]
    assert len(set(texts.values.tolist())) == 2
