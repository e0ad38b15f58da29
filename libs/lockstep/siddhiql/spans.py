"""What names a span of time (`within`, semantics 17.3): texts and milliseconds in a calendar."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

_TIME = re.compile(
    r"(\d{4})-(\d\d|\*\*)-(\d\d|\*\*)\s(\d\d|\*\*):(\d\d|\*\*):(\d\d|\*\*)(?:\s([+-])(\d\d):(\d\d))?"
)
_HINT = "write yyyy-MM-dd HH:mm:ss, with ** from the right for what is open, and ±hh:mm if not GMT"


class SpanError(ValueError):
    """What names no span."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def _parts(text: str) -> tuple[list[int], datetime]:
    """The numbers that are given (year first) and the moment at which the span begins."""
    matched = _TIME.fullmatch(text.strip())
    if matched is None:
        raise SpanError(f"{text!r} is no time", hint=_HINT)
    fields = matched.groups()
    given: list[int] = []
    for field in fields[:6]:
        if field == "**":
            break
        given.append(int(field))
    if any(field != "**" for field in fields[len(given) : 6]):
        raise SpanError(f"{text!r} is no time: it leaves something open in the middle", hint=_HINT)
    filled = [*given, *(1, 1, 0, 0, 0)[len(given) - 1 :]]
    try:
        zone = UTC
        if fields[6] is not None:
            offset = timedelta(hours=int(fields[7]), minutes=int(fields[8]))
            zone = timezone(offset if fields[6] == "+" else -offset)
        return given, datetime(*filled, tzinfo=zone)  # type: ignore[arg-type,misc]
    except ValueError as error:
        raise SpanError(f"{text!r} is no time: {error}", hint=_HINT) from error


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def time_ms(text: str) -> int:
    """`yyyy-MM-dd HH:mm:ss[ ±hh:mm]` as ms since 1970. Raises SpanError."""
    given, moment = _parts(text)
    if len(given) < 6:
        raise SpanError(f"{text!r} is not one moment", hint=_HINT)
    return _ms(moment)


_STEPS = {
    3: timedelta(days=1),
    4: timedelta(hours=1),
    5: timedelta(minutes=1),
    6: timedelta(seconds=1),
}


def pattern_span(text: str) -> tuple[int, int]:
    """The span of a wildcard text: `2020-06-** **:**:**` is that June. Raises SpanError."""
    given, moment = _parts(text)
    try:
        if len(given) == 1:
            end = moment.replace(year=moment.year + 1)
        elif len(given) == 2:
            end = (moment + timedelta(days=32)).replace(day=1)
        else:
            end = moment + _STEPS[len(given)]
    except (OverflowError, ValueError) as error:
        raise SpanError(f"{text!r} ends after the last year, which is 9999") from error
    return _ms(moment), _ms(end)


def _moment_ms(value: Any) -> int:
    """A bound of `within start, end` as ms since 1970. Raises SpanError."""
    if isinstance(value, str):
        return time_ms(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise SpanError(f"{value!r} is no time for within", hint="a long (ms) or a text")


def span(start: Any, end: Any, *, is_pattern: bool) -> tuple[int, int]:
    """[start, end) in ms of `within start, end` or `within pattern`. Raises SpanError."""
    if is_pattern:
        if not isinstance(start, str):
            raise SpanError(f"{start!r} is no pattern for within", hint=_HINT)
        return pattern_span(start)
    start_ms, end_ms = _moment_ms(start), _moment_ms(end)
    if start_ms >= end_ms:
        raise SpanError(f"within starts at {start_ms} and ends at {end_ms}, which is not later")
    return start_ms, end_ms
