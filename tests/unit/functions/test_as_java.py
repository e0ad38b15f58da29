"""Where Java's answer is not the one that Python's library gives first; asked of a JVM."""

from __future__ import annotations

import pytest

from lockstep.functions.java_dates import date_format, epoch_ms, local_time
from lockstep.functions.java_zones import zone
from lockstep.operators.errors import EventError
from tests.unit.functions.calling import call

SECONDS = "yyyy-MM-dd HH:mm:ss"


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyy-MM-dd hh:mm", "2020-01-01 13:30", "2020-01-01 13:30:00"),
        ("yyyy-MM-dd hh:mm", "2020-01-01 12:30", "2020-01-01 00:30:00"),
        ("yyyy-MM-dd HH:mm a", "2020-01-01 13:30 PM", "2020-01-01 13:30:00"),
        ("yyyy-MM-dd HH:mm a", "2020-01-01 02:45 pm", "2020-01-01 02:45:00"),
        ("yyyy-MM-dd hh:mm a", "2020-01-01 02:45 pm", "2020-01-01 14:45:00"),
        ("yyyy-MM-dd KK:mm a", "2020-01-01 00:45 PM", "2020-01-01 12:45:00"),
        ("yyyy-MM-dd kk:mm", "2020-01-01 25:00", "2020-01-02 01:00:00"),
        ("yyyy-MM-dd kk:mm", "2020-01-01 24:00", "2020-01-01 00:00:00"),
        ("yyyy-MM-dd a", "2020-01-01 PM", "2020-01-01 12:00:00"),
        ("yyyy-MM-dd HH hh a", "2020-01-01 05 07 PM", "2020-01-01 19:00:00"),
        ("yyyy-MM-dd hh a HH", "2020-01-01 07 PM 05", "2020-01-01 05:00:00"),
    ],
)
def test_hours_of_a_day_and_of_its_half(pattern: str, text: str, expected: str) -> None:
    """12 alone is 0 of a half, 24 alone is 0 of a day; AM and PM say nothing of a whole day."""
    found = date_format(pattern).parse(text, zone("UTC"))
    assert date_format(SECONDS).format(found, zone("UTC")) == expected


@pytest.mark.parametrize(
    ("at", "text", "expected"),
    [
        ("America/New_York", "2021-11-07 01:30:00", "2021-11-07 06:30:00"),
        ("Europe/Berlin", "2021-10-31 02:30:00", "2021-10-31 01:30:00"),
        ("Europe/London", "2021-10-31 01:30:00", "2021-10-31 01:30:00"),
        ("Australia/Lord_Howe", "2021-04-04 01:45:00", "2021-04-03 15:15:00"),
        ("Europe/Berlin", "2021-03-28 02:30:00", "2021-03-28 01:30:00"),
        ("America/New_York", "2021-11-07 00:59:59", "2021-11-07 04:59:59"),
    ],
)
def test_the_hour_that_comes_twice_is_the_second_one(at: str, text: str, expected: str) -> None:
    """And one that is skipped goes on from before."""
    found = date_format(SECONDS).parse(text, zone(at))
    assert date_format(SECONDS).format(found, zone("UTC")) == expected


def test_a_time_within_the_hour_that_comes_twice_is_kept() -> None:
    """Who has a timestamp has no question which one it is."""
    for timestamp_ms in (1_635_638_400_000, 1_635_642_000_000):
        assert epoch_ms(local_time(timestamp_ms, zone("Europe/Berlin"))) == timestamp_ms


def test_whole_numbers_of_xml_are_kept_to_the_last_digit() -> None:
    """A double would change them beyond 2^53."""
    text = "<r><id>9007199254740993</id><b>-1234567890123456789</b><c>4.0</c><d>1.5</d></r>"
    assert call("map:createFromXML", text) == {
        "id": 9007199254740993,
        "b": -1234567890123456789,
        "c": 4,
        "d": 1.5,
    }
    assert call("map:createFromXML", f"<r><n>{2**64}</n></r>") == {"n": 2.0**64}
    assert call("map:createFromXML", f"<r><n>{'0' * 5_000}1</n></r>") == {"n": 1}


@pytest.mark.parametrize(("text", "base"), [("0x1f", 16), ("0b1", 2), ("1_0", 10), ("²", 10)])
def test_a_number_of_a_base_has_its_digits_alone(text: str, base: int) -> None:
    """No prefix, no line between them."""
    with pytest.raises(EventError, match="is no int in base"):
        call("math:conv", text, base, 10)


def test_digits_are_those_of_a_number() -> None:
    """A raised two is none, neither in a template nor behind a dollar."""
    with pytest.raises(EventError, match="there is no value ²"):
        call("str:fillTemplate", "{{²}}", "a")
    with pytest.raises(EventError, match="a group is missing"):
        call("str:replaceAll", "abc", "b", "$²")
