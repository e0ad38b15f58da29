"""Fields of documents as attributes. Any field may hold any value, so each value is looked at.
Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from ctypes import c_float
from typing import Any, Final

import numpy as np
from bson import ObjectId

from lockstep.databases.contract import DatabaseError, TableShape
from lockstep.databases.values import is_within, plain
from lockstep.events import AttributeType

_ID: Final = re.compile("[0-9a-f]{24}")
"""An ObjectId as text, as a row has it."""


def row_of(document: Mapping[str, Any], shape: TableShape, where: str) -> tuple[Any, ...]:
    """A document as a row; null where it has no such field. DatabaseError for a value that is none
    of its type."""
    row = []
    for column, wanted in zip(shape.columns, shape.types, strict=True):
        value = _field(document, column)
        try:
            row.append(None if value is None else _value(value, wanted))
        except (TypeError, ValueError, OverflowError) as error:
            raise DatabaseError(
                f"{column!r} of a document is {value!r}, which is no {wanted.value}",
                where=where,
                hint="declare it as string, or as a larger type",
            ) from error
    return tuple(row)


def filter_of(
    equal: Sequence[str], keys: Sequence[tuple[Any, ...]], floats: Collection[str] = ()
) -> dict[str, Any]:
    """Which documents have one of the values; they stand as values, and are no operators. `floats`:
    the fields whose doubles are rounded. Of those that round at the edge it may find too many."""
    if len(equal) == 1 and equal[0] not in floats:
        return {equal[0]: {"$in": [form for key in keys for form in _forms(key[0])]}}

    def condition(name: str, value: Any) -> dict[str, Any]:
        if name in floats:
            return _rounded_to(value)
        forms = _forms(value)
        return {"$in": forms} if len(forms) > 1 else {"$eq": value}

    return {
        "$or": [
            {name: condition(name, value) for name, value in zip(equal, key, strict=True)}
            for key in keys
        ]
    }


def _forms(value: Any) -> list[Any]:
    """What becomes this value in a row, as far as the server can look for it."""
    is_id = isinstance(value, str) and _ID.fullmatch(value) is not None
    return [value, ObjectId(value)] if is_id else [value]


def _rounded_to(value: float) -> dict[str, float]:
    """The doubles that are this one as a float: those up to halfway to its neighbours."""
    with np.errstate(over="ignore"):
        ends = [
            float(np.nextafter(np.float32(value), np.float32(end))) for end in (-np.inf, np.inf)
        ]
    low, high = ((value + end) / 2 for end in ends)
    return {"$gte": low, "$lte": high}


def _field(document: Mapping[str, Any], path: str) -> Any:
    """A dot leads into a document within."""
    found: Any = document
    for name in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _value(value: Any, wanted: AttributeType) -> Any:
    if hasattr(value, "to_decimal"):  # a decimal of 128 bits
        value = value.to_decimal()
    match wanted:
        case AttributeType.INT | AttributeType.LONG:
            if isinstance(value, bool | str) or int(value) != value:
                raise ValueError(value)
            if not is_within(value, wanted):
                raise OverflowError(value)
            return int(value)
        case AttributeType.FLOAT | AttributeType.DOUBLE:
            if isinstance(value, bool | str):
                raise ValueError(value)
            found = float(value)
            if wanted is AttributeType.FLOAT:
                found = c_float(found).value  # as the table holds it, and as it is looked for
            return math.nan if math.isnan(found) else found  # one NaN is what another one is
        case AttributeType.BOOL:
            if not isinstance(value, bool):
                raise ValueError(value)
            return value
    return _text(value)


def _text(value: Any) -> str:
    """What is no text as JSON, or as people write it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | Mapping | list):
        return json.dumps(value, default=plain, ensure_ascii=False)
    return str(plain(value))
