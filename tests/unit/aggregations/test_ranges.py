"""`within … per …`: texts, numbers, wildcards and zones (semantics 17.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lockstep.aggregations.meaning.ranges import (
    RangeReader,
    granularity_named,
    span,
    time_ms,
)
from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast
from lockstep.siddhiql.ast import Granularity

DAY = 86_400_000
JUNE_2020 = 1_590_969_600_000


@pytest.mark.parametrize(
    ("text", "start", "length"),
    [
        ("2020-**-** **:**:**", 1_577_836_800_000, 366 * DAY),
        ("2020-06-** **:**:**", JUNE_2020, 30 * DAY),
        ("2020-12-** **:**:**", 1_606_780_800_000, 31 * DAY),
        ("2020-06-01 **:**:**", JUNE_2020, DAY),
        ("2020-06-01 00:**:**", JUNE_2020, 3_600_000),
        ("2020-06-01 00:00:**", JUNE_2020, 60_000),
        ("2020-06-01 00:00:00", JUNE_2020, 1_000),
        ("2020-06-01 05:30:** +05:30", JUNE_2020, 60_000),
        ("2020-**-** **:**:** -01:00", 1_577_840_400_000, 366 * DAY),
    ],
)
def test_wildcards_from_the_right_open_a_span(text: str, start: int, length: int) -> None:
    """The span begins with what is given and is as long as its last part."""
    assert span(text, None, is_pattern=True) == (start, start + length)


@pytest.mark.parametrize(
    "text", ["2020", "2020-**-01 **:**:**", "2020-13-** **:**:**", "2020-06-01 00:00", "", "*"]
)
def test_other_texts_are_refused(text: str) -> None:
    """A hole in the middle, a month 13, half a time."""
    with pytest.raises(EventError):
        span(text, None, is_pattern=True)


@pytest.mark.parametrize(
    "text",
    [
        "9999-**-** **:**:**",
        "9999-12-** **:**:**",
        "9999-12-31 **:**:**",
        "9999-12-31 23:59:59",
        "0000-**-** **:**:**",
        "2020-**-** **:**:** +99:99",
        "2020-06-01 00:00:00 -24:00",
    ],
)
def test_what_no_calendar_has_is_refused(text: str) -> None:
    """A span that ends after the year 9999, a year 0, and zones of a day or more."""
    with pytest.raises(EventError):
        span(text, None, is_pattern=True)


def test_moments() -> None:
    """GMT without a zone; a zone is taken off."""
    assert time_ms("2020-06-01 00:00:00") == JUNE_2020
    assert time_ms(" 2020-06-01 05:30:00 +05:30 ") == JUNE_2020
    with pytest.raises(EventError, match="not one moment"):
        time_ms("2020-06-01 00:00:**")
    with pytest.raises(EventError, match="no time"):
        time_ms("2020-06-01 00:00:00 +24:00")


def test_two_ends_may_be_numbers_or_texts() -> None:
    """Each end by itself; the end must be later."""
    assert span(5, "1970-01-01 00:00:01", is_pattern=False) == (5, 1000)
    for start, end in ((5, 5), (None, 5), (True, 5), (1.5, 5)):
        with pytest.raises(EventError):
            span(start, end, is_pattern=False)
    with pytest.raises(EventError):
        span(5, None, is_pattern=True)


def test_granularities_have_many_names() -> None:
    """Every spelling of `per`, in any case."""
    assert granularity_named("sec") is Granularity.SECONDS
    assert granularity_named("Minutes") is Granularity.MINUTES
    assert granularity_named(" YEAR ") is Granularity.YEARS
    with pytest.raises(EventError, match="fortnight"):
        granularity_named("fortnight")


def compiled(expression: ast.Expression) -> Callable[[Any], Any]:
    """Constants as they are; variables are looked up in the event, a dict here."""
    if isinstance(expression, ast.Constant):
        return lambda _: expression.value
    assert isinstance(expression, ast.Variable)
    return lambda event: event[expression.name]


KNOWN = (Granularity.SECONDS, Granularity.DAYS)


def test_attributes_are_read_per_event() -> None:
    """Range and granularity may come with the event."""
    range_ = ast.Range(ast.Variable("a"), ast.Variable("b"), ast.Variable("p"))
    reader = RangeReader(range_, KNOWN, compiled)
    assert reader.read({"a": 0, "b": 9, "p": "day"}) == (Granularity.DAYS, 0, 9)
    for event in ({"a": 0, "b": 9, "p": "hour"}, {"a": 0, "b": 9, "p": None}):
        with pytest.raises(EventError):
            reader.read(event)
