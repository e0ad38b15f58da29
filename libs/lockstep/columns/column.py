"""Typed columns with nulls: numbers and booleans as NumPy arrays, strings as Arrow or as codes into
a dictionary of their own. Columns are immutable; what an operator keeps beyond a slice it
copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.columns.texts import Words, numbered
from lockstep.events import AttributeType, InvalidEventError
from lockstep.events.columns import ARROW_TYPES
from lockstep.events.objects import decode_object, encode_object

Longs = npt.NDArray[np.int64]
Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

DTYPES: dict[AttributeType, Any] = {
    AttributeType.INT: np.dtype(np.int32),
    AttributeType.LONG: np.dtype(np.int64),
    AttributeType.FLOAT: np.dtype(np.float32),
    AttributeType.DOUBLE: np.dtype(np.float64),
    AttributeType.BOOL: np.dtype(np.bool_),
    AttributeType.OBJECT: np.dtype(np.object_),
}
"""NumPy's type of each attribute type but strings. Objects are Python's own: they go from stream to
stream and from function to function as they are, and nobody here compares or keeps them."""


class Unfit(Exception):
    """Values that this slice brought cannot be folded in columns exactly."""


class Suspected(Unfit):
    """An event of this slice may go over a limit: the reference decides (operators.limits)."""


class Column:
    """Numbers or booleans. `nulls` marks nulls, or is None when there are none; the values under
    nulls mean nothing."""

    __slots__ = ("nulls", "type", "values")

    def __init__(self, type_: AttributeType, values: Array, nulls: Mask | None = None) -> None:
        self.type = type_
        self.values = values
        self.nulls = nulls

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Index) -> Column:
        """The rows at the places; a place of -1 gives null."""
        gone = _missing(index)
        if gone is None:
            nulls = None if self.nulls is None else self.nulls[index]
            return Column(self.type, self.values[index], nulls)
        if not len(self.values):
            return Column(self.type, np.zeros(len(index), DTYPES[self.type]), gone)
        nulls = gone if self.nulls is None else self.nulls[index] | gone
        return Column(self.type, self.values[index], nulls)

    def keep(self, mask: Mask) -> Column:
        """The rows where the mask is true."""
        nulls = None if self.nulls is None else self.nulls[mask]
        return Column(self.type, self.values[mask], nulls)

    def to_arrow(self) -> pa.Array:
        """As Arrow has it."""
        if self.type is AttributeType.OBJECT:
            return self._travelling()
        nulls = self.nulls if self.nulls is not None and self.nulls.any() else None
        return pa.array(np.ascontiguousarray(self.values), ARROW_TYPES[self.type], mask=nulls)

    def _travelling(self) -> pa.Array:
        """Objects as bytes; Unfit where one cannot travel."""
        values = self.to_pylist()
        try:
            encoded = [None if value is None else encode_object(value) for value in values]
        except InvalidEventError as error:
            raise Unfit(str(error)) from error
        return pa.array(encoded, ARROW_TYPES[self.type])

    def to_pylist(self) -> list[Any]:
        """As Python values."""
        values: list[Any] = self.values.tolist()
        if self.nulls is not None and self.nulls.any():
            for i in np.flatnonzero(self.nulls).tolist():
                values[i] = None
        return values


class Strings(Column):
    """Strings: an Arrow array, or codes into `words`, whichever came first.

    `values` are the codes (int32); they are made when first asked for.
    """

    __slots__ = ("_arrow", "_codes", "_words")

    def __init__(
        self,
        arrow: pa.Array | None = None,
        *,
        codes: Array | None = None,
        words: Words | None = None,
        nulls: Mask | None = None,
    ) -> None:
        self.type = AttributeType.STRING
        self._arrow = arrow
        self._codes = codes
        self._words = words
        self.nulls = nulls
        if arrow is not None and nulls is None and arrow.null_count:
            self.nulls = arrow.is_null().to_numpy(zero_copy_only=False)

    @property
    def values(self) -> Array:  # type: ignore[override]
        """Codes into `words`."""
        if self._codes is None:
            self._encode()
        assert self._codes is not None
        return self._codes

    @property
    def words(self) -> Words:
        """The dictionary: every value occurs once, and maybe others."""
        if self._codes is None:
            self._encode()
        assert self._words is not None
        return self._words

    def _encode(self) -> None:
        assert self._arrow is not None
        self._codes, self._words = numbered(self._arrow)

    def __len__(self) -> int:
        return len(self._codes) if self._codes is not None else len(self._arrow)  # type: ignore[arg-type]

    def take(self, index: Index) -> Column:
        gone = _missing(index)
        if not len(self):
            return Strings(codes=np.zeros(len(index), np.int32), words=Words([""]), nulls=gone)
        nulls = None if self.nulls is None else self.nulls[index]
        if gone is not None:
            nulls = gone if nulls is None else nulls | gone
        if self._codes is None and gone is None:
            assert self._arrow is not None
            return Strings(self._arrow.take(pa.array(index)), nulls=nulls)
        return Strings(codes=self.values[index], words=self._words, nulls=nulls)

    def keep(self, mask: Mask) -> Column:
        nulls = None if self.nulls is None else self.nulls[mask]
        if self._codes is None:
            assert self._arrow is not None
            return Strings(self._arrow.filter(pa.array(mask)), nulls=nulls)
        return Strings(codes=self._codes[mask], words=self._words, nulls=nulls)

    def to_arrow(self) -> pa.Array:
        if self._arrow is not None:
            return self._arrow
        assert self._words is not None
        nulls = self.nulls if self.nulls is not None and self.nulls.any() else None
        codes = pa.array(np.ascontiguousarray(self._codes), pa.int32(), mask=nulls)
        return self._words.arrow.take(codes)

    def to_pylist(self) -> list[Any]:
        if self._codes is None:
            assert self._arrow is not None
            return self._arrow.to_pylist()  # type: ignore[no-any-return]
        words = self.words.texts
        values: list[Any] = [words[code] for code in self._codes.tolist()]
        if self.nulls is not None and self.nulls.any():
            for i in np.flatnonzero(self.nulls).tolist():
                values[i] = None
        return values


def _missing(index: Index) -> Mask | None:
    """Where the index is negative; None when nowhere."""
    if not len(index) or index.min() >= 0:
        return None
    return index < 0


def from_arrow(type_: AttributeType, array: pa.Array) -> Column:
    """An Arrow array of the type's Arrow type as a column, without copying where that is
    possible."""
    if type_ is AttributeType.STRING:
        return Strings(array)
    if type_ is AttributeType.OBJECT:
        encoded = array.to_pylist()
        return from_values(type_, [None if o is None else decode_object(o) for o in encoded])
    nulls = None
    if array.null_count:
        nulls = array.is_null().to_numpy(zero_copy_only=False)
        array = array.fill_null(False if type_ is AttributeType.BOOL else 0)
    return Column(type_, array.to_numpy(zero_copy_only=False), nulls)


def from_values(type_: AttributeType, values: Sequence[Any]) -> Column:
    """Python values as a column; Unfit where they are not of the type."""
    if type_ is AttributeType.OBJECT:
        nulls = np.fromiter((value is None for value in values), np.bool_, len(values))
        return Column(type_, np.fromiter(values, np.object_, len(values)), nulls)
    try:
        return from_arrow(type_, pa.array(values, ARROW_TYPES[type_]))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise Unfit(f"values that are not {type_}: {error}") from error


def constant(type_: AttributeType, value: Any, length: int) -> Column:
    """The same non-null value in every row."""
    if type_ is AttributeType.STRING:
        return Strings(codes=np.zeros(length, np.int32), words=Words([value]))
    if type_ is AttributeType.OBJECT:
        return from_values(type_, [value] * length)  # NumPy would spread a list over the rows
    return Column(type_, np.full(length, value, DTYPES[type_]))


def concat(columns: Sequence[Column]) -> Column:
    """Columns of one type, one behind the other."""
    if len(columns) == 1:
        return columns[0]
    type_ = columns[0].type
    if type_ is AttributeType.STRING:
        return Strings(pa.concat_arrays([column.to_arrow() for column in columns]))
    values = np.concatenate([column.values for column in columns])
    if all(column.nulls is None for column in columns):
        return Column(type_, values)
    nulls = [
        np.zeros(len(column), np.bool_) if column.nulls is None else column.nulls
        for column in columns
    ]
    return Column(type_, values, np.concatenate(nulls))


def truth(column: Column) -> Mask:
    """Where a boolean column is exactly true."""
    values: Mask = column.values
    return values if column.nulls is None else values & ~column.nulls


def either(left: Mask | None, right: Mask | None) -> Mask | None:
    """Where one of two null masks marks a null."""
    if left is None:
        return right
    return left if right is None else left | right
