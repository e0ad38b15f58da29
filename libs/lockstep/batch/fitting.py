"""What a script gives, in types that its table can have and give back. Pure.

Types that tables do not have become the next ones that hold all their values. What there is no such
type for is refused, before anything is kept: a table takes some types that nobody can read again.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lockstep.events import Fault, LockstepError

MAX_DIGITS: Final = 38
"""Of a decimal number."""
_DAYS: Final = (-719_162, 2_932_896)
"""From 0001-01-01 to 9999-12-31, since 1970: there are no others in Python, which reads a table."""
_DAY_US: Final = 86_400_000_000
_AS_THEY_ARE: Final = frozenset(
    {
        pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(),
        pa.string(), pa.large_string(), pa.string_view(),
        pa.binary(), pa.large_binary(), pa.binary_view(), pa.date32(), pa.date64(),
    }
)  # fmt: skip
_WIDER: Final = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(),
    pa.uint64(): pa.int64(), pa.float16(): pa.float32(),
}  # fmt: skip
"""A `uint64` beyond what an `int64` holds is refused: there is no wider one."""
_HINT: Final = "give it as a text, or as a number"


class NoRowsError(LockstepError):
    """What a script gives cannot be kept."""

    fault = Fault.USER


def fitted(rows: pa.Table) -> pa.Table:
    """The same rows: times to the microsecond, in UTC where they have a zone; unsigned numbers as
    signed ones; a column of nulls alone as text. NoRowsError names the column that does not fit."""
    columns = [_fitted(one, rows.column(at)) for at, one in enumerate(rows.column_names)]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def _fitted(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    to = pa.string() if pa.types.is_null(kind) else _place(kind)
    if to is None:
        raise NoRowsError(
            f"its column '{name}' is of the type {kind}, which a table does not have",
            hint=_hint(kind),
        )
    if to is not kind:
        try:
            column = column.cast(options=pc.CastOptions(to, allow_time_truncate=True))
        except pa.ArrowException as error:
            raise NoRowsError(
                f"its column '{name}' of the type {kind} does not fit into {to}: {error}",
                hint=_HINT,
            ) from error
    if any(not _is_near(one) for one in column.chunks):
        what = "a date" if pa.types.is_date(to) else "a time"
        if pa.types.is_nested(to):
            what = "a date or time"
        raise NoRowsError(
            f"its column '{name}' has {what} outside of the years 1 to 9999", hint=_HINT
        )
    return column


def _is_near(values: Any) -> bool:
    """Whether all dates and times in them, how deep ever, are of the years that there are."""
    kind = values.type
    if pa.types.is_date(kind):
        return _is_within(values.cast(pa.date32()).cast(pa.int32()), *_DAYS)
    if pa.types.is_timestamp(kind):
        first, last = _DAYS
        return _is_within(values.cast(pa.int64()), first * _DAY_US, (last + 1) * _DAY_US - 1)
    if pa.types.is_dictionary(kind):
        is_time = pa.types.is_temporal(kind.value_type) or pa.types.is_nested(kind.value_type)
        return not is_time or _is_near(values.dictionary_decode())
    if pa.types.is_struct(kind):
        return all(_is_near(one) for one in values.flatten())
    if pa.types.is_map(kind):
        # Its own lists of keys and values are those of all rows, of a part of a table, too.
        values = values.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    return not pa.types.is_nested(kind) or _is_near(values.flatten())


def _is_within(numbers: Any, first: int, last: int) -> bool:
    found = pc.min_max(numbers).as_py()
    return found["min"] is None or first <= found["min"] <= found["max"] <= last


def _place(kind: pa.DataType) -> pa.DataType | None:
    """The type itself where a table has it; None where it has none for it."""
    if kind in _WIDER:
        return _WIDER[kind]
    if kind in _AS_THEY_ARE or pa.types.is_fixed_size_binary(kind):
        return kind
    if pa.types.is_timestamp(kind):
        to = pa.timestamp("us", None if kind.tz is None else "UTC")
        return kind if to == kind else to
    if pa.types.is_decimal(kind):
        return _place_of_decimal(kind)
    if pa.types.is_dictionary(kind):
        inner = _place(kind.value_type)
        return kind if inner is not None and inner == kind.value_type else inner
    if pa.types.is_nested(kind):
        return _place_of_nested(kind)
    return kind if isinstance(kind, pa.JsonType) else None


def _place_of_decimal(kind: Any) -> pa.DataType | None:
    if pa.types.is_decimal128(kind) and kind.scale >= 0:
        return kind
    scale = max(kind.scale, 0)
    digits = min(kind.precision + scale - kind.scale, MAX_DIGITS)
    return pa.decimal128(digits, scale) if scale <= MAX_DIGITS else None


def _place_of_nested(kind: Any) -> pa.DataType | None:
    if pa.types.is_struct(kind):
        inner = [kind.field(at) for at in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        inner = [kind.key_field, kind.item_field]
    elif not pa.types.is_union(kind) and hasattr(kind, "value_field"):
        inner = [kind.value_field]
    else:
        inner = []
    places = [one.type if pa.types.is_null(one.type) else _place(one.type) for one in inner]
    if not inner or None in places:
        return None
    if all(place == one.type for place, one in zip(places, inner, strict=True)):
        return kind
    fields = [one.with_type(place) for place, one in zip(places, inner, strict=True)]
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    return pa.map_(*fields) if pa.types.is_map(kind) else pa.list_(*fields)


def _hint(kind: pa.DataType) -> str:
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return "give it as a text, or as a number of microseconds"
    return _HINT
