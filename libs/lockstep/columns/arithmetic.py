"""The language's arithmetic and comparisons on columns: Java's numbers, nulls by grammar 13.4."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.columns.column import DTYPES, Array, Column, Longs, Mask, Strings, either
from lockstep.columns.pool import StringPool
from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.typing import promote

INT, LONG = AttributeType.INT, AttributeType.LONG
FLOAT, DOUBLE = AttributeType.FLOAT, AttributeType.DOUBLE
BOOL = AttributeType.BOOL

_PLAIN: dict[ast.ArithmeticOperator, Callable[[Array, Array], Array]] = {
    ast.ArithmeticOperator.ADD: np.add,
    ast.ArithmeticOperator.SUBTRACT: np.subtract,
    ast.ArithmeticOperator.MULTIPLY: np.multiply,
}
_COMPARE: dict[ast.CompareOperator, Callable[[Any, Any], Any]] = {
    ast.CompareOperator.EQUAL: operator.eq,
    ast.CompareOperator.NOT_EQUAL: operator.ne,
    ast.CompareOperator.LESS: operator.lt,
    ast.CompareOperator.LESS_EQUAL: operator.le,
    ast.CompareOperator.GREATER: operator.gt,
    ast.CompareOperator.GREATER_EQUAL: operator.ge,
}


def as_type(column: Column, wanted: AttributeType) -> Array:
    """The column's numbers in a wider type, converted as the reference does."""
    values = column.values
    if column.type is wanted:
        return values
    if wanted is FLOAT and column.type is LONG:
        values = values.astype(np.float64)  # a long becomes a double first
    return values.astype(DTYPES[wanted])


def compute(wanted: ast.ArithmeticOperator, left: Column, right: Column) -> Column:
    """`left wanted right`; null where an operand is null or a divisor 0."""
    type_ = promote(left.type, right.type)
    a, b = as_type(left, type_), as_type(right, type_)
    nulls = either(left.nulls, right.nulls)
    with np.errstate(all="ignore"):
        if wanted in _PLAIN:
            return Column(type_, _PLAIN[wanted](a, b), nulls)
        zero: Mask = b == 0
        if zero.any():
            nulls = either(nulls, zero)
            b = np.where(zero, np.ones(1, b.dtype), b)
        if wanted is ast.ArithmeticOperator.DIVIDE:
            divided = _towards_zero(a, b) if type_ in (INT, LONG) else np.divide(a, b)
            return Column(type_, divided, nulls)
        return Column(type_, np.fmod(a, b), nulls)


def _towards_zero(a: Array, b: Array) -> Array:
    quotient = np.floor_divide(a, b)
    inexact = quotient * b != a
    return np.where(inexact & ((a < 0) != (b < 0)), quotient + quotient.dtype.type(1), quotient)


def compare(wanted: ast.CompareOperator, left: Column, right: Column) -> Column:
    """A comparison: never null. A null is equal to nothing and unequal to everything."""
    nulls = either(left.nulls, right.nulls)
    if isinstance(left, Strings) and isinstance(right, Strings):
        a, b = _aligned(left, right)
    elif left.type is BOOL:
        a, b = left.values, right.values
    else:
        type_ = promote(left.type, right.type)
        a, b = as_type(left, type_), as_type(right, type_)
    result: Mask = _COMPARE[wanted](a, b)
    if nulls is not None:
        unequal = wanted is ast.CompareOperator.NOT_EQUAL
        result = result | nulls if unequal else result & ~nulls
    return Column(BOOL, result)


def _aligned(left: Strings, right: Strings) -> tuple[Array, Array]:
    """Codes of one dictionary for both."""
    places = {word: code for code, word in enumerate(left.words.texts)}
    known = np.array([places.get(word, -1) for word in right.words.texts], np.int32)
    return left.values, known[right.values]


def joined(first: Column, second: Column, choose_first: Mask) -> Column:
    """Rows of the first column where the mask is true, of the second elsewhere; of one type."""
    nulls = None
    if first.nulls is not None or second.nulls is not None:
        nulls = np.where(
            choose_first,
            False if first.nulls is None else first.nulls,
            False if second.nulls is None else second.nulls,
        )
    if isinstance(first, Strings) and isinstance(second, Strings):
        return _texts_of_both(first, second, choose_first, nulls)
    return Column(first.type, np.where(choose_first, first.values, second.values), nulls)


def _texts_of_both(
    first: Strings, second: Strings, choose_first: Mask, nulls: Mask | None
) -> Strings:
    """In codes of a dictionary of what is used of either. A text that both have is there once:
    codes stand for texts wherever they are compared and grouped."""
    pool, codes = StringPool(), np.empty(len(choose_first), np.int32)
    for column, here in ((first, choose_first), (second, ~choose_first)):
        own = Strings(codes=column.values[here], words=column.words)
        codes[here] = pool.adopt(own).values
    return Strings(codes=codes, words=pool.words, nulls=nulls)


def ordered(values: Any) -> Longs:
    """Whole numbers in the order of doubles; both zeros are the same. NaN has no place in it."""
    bits = (values + 0.0).view(np.int64)
    found: Longs = bits ^ ((bits >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF))
    return found
