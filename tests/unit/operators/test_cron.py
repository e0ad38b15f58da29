"""Quartz cron expressions: when they fire next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lockstep.operators.cron import CronError, CronSchedule


def ms(*fields: int) -> int:
    """Epoch milliseconds of a UTC time."""
    return int(datetime(*fields, tzinfo=UTC).timestamp()) * 1000  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "after", "fires"),
    [
        ("*/5 * * * * ?", ms(2024, 1, 1, 0, 0, 0), ms(2024, 1, 1, 0, 0, 5)),
        ("0 15 10 ? * MON-FRI", ms(2024, 1, 5, 10, 15, 0), ms(2024, 1, 8, 10, 15, 0)),
        ("0 0 12 1 * ?", ms(2024, 1, 1, 12, 0, 0), ms(2024, 2, 1, 12, 0, 0)),
        ("0 0 0 L * ?", ms(2024, 2, 1, 0, 0, 0), ms(2024, 2, 29, 0, 0, 0)),
        ("0 0 0 LW * ?", ms(2024, 3, 1, 0, 0, 0), ms(2024, 3, 29, 0, 0, 0)),
        ("0 0 0 L-2 * ?", ms(2024, 2, 1, 0, 0, 0), ms(2024, 2, 27, 0, 0, 0)),
        ("0 0 0 15W * ?", ms(2024, 6, 1, 0, 0, 0), ms(2024, 6, 14, 0, 0, 0)),
        ("0 0 0 ? * 6L", ms(2024, 1, 1, 0, 0, 0), ms(2024, 1, 26, 0, 0, 0)),
        ("0 0 0 ? * 2#3", ms(2024, 1, 1, 0, 0, 0), ms(2024, 1, 15, 0, 0, 0)),
        ("0 0 0 29 FEB ? 2028", ms(2024, 3, 1, 0, 0, 0), ms(2028, 2, 29, 0, 0, 0)),
        ("0 0/20 22-2 * * ?", ms(2024, 1, 1, 2, 40, 0), ms(2024, 1, 1, 22, 0, 0)),
        ("1,2 * * * * ?", ms(2024, 1, 1, 0, 0, 1), ms(2024, 1, 1, 0, 0, 2)),
    ],
)
def test_next(text: str, after: int, fires: int) -> None:
    """The first time later than `after`."""
    assert fires == CronSchedule(text).next_after(after)


def test_never_again() -> None:
    """A year that is over."""
    assert CronSchedule("0 0 0 1 1 ? 2020").next_after(ms(2024, 1, 1, 0, 0, 0)) is None


@pytest.mark.parametrize(
    "text",
    ["* * * * *", "61 * * * * ?", "x * * * * ?", "*/0 * * * * ?", "0 0 0 40 * ?", "0 0 0 ? * 2#",
     "0 0 0 2 * A#2"],
)  # fmt: skip
def test_refused(text: str) -> None:
    """Texts that are no cron expressions."""
    with pytest.raises(CronError):
        CronSchedule(text)
