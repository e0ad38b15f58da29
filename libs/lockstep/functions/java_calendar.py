"""Java's lenient calendar of the United States: which week a day is in, and which day the fields of
a text name. Weeks begin on Sunday, and the first one is that of the first of January."""

from __future__ import annotations

from datetime import date, datetime

from lockstep.operators.errors import EventError

_DAYS_IN_400_YEARS = 146_097
_SUNDAY = 1
"""Weekdays are numbered as Java does: from 1 for Sunday to 7 for Saturday, and on from there."""


def week_of_year(moment: datetime, first_weekday: int, minimal_days: int) -> int:
    """The week as Java counts it; weekdays are 0 Monday to 6 Sunday."""
    return week_date(moment, first_weekday, minimal_days)[1]


def week_date(moment: datetime, first_weekday: int = 6, minimal_days: int = 1) -> tuple[int, int]:
    """(the year that the week belongs to, the week)."""
    day = moment.toordinal()
    for year in (moment.year + 1, moment.year):
        start = _first_week(year, first_weekday, minimal_days)
        if day >= start:
            return year, (day - start) // 7 + 1
    start = _first_week(moment.year - 1, first_weekday, minimal_days)
    return moment.year - 1, (day - start) // 7 + 1


def _first_week(year: int, first_weekday: int, minimal_days: int) -> int:
    """The ordinal of the day on which week 1 of the year begins."""
    january = _first_of(year, 1)
    into = (january - 1 - first_weekday) % 7
    start = january - into
    return start if 7 - into >= minimal_days else start + 7


def _first_of(year: int, month: int) -> int:
    """The ordinal of a month's first day. Months run over, and years may have no date."""
    more, index = divmod(month - 1, 12)
    cycles, place = divmod(year + more - 1, 400)
    return date(place + 1, index + 1, 1).toordinal() + cycles * _DAYS_IN_400_YEARS


def _on_or_before(day: int, weekday: int) -> int:
    return day - (day - (weekday - 1)) % 7


class DayFields:
    """The fields of a text that name a day: y Y M d D w W F and E, which is Java's weekday. Where
    they contradict each other the ones that came last count, as in Java's GregorianCalendar."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._stamps: dict[str, int] = {}
        self._stamp = 0

    def set(self, letter: str, value: int) -> None:
        """The next field."""
        self._stamp += 1
        self._values[letter] = value
        self._stamps[letter] = self._stamp

    def day(self) -> date:
        """The day; raises EventError beyond the calendar."""
        ordinal = self._week_day() if self._last("Y") > self._last("y") else self._day()
        if not date.min.toordinal() <= ordinal <= date.max.toordinal():
            raise EventError("the date is beyond the calendar")
        return date.fromordinal(ordinal)

    def _last(self, letter: str) -> int:
        """When the field came; 0 if it did not."""
        return self._stamps.get(letter, 0)

    def _both(self, letter: str, other: str) -> int:
        """When the second of two came; 0 if one did not."""
        stamps = self._last(letter), self._last(other)
        return max(stamps) if all(stamps) else 0

    def _value(self, letter: str, default: int = 1) -> int:
        return self._values.get(letter, default)

    def _week_day(self) -> int:
        """Of a week year: without a week its first, without a weekday Sunday."""
        week, weekday = self._value("w"), self._value("E", _SUNDAY)
        if not 1 <= weekday <= 7:
            more, from_monday = divmod(weekday - 1, 7)
            week, weekday = week + more, (from_monday + 1) % 7 + 1
        return _first_week(self._value("Y"), 6, 1) + 7 * (week - 1) + weekday - _SUNDAY

    def _day(self) -> int:
        week, nth = self._both("W", "E"), self._both("F", "E")
        latest = max(self._last("d"), week, nth, self._last("D"), self._both("w", "E"))
        if not latest:  # no whole combination: a part of one, or the month alone
            week, nth = self._last("W"), max(self._last("F"), self._last("E"))
            latest = max(week, nth, self._last("w"))
        if latest == self._last("d"):
            return self._month() + self._value("d") - 1
        of_year = self._last("w")
        if (latest == week and self._last("W") >= of_year) or (
            latest == nth and self._last("F") >= of_year
        ):
            is_week = self._last("W") >= self._last("F") if week == nth else latest == week
            return self._in_week(self._month(), self._value("W")) if is_week else self._nth()
        first = _first_of(self._value("y", 1970), 1)
        if latest == self._last("D"):
            return first + self._value("D") - 1
        return self._in_week(first, self._value("w"))

    def _month(self) -> int:
        return _first_of(self._value("y", 1970), self._value("M"))

    def _nth(self) -> int:
        """The nth of a weekday in a month; below 0 from its end."""
        nth, weekday = self._value("F"), self._value("E", _SUNDAY)
        if nth >= 0:
            return _on_or_before(self._month() + 7 * nth - 1, weekday)
        next_month = _first_of(self._value("y", 1970), self._value("M") + 1)
        return _on_or_before(next_month - 1 + 7 * (nth + 1), weekday)

    def _in_week(self, first: int, week: int) -> int:
        """The weekday of the nth week of what begins with a day."""
        sunday = _on_or_before(first, _SUNDAY)
        return _on_or_before(sunday + 6, self._value("E", _SUNDAY)) + 7 * (week - 1)
