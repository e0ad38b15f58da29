"""Numbers and times as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep_services.console import figures

MICROSECONDS = 1_764_453_600_000_000


def test_a_number_that_is_no_date_stays_a_number() -> None:
    """As of an event whose clock counts microseconds; a page goes on with it."""
    assert figures.moment(1_764_453_600_000) == "2025-11-29 22:00:00"
    assert figures.time_of_day(1_764_453_600_000) == "22:00:00"
    assert figures.moment(-1_000) == "1969-12-31 23:59:59"
    assert figures.moment(figures.LAST_MS) == "9999-12-31 23:59:59"
    for number in (figures.LAST_MS + 1, MICROSECONDS, -MICROSECONDS, 10**18):
        assert figures.moment(number) == figures.time_of_day(number) == str(number)


@pytest.mark.parametrize(
    ("found", "whole", "short"),
    [
        (1_234_567.89, "1,234,567.89", "1.23457e+06"),
        (25.0, "25", "25"),
        (0.000012345678, "1.2345678e-05", "1.23457e-05"),
        (1e300, "1e+300", "1e+300"),
        (9_007_199_254_740_993, "9007199254740993", "9007199254740993"),
        (None, "–", "–"),
        (True, "true", "true"),
        ("<b>", "<b>", "<b>"),
    ],
)
def test_a_table_has_all_digits_of_a_value(found: Any, whole: str, short: str) -> None:
    """A tile has room for six."""
    assert (figures.value(found), figures.short(found)) == (whole, short)
