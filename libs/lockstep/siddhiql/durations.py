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


def duration_ms(text: str) -> int | None:
    """The milliseconds of a duration, or None when the text is none."""
    total, position = 0, 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or part.group(2).lower() not in _MS:
            return total if position and not text[position:].strip() else None
        total += int(part.group(1)) * _MS[part.group(2).lower()]
        position = part.end()
    return total if position else None


def annotation_ms(
    annotation: ast.Annotation, key: str, default_ms: int | None = None
) -> int | None:
    """The milliseconds of an annotation's duration, more than 0; anything else is an error."""
    text = annotation.get(key)
    if text is None:
        return default_ms
    milliseconds = duration_ms(text)
    if milliseconds is None:
        raise SiddhiQLError(
            f"{text!r} is no duration (@{annotation.name}, {key!r})",
            line=annotation.at.line,
            column=annotation.at.column,
            hint="write a number and a unit: '10 sec'",
        )
    if milliseconds == 0:
        raise SiddhiQLError(
            f"{key!r} of @{annotation.name} needs more than 0 milliseconds",
            line=annotation.at.line,
            column=annotation.at.column,
            hint="write a number and a unit: '10 sec'",
        )
    return milliseconds
