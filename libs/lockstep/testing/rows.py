"""Turns plain Python values into the values of a stream's attributes, as far as they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import AttributeType, StreamSchema
from lockstep.plan import java


def coerce_row(schema: StreamSchema, data: Sequence[Any]) -> tuple[Any, ...]:
    """The row as the stream holds it: floats rounded to 32 bits, ints as doubles where asked.

    A sender inside the process is trusted, as the language's own senders are: what does not fit
    goes
    in as it is, missing values are null, surplus ones are cut, and the query that cannot use a
    value
    drops the event (semantics 18). The receiver's doors check strictly instead.
    """
    values = list(data[: len(schema.attributes)])
    values += [None] * (len(schema.attributes) - len(values))
    return tuple(
        _coerce(value, attribute.type)
        for value, attribute in zip(values, schema.attributes, strict=True)
    )


def _coerce(value: Any, type_: AttributeType) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if type_ is AttributeType.FLOAT:
        return java.f32(float(value))
    if type_ is AttributeType.DOUBLE:
        return float(value)
    return value
