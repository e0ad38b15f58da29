"""Durations as they stand inside annotations: `10 sec`, `1 hour 30 minutes` (grammar 3.5)."""

from __future__ import annotations

import re

from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError

_MS = {
    "millisec": 1,
    "millisecond": 1,
    "milliseconds": 1,
    "sec": 1_000,
    "second": 1_000,
    "seconds": 1_000,
    "min": 60_000,
    "minute": 60_000,
    "minutes": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "hours": 3_600_000,
    "day": 86_400_000,
    "days": 86_400_000,
    "week": 604_800_000,
    "weeks": 604_800_000,
    "month": 2_592_000_000,
    "months": 2_592_000_000,
    "year": 31_536_000_000,
    "years": 31_536_000_000,
}
_PART = re.compile(r"\s*(\d{1,15})\s*([a-zA-Z]+)", re.ASCII)


def duration_ms(text: str) -> int:
    """The milliseconds of a duration; ValueError for any other text, also a bare number."""
    total, position = 0, 0
    while part := _PART.match(text, position):
        unit = _MS.get(part[2].lower())
        if unit is None:
            break
        total += int(part[1]) * unit
        position = part.end()
    if not position or text[position:].strip():
        raise ValueError(f"{text!r} is no duration such as '10 sec'")
    return total


def annotation_ms(
    annotation: ast.Annotation, key: str, default_ms: int | None = None
) -> int | None:
    """The milliseconds of an annotation's duration, more than 0; anything else is an error."""
    text = annotation.get(key)
    if text is None:
        return default_ms
    try:
        milliseconds = duration_ms(text)
    except ValueError:
        raise _refused(
            annotation, f"{text!r} is no duration (@{annotation.name}, {key!r})"
        ) from None
    if milliseconds == 0:
        raise _refused(annotation, f"{key!r} of @{annotation.name} needs more than 0 milliseconds")
    return milliseconds


def _refused(annotation: ast.Annotation, message: str) -> SiddhiQLError:
    return SiddhiQLError(
        message,
        line=annotation.at.line,
        column=annotation.at.column,
        hint="write a number and a unit: '10 sec'",
    )
