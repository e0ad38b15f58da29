"""The security samples find places by IP address, once the dashes of their queries are away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from lockstep.cli.commands.samples import FOLDER
from lockstep.functions.geo import addresses
from lockstep.testing import VirtualApp
from tests.e2e.security_places import city, found_by_address, written

PLACES: Final[dict[str, dict[str, Any]]] = {
    "192.0.2.0/24": city("Bern", "CH", 46.95, 7.44),
    "2001:db8::/32": city("Tokyo", "JP", 35.68, 139.69),
    "198.51.100.0/24": {"country": {"iso_code": "NO"}},
}
BERN: Final = ("Bern, CH", 46.95, 7.44)
TOKYO: Final = ("Tokyo, JP", 35.68, 139.69)
BOTH: Final = pytest.mark.parametrize("executor", ["reference", "columnar"])


@pytest.fixture
def name(tmp_path: Path) -> Iterator[str]:
    """A file of places, as an app names it."""
    with addresses.in_force(str(tmp_path)):
        yield written(tmp_path, PLACES)


def sample(which: str, name: str, executor: str) -> VirtualApp:
    """The app, with that file."""
    text = (FOLDER / f"{which}.siddhi").read_text("utf-8")
    return VirtualApp(found_by_address(text, name), executor=executor)


@BOTH
def test_log_ins_get_places_and_alerts_are_about_them(name: str, executor: str) -> None:
    """Bern and a minute later Tokyo; what is not in the file is unknown, and no travel."""
    app = sample("login_alerts", name, executor)
    for at_ms, ip in (
        (1_000, "192.0.2.7"), (61_000, "2001:db8::1"), (121_000, "198.51.100.1"),
        (181_000, "203.0.113.1"), (241_000, "203.0.113.2"),
    ):  # fmt: skip
        app.send("LoginFrom", ["ann", ip, "mac", "mail", True], timestamp_ms=at_ms)
    assert [(one.timestamp_ms, *one.data) for one in app.stream("Alert")] == [
        (61_000, "impossible_travel", "high", "ann", "2001:db8::1",
         "Bern, CH to Tokyo, JP at 580032 km/h", *TOKYO),
    ]  # fmt: skip
    seen = app.on_demand("from PlaceSummary select place, latitude, longitude, logins")
    assert {tuple(row) for row in seen} == {
        (*BERN, 1), (*TOKYO, 1), ("NO", None, None, 1), ("unknown", None, None, 2),
    }  # fmt: skip


@BOTH
def test_sessions_that_go_on_elsewhere_are_found_by_address(name: str, executor: str) -> None:
    """The device is the same: the place alone tells."""
    app = sample("user_sessions", name, executor)
    for at_ms, ip in ((1_000, "192.0.2.7"), (61_000, "2001:db8::1")):
        row = ["ann", "s1", ip, "mac", "mail", "read"]
        app.send("ActivityFrom", row, timestamp_ms=at_ms)
    assert [one.data for one in app.stream("Alert")] == [
        ("session_hijack", "high", "ann", "2001:db8::1",
         "Bern, CH to Tokyo, JP within a session", *TOKYO),
    ]  # fmt: skip
