"""Bucket starts by calendar and zone, buckets filled out of order (semantics 17.1, 17.4)."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.aggregations.meaning.buckets import Buckets
from lockstep.aggregations.meaning.calendar import Bucketing
from lockstep.siddhiql.ast import Granularity

GRANULARITIES = [
    Granularity.SECONDS,
    Granularity.MINUTES,
    Granularity.HOURS,
    Granularity.DAYS,
    Granularity.MONTHS,
    Granularity.YEARS,
]


def ms(text: str, zone: str = "UTC") -> int:
    """A local time as ms since 1970."""
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("granularity", "start"),
    [
        (Granularity.SECONDS, "2020-02-29T13:14:15"),
        (Granularity.MINUTES, "2020-02-29T13:14:00"),
        (Granularity.HOURS, "2020-02-29T13:00:00"),
        (Granularity.DAYS, "2020-02-29T00:00:00"),
        (Granularity.MONTHS, "2020-02-01T00:00:00"),
        (Granularity.YEARS, "2020-01-01T00:00:00"),
    ],
)
@pytest.mark.parametrize("zone", ["GMT", "Asia/Colombo", "America/New_York"])
def test_buckets_begin_where_the_calendar_says(
    granularity: Granularity, start: str, zone: str
) -> None:
    """In GMT and in zones with half hours and daylight saving."""
    named = "UTC" if zone == "GMT" else zone
    at = ms("2020-02-29T13:14:15.678", named)
    assert Bucketing(granularity, zone).start(at) == ms(start, named)


def test_days_of_daylight_saving_are_whole() -> None:
    """The long night of New York is one day, its repeated hour is two buckets."""
    day = Bucketing(Granularity.DAYS, "America/New_York")
    noon = ms("2020-11-01T12:00:00", "America/New_York")
    assert day.start(noon) == ms("2020-11-01T00:00:00", "America/New_York")
    hour = Bucketing(Granularity.HOURS, "America/New_York")
    first = round(datetime(2020, 11, 1, 5, 30, tzinfo=UTC).timestamp() * 1000)
    assert hour.start(first + 3_600_000) - hour.start(first) == 3_600_000


@pytest.mark.parametrize(
    ("zone", "changes"),
    [("Atlantic/Azores", "2020-10-25T01:00:00"), ("America/Havana", "2020-11-01T05:00:00")],
)
@pytest.mark.parametrize("granularity", [Granularity.DAYS, Granularity.MONTHS, Granularity.YEARS])
def test_a_midnight_that_comes_twice_splits_nothing(
    zone: str, changes: str, granularity: Granularity
) -> None:
    """The clock goes from one o'clock back to midnight: both midnights are of one day, month and
    year; the hours in front of the change and behind it are two."""
    second = ms(changes)
    bucketing = Bucketing(granularity, zone)
    starts = {bucketing.start(second + minutes * 60_000) for minutes in (-30, 0, 30, 12 * 60)}
    (start,) = starts
    assert bucketing.start(start) == start <= second - 3_600_000
    hour = Bucketing(Granularity.HOURS, zone)
    assert hour.start(second + 1) - hour.start(second - 1) == 3_600_000


@pytest.mark.parametrize(
    ("zone", "changes", "start"),
    [
        ("Pacific/Chatham", "2026-09-26T14:00:00", "2026-09-26T14:00:00"),
        ("Australia/Lord_Howe", "2026-10-03T15:30:00", "2026-10-03T15:30:00"),
        ("Asia/Kathmandu", "1985-12-31T18:30:00", "1985-12-31T18:30:00"),
        ("Europe/Berlin", "2026-03-29T01:00:00", "2026-03-29T01:00:00"),
    ],
)
def test_an_hour_that_the_clock_is_put_forward_into_begins_then(
    zone: str, changes: str, start: str
) -> None:
    """In the Chatham Islands it is 2:45 and then 3:45 every year: there is no three o'clock."""
    hour = Bucketing(Granularity.HOURS, zone)
    first = ms(changes)
    assert {hour.start(first + minutes * 60_000) for minutes in (0, 1, 14)} == {ms(start)}
    assert hour.start(first - 1) < first


def changes_of(zone: str) -> list[int]:
    """When the zone's offset changes, to the second, in ms since 1970."""
    tz, found = ZoneInfo(zone), []
    days = range(0, 25_000 * 86_400, 7 * 86_400)
    for before, behind in pairwise(days):
        old = datetime.fromtimestamp(before, tz).utcoffset()
        while datetime.fromtimestamp(behind, tz).utcoffset() != old and behind - before > 1:
            middle = (before + behind) // 2
            if datetime.fromtimestamp(middle, tz).utcoffset() == old:
                before = middle
            else:
                behind = middle
        if datetime.fromtimestamp(behind, tz).utcoffset() != old:
            found.append(behind * 1000)
    return found


@pytest.mark.parametrize(
    "zone",
    [
        *("Pacific/Chatham", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu"),
        *("Pacific/Apia", "America/Sao_Paulo", "Africa/Monrovia", "America/Caracas", "Asia/Gaza"),
        *("Europe/Berlin", "America/New_York", "Antarctica/Troll", "Africa/Cairo"),
    ],
)
def test_a_bucket_holds_its_time_at_every_change_of_a_zone(zone: str) -> None:
    """No bucket begins behind its events, and each is the bucket of its own start."""
    changes = changes_of(zone)
    assert changes
    minutes = (-90, -61, -60, -46, -31, -1, 0, 1, 14, 15, 16, 29, 30, 31, 45, 59, 60, 61, 90)
    for change in changes:
        for at in (change + off for minute in minutes for off in (minute * 60_000, -1, 1)):
            later = at
            for granularity in GRANULARITIES:
                bucketing = Bucketing(granularity, zone)
                start = bucketing.start(at)
                assert start <= later
                assert bucketing.start(start) == start
                later = start


def test_an_hour_that_comes_twice_in_part_goes_on_in_its_second_part() -> None:
    """It is 3:45 in the Chatham Islands, and then 2:45: what is behind four to four is of the later
    three o'clock."""
    hour = Bucketing(Granularity.HOURS, "Pacific/Chatham")
    first = ms("2026-04-04T13:15:00")  # three o'clock for the first time
    assert [(hour.start(first + minutes * 60_000) - first) // 60_000 for minutes in (0, 44)] == [
        0,
        0,
    ]
    starts = [
        (hour.start(first + minutes * 60_000) - first) // 60_000 for minutes in (60, 104, 119)
    ]
    assert starts == [60, 60, 60]
    assert hour.start(first + 50 * 60_000) == first - 3_600_000  # ten to three again


@given(st.integers(-(10**12), 4 * 10**12))
def test_a_bucket_holds_its_time(at: int) -> None:
    """Starts are whole, not later than the time, starts of themselves; coarser ones earlier."""
    later = at
    for granularity in GRANULARITIES:
        bucketing = Bucketing(granularity)
        start = bucketing.start(at)
        assert start <= later
        assert start % 1000 == 0
        assert bucketing.start(start) == start
        later = start


def buckets(*starts: int) -> Buckets:
    """Buckets with these starts, each with groups x and y."""
    made = Buckets(lambda: [None], list)
    for start in starts:
        made.state(start, ("x",))[0] = start
        made.state(start, ("y",))[0] = {start}
    return made


def test_buckets_are_found_in_order_of_time() -> None:
    """Late buckets stand in their place; the end is excluded."""
    made = buckets(3000, 1000, 2000)
    assert [start for start, _ in made.find(1000, 3000, ("x",))] == [1000, 2000]
    assert [start for start, _ in made.find(0, 9000, None)] == [1000, 1000, 2000, 2000, 3000, 3000]
    assert list(made.find(0, 9000, ("z",))) == []


def test_purging_drops_what_starts_earlier() -> None:
    """A bucket that starts at the limit stays."""
    made = buckets(1000, 2000, 3000)
    made.purge(2000)
    assert [start for start, _ in made.find(0, 9000, ("x",))] == [2000, 3000]
    made.purge(9000)
    assert list(made.find(0, 9000, None)) == []
    empty = buckets()
    empty.purge(9000)
    assert list(empty.find(0, 9000, None)) == []


def test_a_snapshot_shares_nothing() -> None:
    """What comes after a snapshot is not in it."""
    made = buckets(1000)
    saved = made.snapshot()
    made.state(1000, ("y",))[0].add(7)
    made.state(500, ("x",))
    again = buckets()
    again.restore(saved)
    assert list(again.find(0, 9000, ("y",))) == [(1000, [{1000}])]
    again.state(1000, ("y",))[0].add(8)
    assert saved[0][1][1][1] == [{1000}]
