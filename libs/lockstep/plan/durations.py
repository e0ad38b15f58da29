"""Durations inside annotation strings, as `'10 sec'` or `'1 hour 30 min'` (grammar 3.5)."""

from __future__ import annotations

import re

_UNITS = {
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
_PART = re.compile(r"\s*(\d+)\s*([a-zA-Z]+)\s*")


def duration_ms(text: str) -> int:
    """Milliseconds of a duration; a bare number is milliseconds. Raises ValueError."""
    stripped = text.strip()
    if stripped.isdigit():
        return int(stripped)
    total, position = 0, 0
    while position < len(stripped):
        match = _PART.match(stripped, position)
        if match is None or match[2].lower() not in _UNITS:
            raise ValueError(f"{text!r} is no duration such as '10 sec'")
        total += int(match[1]) * _UNITS[match[2].lower()]
        position = match.end()
    if not stripped:
        raise ValueError("an empty text is no duration")
    return total
