"""Cron lines in time zones: which times they mean, also when clocks are changed."""

from __future__ import annotations

from datetime import datetime

import pytest

from lockstep.batch.schedule import NoSchedule, Schedule, schedule_of


def ms(text: str) -> int:
    """Of an ISO time with its offset."""
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def times(line: str, after: str, until: str) -> list[int]:
    """All between two times."""
    found = schedule_of(line)
    assert isinstance(found, Schedule)
    return list(found.times(ms(after), ms(until)))


def test_a_line_is_read_in_its_time_zone() -> None:
    """The same line is due at other times in summer than in winter, as people see it."""
    line = "0 0 6 * * ? Europe/Berlin"
    assert times(line, "2026-01-10T00:00+00:00", "2026-01-11T00:00+00:00") == [
        ms("2026-01-10T05:00+00:00")
    ]
    assert times(line, "2026-07-10T00:00+00:00", "2026-07-11T00:00+00:00") == [
        ms("2026-07-10T04:00+00:00")
    ]


def test_a_time_is_due_once_and_behind_the_one_that_was_given() -> None:
    """What was asked for is not given again."""
    found = schedule_of("0 */10 * * * ? UTC")
    assert isinstance(found, Schedule)
    first = found.next_after(ms("2026-01-10T00:05+00:00"))
    assert first == ms("2026-01-10T00:10+00:00")
    assert found.next_after(first) == ms("2026-01-10T00:20+00:00")
    assert found.next_after(first - 1) == first
    assert found.least_pause_ms(0) == 600_000


def test_a_time_that_the_clocks_skip_is_due_when_they_have_gone_forward() -> None:
    """On that day at 3:00, which was 2:00; on the days around it as always."""
    line = "0 30 2 * * ? Europe/Berlin"
    assert times(line, "2026-03-28T00:00+01:00", "2026-03-31T00:00+02:00") == [
        ms("2026-03-28T02:30+01:00"), ms("2026-03-29T03:00+02:00"), ms("2026-03-30T02:30+02:00"),
    ]  # fmt: skip


def test_a_time_that_comes_twice_is_due_once() -> None:
    """The first time, before the clocks go back; asked from between the two there is none."""
    line = "0 30 2 * * ? Europe/Berlin"
    assert times(line, "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00") == [
        ms("2026-10-25T02:30+02:00")
    ]
    found = schedule_of(line)
    assert isinstance(found, Schedule)
    assert found.next_after(ms("2026-10-25T02:10+01:00")) == ms("2026-10-26T02:30+01:00")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("0 0 6 * * ?", "names no time zone"),
        ("30 2 * * *", "names no time zone"),
        ("0 6 * * * Europe/Berlin", "5 fields instead of 6 or 7"),
        ("0 0 6 * * ? Europe/Bärlin", "no time zone"),
        ("0 0 6 * * ? ../../etc/passwd", "no time zone"),
        ("0 61 6 * * ? UTC", "'61' as minutes"),
        ("0 0 6 30 2 ? UTC", "never due"),
    ],
)
def test_lines_that_are_none(line: str, told: str) -> None:
    """What is wrong, and how it is written."""
    found = schedule_of(line)
    assert isinstance(found, NoSchedule)
    assert told in found.message
    assert found.hint
