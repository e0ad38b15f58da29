"""Places by IP address: `geo:country` and its like (extensions 11), from files that tests write."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mmdb_writer import MMDBWriter
from netaddr import IPSet

from lockstep.functions.geo import addresses
from lockstep.siddhiql import SiddhiQLError
from lockstep.testing import VirtualApp

BERN: dict[str, Any] = {
    "country": {"iso_code": "CH", "names": {"en": "Switzerland"}},
    "city": {"names": {"en": "Bern", "de": "Bern"}},
    "location": {"latitude": 46.95, "longitude": 7.44},
    "subdivisions": [{"iso_code": "BE"}],
}
OSLO: dict[str, Any] = {
    "country": {"iso_code": "NO"},
    "location": {"latitude": 59.91, "longitude": 10.75},
}
APP = """
define stream S (ip string);
@info(name='q') from S select geo:country(ip, '{0}') as country, geo:city(ip, '{0}') as city,
  geo:latitude(ip, '{0}') as lat, geo:longitude(ip, '{0}') as lon,
  geo:ofAddress(ip, '{0}', 'subdivisions.0.iso_code') as canton
insert into O;
"""


def written(file: Path, places: dict[str, dict[str, Any]]) -> str:
    """A file of these networks; its name and digest, as an app writes them."""
    writer = MMDBWriter(ip_version=6, ipv4_compatible=True, database_type="Test")
    for network, place in places.items():
        writer.insert_network(IPSet([network]), place)
    writer.to_db_file(str(file))
    return f"city@{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where the files of this process are."""
    with addresses.in_force(str(tmp_path)):
        yield tmp_path


def rows(app: VirtualApp, *ips: str | None) -> list[tuple[object, ...]]:
    """What comes of these addresses."""
    before = len(app.stream("O"))
    for ip in ips:
        app.send("S", [ip])
    return [event.data for event in app.stream("O")[before:]]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_places(folder: Path, executor: str) -> None:
    """IPv4 and IPv6; what is not in the file is null, what is no address fails its event."""
    name = written(folder / "city.mmdb", {"192.0.2.0/24": BERN, "2001:db8::/32": OSLO})
    app = VirtualApp(APP.format(name), executor=executor)
    bern = ("CH", "Bern", 46.95, 7.44, "BE")
    nothing = (None,) * 5
    assert rows(app, "192.0.2.7", "2001:db8::1") == [bern, ("NO", None, 59.91, 10.75, None)]
    assert rows(app, "198.51.100.1", None) == [nothing, nothing]
    assert rows(app, "not an address", " 192.0.2.8 ") == [bern]
    assert "is no IP address" in str(app.faults()[0])


def test_a_new_file_changes_nothing_until_an_app_names_it(folder: Path) -> None:
    """A restart with the same text gives the same answer, whatever else was put there."""
    old = written(folder / "city-old.mmdb", {"192.0.2.0/24": BERN})
    app = VirtualApp(APP.format(old))
    assert rows(app, "192.0.2.7")[0][0] == "CH"
    new = written(folder / "city-new.mmdb", {"192.0.2.0/24": OSLO})
    again = VirtualApp.restore(APP.format(old), app.snapshot())
    assert rows(again, "192.0.2.7")[0][0] == "CH"
    assert rows(VirtualApp(APP.format(new)), "192.0.2.7")[0][0] == "NO"


def test_a_replaced_file_is_refused(folder: Path) -> None:
    """What runs goes on with what it has read. Who starts says which file is missing."""
    old = written(folder / "city.mmdb", {"192.0.2.0/24": BERN})
    app = VirtualApp(APP.format(old))
    new = written(folder / "city.mmdb", {"192.0.2.0/24": OSLO})
    assert rows(app, "192.0.2.7")[0][0] == "CH"
    addresses.forget()
    with pytest.raises(SiddhiQLError, match=f"no file {old} in .*, there is {new}"):
        VirtualApp(APP.format(old))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("city", "names no file of places"),
        ("city@123", "names no file of places"),
        ("../city@0123456789ab", "names no file of places"),
        ("city@0123456789ab", "there is no city"),
    ],
)
def test_refuses_what_names_no_file(folder: Path, name: str, why: str) -> None:
    """Before the app's first event."""
    with pytest.raises(SiddhiQLError, match=why):
        VirtualApp(APP.format(name))


def test_refuses_damaged_files_and_unset_folders(folder: Path) -> None:
    """With what to do about it."""
    (folder / "city.mmdb").write_bytes(b"nonsense")
    name = f"city@{hashlib.sha256(b'nonsense').hexdigest()[:12]}"
    with pytest.raises(SiddhiQLError, match="is no file of MaxMind"):
        VirtualApp(APP.format(name))
    with addresses.in_force(""), pytest.raises(SiddhiQLError, match=r"set places\.folder"):
        VirtualApp(APP.format(name))
