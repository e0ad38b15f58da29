"""Zones in texts and as ids. The offsets are those at which Java 17 reads them."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from lockstep.functions import java_zones
from lockstep.functions.java_dates import date_format
from lockstep.functions.java_zones import zone
from lockstep.operators.errors import EventError
from lockstep.testing import VirtualApp

FORM = date_format("yyyy-MM-dd HH:mm z")
HOUR_MS = 3_600_000
NAMES = {
    -11: "SST",
    -10: "HST",
    -9: "AKST",
    -8: "PST AKDT",
    -7: "MST PDT",
    -6: "CST MDT",
    -5: "EST CDT est",
    -4: "EDT AST CLT",
    -3.5: "NST",
    -3: "ADT ART BRT",
    -2.5: "NDT",
    0: "UTC GMT WET",
    1: "BST CET WEST WAT",
    2: "CEST EET IST SAST CAT",
    3: "EEST MSK EAT",
    5: "PKT",
    8: "SGT HKT AWST",
    9: "JST KST",
    9.5: "ACST",
    10: "AEST",
    11: "AEDT",
    12: "NZST",
    13: "NZDT",
}
OFFSETS = [(name, hours) for hours, names in NAMES.items() for name in names.split()]


def ms(text: str) -> int:
    """A time of UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(("name", "hours"), OFFSETS)
def test_a_name_in_a_text_is_an_offset(name: str, hours: float) -> None:
    """The same one in summer and in winter."""
    for day in ("2026-01-15", "2026-07-15"):
        assert FORM.parse(f"{day} 12:00 {name}") == ms(f"{day}T12:00") - hours * HOUR_MS


@pytest.mark.parametrize(
    ("own", "name", "hours"),
    [
        ("Asia/Kolkata", "IST", 5.5),
        ("Asia/Shanghai", "CST", 8),
        ("Europe/Dublin", "IST", 1),
        ("Europe/Dublin", "GMT", 0),
        ("Europe/London", "bst", 1),
        ("America/New_York", "CEST", 2),
    ],
)
def test_the_names_of_the_texts_own_zone_come_first(own: str, name: str, hours: float) -> None:
    """IST is Israel's, but not in India."""
    found = FORM.parse(f"2026-07-15 12:00 {name}", zone(own))
    assert found == ms("2026-07-15T12:00") - hours * HOUR_MS


@pytest.mark.parametrize(
    "name",
    [
        *("America/New_York", "America/Chicago", "America/Los_Angeles", "America/Anchorage"),
        *("Europe/London", "Europe/Berlin", "Europe/Helsinki", "Europe/Lisbon", "Asia/Tokyo"),
        *("Australia/Sydney", "Australia/Darwin", "Pacific/Auckland", "Africa/Nairobi", "EST"),
        *("PST", "MST", "America/Sao_Paulo", "Asia/Kathmandu", "+05:30", "UTC"),
    ],
)
def test_what_is_written_with_a_zone_is_read_again(name: str) -> None:
    """In January and in July, and without knowing the zone."""
    for time in (ms("2026-01-15T12:00"), ms("2026-07-15T12:00")):
        assert FORM.parse(FORM.format(time, zone(name))) == time


def test_ids_without_summer_have_their_own_name() -> None:
    """PST as an id is Los Angeles all the same."""
    summer = ms("2026-07-15T12:00")
    found = {name: FORM.format(summer, zone(name))[11:] for name in ("EST", "MST", "HST", "PST")}
    assert found == {"EST": "07:00 EST", "MST": "05:00 MST", "HST": "02:00 HST", "PST": "05:00 PDT"}


@pytest.mark.parametrize(
    "name", ["localtime", "LocalTime", "Factory", "posixrules", "posix/Europe/Berlin", "right/UTC"]
)
def test_what_is_a_machines_own_is_no_zone(name: str) -> None:
    """Replicas on other machines could come to other rows."""
    with pytest.raises(EventError, match="no time zone") as caught:
        zone(name)
    assert "Europe/Berlin" in (caught.value.hint or "")
    with pytest.raises(EventError, match="no time zone"):
        FORM.parse(f"2026-07-15 12:00 {name.split('/')[0]}")


def test_an_app_converts_there_and_back() -> None:
    """Through a text, in July."""
    app = VirtualApp(
        "define stream S (t string); @info(name='q') from S select "
        "time:timezoneConvert(t, 'yyyy-MM-dd HH:mm z', 'America/New_York') as there, "
        "time:timestampInMilliseconds(time:timezoneConvert(t, 'yyyy-MM-dd HH:mm z', "
        "'America/New_York'), 'yyyy-MM-dd HH:mm z') as back insert into O;"
    )
    app.send("S", ["2026-07-01 12:00 CEST"])
    (found,) = app.stream("O")
    assert found.data == ("2026-07-01 06:00 EDT", ms("2026-07-01T10:00"))


def test_the_offsets_of_names_stand_once() -> None:
    """A name has one offset, and they are in order."""
    table = java_zones._NAMES_BY_MINUTES
    assert all(earlier < later for earlier, later in pairwise(table))
    names = [name for line in table.values() for name in line.split()]
    assert len(names) == len(set(names)) > 250
