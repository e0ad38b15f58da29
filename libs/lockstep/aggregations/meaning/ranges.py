"""`within … per …`: what names a span of time and a granularity (semantics 17.3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast
from lockstep.siddhiql.ast import Granularity
from lockstep.siddhiql.checking.ranges import PER_NAMES

_TIME = re.compile(
    r"(\d{4})-(\d\d|\*\*)-(\d\d|\*\*)\s(\d\d|\*\*):(\d\d|\*\*):(\d\d|\*\*)(?:\s([+-])(\d\d):(\d\d))?"
)
_HINT = "write yyyy-MM-dd HH:mm:ss, with ** from the right for what is open, and ±hh:mm if not GMT"


def granularity_named(text: str) -> Granularity:
    """The granularity of a `per` value. Raises EventError."""
    found = PER_NAMES.get(text.strip().lower())
    if found is None:
        raise EventError(f"{text!r} is no granularity", hint=f"one of {', '.join(PER_NAMES)}")
    return found


def _parts(text: str) -> tuple[list[int], datetime]:
    """The numbers that are given (year first) and the moment at which the span begins."""
    matched = _TIME.fullmatch(text.strip())
    if matched is None:
        raise EventError(f"{text!r} is no time", hint=_HINT)
    fields = matched.groups()
    given: list[int] = []
    for field in fields[:6]:
        if field == "**":
            break
        given.append(int(field))
    if any(field != "**" for field in fields[len(given) : 6]):
        raise EventError(f"{text!r} leaves something open in the middle", hint=_HINT)
    filled = [*given, *(1, 1, 0, 0, 0)[len(given) - 1 :]]
    try:
        zone = UTC
        if fields[6] is not None:
            offset = timedelta(hours=int(fields[7]), minutes=int(fields[8]))
            zone = timezone(offset if fields[6] == "+" else -offset)
        return given, datetime(*filled, tzinfo=zone)  # type: ignore[arg-type,misc]
    except ValueError as error:
        raise EventError(f"{text!r} is no time: {error}", hint=_HINT) from error


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def time_ms(text: str) -> int:
    """`yyyy-MM-dd HH:mm:ss[ ±hh:mm]` as ms since 1970. Raises EventError."""
    given, moment = _parts(text)
    if len(given) < 6:
        raise EventError(f"{text!r} is not one moment", hint=_HINT)
    return _ms(moment)


_STEPS = {
    3: timedelta(days=1),
    4: timedelta(hours=1),
    5: timedelta(minutes=1),
    6: timedelta(seconds=1),
}


def pattern_span(text: str) -> tuple[int, int]:
    """The span of a wildcard text: `2020-06-** **:**:**` is that June. Raises EventError."""
    given, moment = _parts(text)
    try:
        if len(given) == 1:
            end = moment.replace(year=moment.year + 1)
        elif len(given) == 2:
            end = (moment + timedelta(days=32)).replace(day=1)
        else:
            end = moment + _STEPS[len(given)]
    except (OverflowError, ValueError) as error:
        raise EventError(f"{text!r} ends after the last year, which is 9999") from error
    return _ms(moment), _ms(end)


def _moment(value: Any) -> int:
    if isinstance(value, str):
        return time_ms(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise EventError(f"{value!r} is no time for within", hint="a long (ms) or a text")


def span(start: Any, end: Any, *, is_pattern: bool) -> tuple[int, int]:
    """[start, end) in ms of `within start, end` or `within pattern`. Raises EventError."""
    if is_pattern:
        if not isinstance(start, str):
            raise EventError(f"{start!r} is no pattern for within", hint=_HINT)
        return pattern_span(start)
    start_ms, end_ms = _moment(start), _moment(end)
    if start_ms >= end_ms:
        raise EventError(f"within starts at {start_ms} and ends at {end_ms}, which is not later")
    return start_ms, end_ms


class RangeReader:
    """`within … per …` of a query as a function of its triggering event."""

    def __init__(
        self,
        range_: ast.Range,
        known: tuple[Granularity, ...],
        compiled: Callable[[ast.Expression], Callable[[Any], Any]],
    ) -> None:
        self._known = known
        self._start = compiled(range_.start)
        self._end = None if range_.end is None else compiled(range_.end)
        assert range_.per is not None  # as the checker has seen
        self._per = compiled(range_.per)

    def _granularity(self, per: Any) -> Granularity:
        if not isinstance(per, str):
            raise EventError(f"per wants a text, not {per!r}")
        found = granularity_named(per)
        if found not in self._known:
            raise EventError(
                f"the aggregation does not keep {found.value}",
                hint=f"it keeps {', '.join(g.value for g in self._known)}",
            )
        return found

    def read(self, event: Any) -> tuple[Granularity, int, int]:
        """(granularity, start, end in ms, end excluded). Raises EventError."""
        end = None if self._end is None else self._end(event)
        start_ms, end_ms = span(self._start(event), end, is_pattern=self._end is None)
        return self._granularity(self._per(event)), start_ms, end_ms
