"""Quartz cron expressions: six or seven fields, seconds first, in UTC (semantics 16).

Fields: second minute hour day-of-month month day-of-week [year]. `*`, `?`, lists, ranges, steps,
names,
`L`, `nL`, `LW`, `nW`, `L-n` and `n#k` are understood. Day 1 of the week is Sunday.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from lockstep.operators.errors import EventError

_MONTHS = {
    name: i + 1
    for i, name in enumerate(
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    )
}
_DAYS = {name: i + 1 for i, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
_LAST_YEAR = 2199


class CronError(EventError):
    """An expression that is no Quartz cron expression."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    name: str
    low: int
    high: int
    names: dict[str, int]


_SECOND = _Bounds("second", 0, 59, {})
_MINUTE = _Bounds("minute", 0, 59, {})
_HOUR = _Bounds("hour", 0, 23, {})
_DAY = _Bounds("day of month", 1, 31, {})
_MONTH = _Bounds("month", 1, 12, _MONTHS)
_WEEKDAY = _Bounds("day of week", 1, 7, _DAYS)
_YEAR = _Bounds("year", 1970, _LAST_YEAR, {})


def _number(text: str, bounds: _Bounds) -> int:
    value = bounds.names.get(text.upper())
    if value is None:
        if not text.isdigit():
            raise CronError(f"{text!r} is no {bounds.name}")
        value = int(text)
    if not bounds.low <= value <= bounds.high:
        raise CronError(f"{bounds.name} {value} is not within {bounds.low} to {bounds.high}")
    return value


def _values(field: str, bounds: _Bounds) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step_text = part.partition("/")
        if step_text and not (step_text.isdigit() and int(step_text) > 0):
            raise CronError(f"{step_text!r} is no step")
        step = int(step_text) if step_text else 1
        if span in ("*", "?", ""):
            low, high = bounds.low, bounds.high
        elif "-" in span:
            first, _, last = span.partition("-")
            low, high = _number(first, bounds), _number(last, bounds)
        else:
            low = _number(span, bounds)
            high = bounds.high if step_text else low
        if low <= high:
            found.update(range(low, high + 1, step))
        else:
            width = bounds.high - bounds.low + 1
            found.update(
                (v - bounds.low) % width + bounds.low for v in range(low, high + width + 1, step)
            )
    return frozenset(found)


def _weekday(day: date) -> int:
    """1 Sunday to 7 Saturday."""
    return day.isoweekday() % 7 + 1


class CronSchedule:
    """When a cron expression fires; raises CronError for texts that are none."""

    def __init__(self, text: str) -> None:
        fields = text.upper().split()
        if len(fields) not in (6, 7):
            raise CronError(
                f"{text!r} has {len(fields)} fields",
                hint="a cron expression has six or seven fields",
            )
        self._seconds = sorted(_values(fields[0], _SECOND))
        self._minutes = sorted(_values(fields[1], _MINUTE))
        self._hours = sorted(_values(fields[2], _HOUR))
        self._day_field, self._weekday_field = fields[3], fields[5]
        self._months = _values(fields[4], _MONTH)
        self._years = _values(fields[6] if len(fields) == 7 else "*", _YEAR)
        any_day = date(2024, 1, 1)
        self._matches_month_day(any_day)  # a field that is wrong is told of now, not on some day
        self._matches_weekday(any_day)

    def next_after(self, after_ms: int) -> int | None:
        """The first time (epoch ms) later than `after_ms`, or None when there is none."""
        moment = datetime.fromtimestamp(after_ms // 1000 + 1, UTC)
        day = moment.date()
        clock = (moment.hour, moment.minute, moment.second)
        while day.year <= _LAST_YEAR:
            if day.month not in self._months or day.year not in self._years:
                day, clock = _month_after(day), (0, 0, 0)
                continue
            if self._matches_day(day):
                found = self._time_of_day(clock)
                if found is not None:
                    at = datetime(day.year, day.month, day.day, *found, tzinfo=UTC)
                    return int(at.timestamp()) * 1000
            day, clock = day + timedelta(days=1), (0, 0, 0)
        return None

    def _time_of_day(self, earliest: tuple[int, int, int]) -> tuple[int, int, int] | None:
        for hour in self._hours:
            if hour < earliest[0]:
                continue
            for minute in self._minutes:
                if (hour, minute) < earliest[:2]:
                    continue
                for second in self._seconds:
                    if (hour, minute, second) >= earliest:
                        return hour, minute, second
        return None

    def _matches_day(self, day: date) -> bool:
        return self._matches_month_day(day) and self._matches_weekday(day)

    def _matches_month_day(self, day: date) -> bool:
        field = self._day_field
        if field in ("*", "?"):
            return True
        last = calendar.monthrange(day.year, day.month)[1]
        if field == "L":
            return day.day == last
        if field == "LW":
            return day.day == _nearest_weekday(day, last)
        if field.startswith("L-"):
            return day.day == last - int(field[2:])
        if field.endswith("W"):
            return day.day == _nearest_weekday(day, min(_number(field[:-1], _DAY), last))
        return day.day in _values(field, _DAY)

    def _matches_weekday(self, day: date) -> bool:
        field = self._weekday_field
        if field in ("*", "?"):
            return True
        if field == "L":
            return _weekday(day) == 7
        if field.endswith("L"):
            last = calendar.monthrange(day.year, day.month)[1]
            return _weekday(day) == _number(field[:-1], _WEEKDAY) and day.day > last - 7
        if "#" in field:
            wanted, _, nth = field.partition("#")
            if not nth.isdigit():
                raise CronError(f"{field!r} is no day of week")
            return _weekday(day) == _number(wanted, _WEEKDAY) and (day.day - 1) // 7 == int(nth) - 1
        return _weekday(day) in _values(field, _WEEKDAY)


def _month_after(day: date) -> date:
    if day.month == 12:
        return date(day.year + 1, 1, 1)
    return date(day.year, day.month + 1, 1)


def _nearest_weekday(day: date, wanted: int) -> int:
    """The working day of the month nearest to day `wanted`, within the month."""
    target = day.replace(day=wanted)
    last = calendar.monthrange(day.year, day.month)[1]
    if target.weekday() == 5:
        return wanted - 1 if wanted > 1 else wanted + 2
    if target.weekday() == 6:
        return wanted + 1 if wanted < last else wanted - 2
    return wanted
