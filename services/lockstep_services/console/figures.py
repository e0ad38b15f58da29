"""Numbers, times and sizes as people read them. Pure."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999: a time behind it, of an event whose clock counts microseconds, say, is
no date."""
_STEPS: Final = ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k"))


def count(number: float) -> str:
    """12,345 → 12.3k; small ones as they are."""
    for step, sign in _STEPS:
        if abs(number) >= step:
            scale = 1_000 if sign == "k" else step
            return f"{number / scale:.1f}{sign}"
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"


def duration(milliseconds: float) -> str:
    """In the unit that fits."""
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"


def size(number: float) -> str:
    """Bytes."""
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1_024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1_024
    return f"{number:.1f} TB"


def moment(milliseconds: int) -> str:
    """A time in UTC; a number that is no date stays a number."""
    try:
        found = datetime.fromtimestamp(milliseconds / 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)
    return found.strftime("%Y-%m-%d %H:%M:%S")


def time_of_day(milliseconds: int) -> str:
    """The time without its date, in UTC."""
    return moment(milliseconds).rpartition(" ")[2]


def moment_ms(text: str) -> int | None:
    """A time as people write it, in UTC where it names no zone; None: it is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1_000)


def short(found: Any) -> str:
    """A value of an event where little room is: six digits of it."""
    return f"{found:,.6g}" if isinstance(found, float) and abs(found) < 1e15 else value(found)


def value(found: Any) -> str:
    """A value of an event, with all its digits."""
    match found:
        case None:
            return "–"
        case bool():
            return "true" if found else "false"
        case float():
            return f"{found:,}".removesuffix(".0")
        case list() | dict():
            return json.dumps(found, ensure_ascii=False, default=str)
        case _:
            return str(found)
