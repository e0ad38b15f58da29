"""`time:` and Java's date patterns (extensions 4)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.functions.java_dates import date_format
from lockstep.operators.errors import EventError
from tests.unit.functions.calling import call
from tests.unit.operators.plain_context import PlainContext

SECONDS = "yyyy-MM-dd HH:mm:ss"
NOW_MS = 1_415_712_224_657  # 2014-11-11 13:23:44.657 UTC


@pytest.mark.parametrize(
    ("name", "values", "types", "expected"),
    [
        ("date", ("2014-11-11 13:23:44", SECONDS), None, "2014-11-11"),
        ("date", ("2014-11-11 13:23:44.657",), None, "2014-11-11"),
        ("dateAdd", ("2014-01-31", 5, "month", "yyyy-MM-dd"), None, "2014-06-30"),
        ("dateAdd", (1415712224000, 2, "DAY"), "long int string", "1415885024000"),
        ("dateAdd", ("2012-02-29", 1, "YEAR", "yyyy-MM-dd"), None, "2013-02-28"),
        ("dateSub", ("2014-11-11 13:23:44.657", 2, "QUARTER"), None, "2014-05-11 13:23:44.657"),
        ("dateSub", (1415712224000, 2, "HOUR"), "long int string", "1415705024000"),
        ("dateDiff", ("2014-11-11", "2014-11-9", "yyyy-MM-dd", "yyyy-MM-dd"), None, 2),
        ("dateDiff", (1412841224000, 1415692424000), "long long", -33),
        ("dateFormat", ("2014/11/11", "ss-yyyy", "yyyy/MM/dd"), None, "00-2014"),
        ("dateFormat", (NOW_MS, SECONDS), "long string", "2014-11-11 13:23:44"),
        ("dayOfWeek", ("2014-12-11 13:23:44.657",), None, "Thursday"),
        ("extract", ("MONTH", "2014-3-11", "yyyy-MM-dd"), None, 3),
        ("extract", (NOW_MS, "HOUR"), "long string", 13),
        ("extract", (NOW_MS, "quarter"), "long string", 4),
        ("extract", ("WEEK", "2017-01-01", "yyyy-MM-dd"), None, 1),
        ("extract", ("WEEK", "2017-01-01", "yyyy-MM-dd", "de_DE"), None, 52),
        ("extract", (NOW_MS, "FORTNIGHT"), "long string", 0),
        ("timestampInMilliseconds", ("2014-11-11 13:23:44.657",), None, NOW_MS),
        ("timestampInMilliseconds", ("2014-11-11 13:23", "yyyy-MM-dd HH:mm"), None, 1415712180000),
        (
            "timezoneConvert",
            ("2014-11-11 13:23:44", SECONDS, "Asia/Kolkata"),
            None,
            "2014-11-11 18:53:44",
        ),
        (
            "timezoneConvert",
            ("2014-07-01 00:00:00", SECONDS, "UTC", "PST"),
            None,
            "2014-07-01 07:00:00",
        ),
        ("date", (None,), "string", None),
        ("extract", (None, "DAY"), "long string", None),
    ],
)
def test_values(name: str, values: tuple[Any, ...], types: str | None, expected: Any) -> None:
    """Dates in, dates out, in UTC."""
    assert call(f"time:{name}", *values, types=types) == expected


def test_now_is_the_logs_clock() -> None:
    """Every replica says the same time."""
    context = PlainContext()
    context.now = NOW_MS
    found = {
        name: call(f"time:{name}", *values, context=context)
        for name, values in (
            ("currentDate", ()),
            ("currentTime", ()),
            ("currentTimestamp", ("America/New_York",)),
            ("utcTimestamp", ("yyyy",)),
            ("timestampInMilliseconds", ()),
        )
    }
    assert found == {
        "currentDate": "2014-11-11",
        "currentTime": "13:23:44",
        "currentTimestamp": "2014-11-11 08:23:44",
        "utcTimestamp": "2014",
        "timestampInMilliseconds": NOW_MS,
    }


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("date", ("11.11.2014",)),
        ("date", ("2014", "yyyy-MM")),
        ("dateFormat", ("2014-11-11 13:23:44.657", "bb")),
        ("timezoneConvert", ("2014", "yyyy", "Moon/Crater")),
        ("dateAdd", ("9999-12-31", 1, "DAY", "yyyy-MM-dd")),
    ],
)
def test_refusals(name: str, values: tuple[Any, ...]) -> None:
    """Texts that are no dates, patterns that are none, zones that do not exist."""
    with pytest.raises(EventError):
        call(f"time:{name}", *values)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("EEE, d MMM yyyy hh:mm:ss a Z", "Tue, 11 Nov 2014 01:23:44 PM +0000"),
        ("EEEE d MMMM yy 'o''clock' K a", "Tuesday 11 November 14 o'clock 1 PM"),
        ("D w u k S", "315 46 2 13 657"),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2014-11-11T13:23:44Z"),
        ("G yyyyMMdd", "AD 20141111"),
    ],
)
def test_formats(pattern: str, text: str) -> None:
    """The letters of the patterns."""
    assert date_format(pattern).format(NOW_MS) == text


@pytest.mark.parametrize(
    ("pattern", "text", "expected_ms"),
    [
        ("yyyyMMddHHmm", "201411111323", 1415712180000),
        ("yyyy-MM-dd", "2014-13-01", 1420070400000),
        ("dd MMM yy", "11 nov 14 and more", 1415664000000),
        ("yyyy-MM-dd HH:mm z", "2014-11-11 13:23 GMT+02:00", 1415704980000),
        ("yyyy-MM-dd hh:mm a", "2014-11-11 12:00 AM", 1415664000000),
        ("HH", "25", 90000000),
        ("d1M", "1112", 2678400000 + 10 * 86400000),
        ("yyyy-MM-ddX'T'HH", "2014-11-11ZT13", 1415710800000),
        ("yyyy-MM-dd z/HH", "2014-11-11 UTC/13", 1415710800000),
        ("MMM'ch' yyyy", "March 1970", 5097600000),
        ("ddMMMyyyy", "11November2014", 1415664000000),
    ],
)
def test_parses(pattern: str, text: str, expected_ms: int) -> None:
    """Lenient: numbers roll over, what follows is ignored; what a field gives back to a text that
    follows it, too."""
    assert date_format(pattern).parse(text) == expected_ms


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("d1" * 40 + "'!'", "1" * 200), (",".join(["MMM"] * 60) + "!", ",".join(["May"] * 60))],
)
def test_no_text_keeps_a_format_busy(pattern: str, text: str) -> None:
    """There are more ways to read it than could be tried: each is refused at once."""
    with pytest.raises(EventError, match="is no date of the form"):
        date_format(pattern).parse(text)


def test_formats_read_what_they_write() -> None:
    """There and back, to the millisecond."""
    full = date_format("yyyy-MM-dd HH:mm:ss.SSS Z")
    for timestamp_ms in (0, -1, NOW_MS, 253402300799999, -62135596800000):
        assert full.parse(full.format(timestamp_ms)) == timestamp_ms
