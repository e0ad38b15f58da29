"""Fields of documents as attributes. Any field may hold any value, so each value is looked at.
Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.databases.contract import DatabaseError, TableShape
from lockstep.databases.values import is_within, plain
from lockstep.events import AttributeType


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


def filter_of(equal: Sequence[str], keys: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Which documents have one of the values; they stand as values, and are no operators."""
    if len(equal) == 1:
        return {equal[0]: {"$in": [key[0] for key in keys]}}
    return {
        "$or": [
            {name: {"$eq": value} for name, value in zip(equal, key, strict=True)} for key in keys
        ]
    }


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
