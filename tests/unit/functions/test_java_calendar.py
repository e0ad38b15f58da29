"""Week years, weeks and weekdays of date formats. What is expected is what Java 17 says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lockstep.functions.java_dates import date_format
from lockstep.operators.errors import EventError


def ms(day: str) -> int:
    """A day of UTC."""
    return round(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("day", "text"),
    [
        ("2023-12-29", "2023 23 52 5 5 5"),
        ("2023-12-31", "2024 24 1 6 5 7"),
        ("2024-12-28", "2024 24 52 4 4 6"),
        ("2024-12-29", "2025 25 1 5 5 7"),
        ("2024-12-31", "2025 25 1 5 5 2"),
        ("2025-12-28", "2026 26 1 5 4 7"),
        ("2026-01-01", "2026 26 1 1 1 4"),
        ("2026-01-04", "2026 26 2 2 1 7"),
        ("2026-12-26", "2026 26 52 4 4 6"),
        ("2026-12-28", "2027 27 1 5 4 1"),
        ("2027-01-01", "2027 27 1 1 1 5"),
        ("2027-12-26", "2028 28 1 5 4 7"),
        ("2028-01-01", "2028 28 1 1 1 6"),
    ],
)
def test_a_week_year_is_the_weeks(day: str, text: str) -> None:
    """At the ends of years it is the next one, and `y` is not."""
    assert date_format("YYYY YY w W F u").format(ms(day)) == text
    assert date_format("yyyy").format(ms(day)) == day[:4]


@pytest.mark.parametrize(
    ("pattern", "text", "day"),
    [
        ("YYYY-'W'ww", "2007-W30", "2007-07-22"),
        ("YYYY-'W'ww", "2025-W01", "2024-12-29"),
        ("YYYY-'W'ww u", "2025-W01 3", "2025-01-01"),
        ("YYYY-'W'ww u", "2026-W53 5", "2027-01-01"),
        ("YYYY-'W'ww u", "2027-W01 7", "2026-12-27"),
        ("YYYY-'W'ww u", "2027-W01 8", "2027-01-04"),
        ("YYYY ww u", "2027 01 0", "2026-12-20"),
        ("YYYY ww E", "2026 53 Fri", "2027-01-01"),
        ("YYYY", "2027", "2026-12-27"),
        ("YY ww", "26 01", "2025-12-28"),
        ("yyyy ww", "2026 10", "2026-03-01"),
        ("yyyy ww EEEE", "2024 01 Monday", "2024-01-01"),
        ("yyyy MM W", "2026 11 1", "2026-11-01"),
        ("yyyy MM W u", "2026 11 5 1", "2026-11-30"),
        ("yyyy MM F E", "2026 11 4 Thu", "2026-11-26"),
        ("yyyy MM F E", "2026 11 -1 Thu", "2026-11-26"),
        ("yyyy MM E", "2026 11 Thu", "2026-11-05"),
        ("u F E", "3 2 Wed", "1970-01-14"),
        ("yyyy DDD", "2028 366", "2028-12-31"),
        ("yyyy MM DDD", "2026 05 032", "2026-02-01"),
        # What came last counts.
        ("E yyyy MM dd", "Mon 2026 11 05", "2026-11-05"),
        ("yyyy ww MM dd", "2026 10 11 30", "2026-11-30"),
        ("dd ww u", "05 10 1", "1970-03-02"),
        ("YYYY ww yyyy", "2024 01 2030", "2029-12-30"),
        ("yyyy MM W F u", "2026 11 1 3 2", "2026-11-17"),
        ("yyyy MM F W u", "2026 11 3 1 2", "2026-11-03"),
        ("yyyy F ww", "2026 2 10", "2026-03-01"),
        ("yyyy DDD MM", "2026 200 03", "2026-07-19"),
    ],
)
def test_weeks_and_weekdays_are_read(pattern: str, text: str, day: str) -> None:
    """Alone, together and against each other."""
    assert date_format(pattern).parse(text) == ms(day)


@pytest.mark.parametrize("pattern", ["YYYY-'W'ww-u", "yyyy MM W E", "yyyy MM F u", "yyyy DDD"])
def test_what_was_written_is_read(pattern: str) -> None:
    """Each day of three years, with their ends."""
    form, day_ms = date_format(pattern), 86_400_000
    for time in range(ms("2024-12-01"), ms("2028-01-15"), day_ms):
        assert form.parse(form.format(time)) == time


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("YYYY ww", "0001 01"),
        ("YYYY ww", "9999 60"),
        ("yyyy ww", "2026 99999999999"),
        ("yyyy F E", "2026 -999999 Mon"),
    ],
)
def test_weeks_beyond_the_calendar_are_refused(pattern: str, text: str) -> None:
    """A week of the year 1 may begin before it."""
    with pytest.raises(EventError, match="beyond the calendar"):
        date_format(pattern).parse(text)
