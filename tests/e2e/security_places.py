"""Places by IP address for the security samples: a file of MaxMind's format, and the samples' text
with the queries that stand in its comments."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from mmdb_writer import MMDBWriter
from netaddr import IPSet

NAMED: Final = "city@0123456789ab"
"""What the samples' texts have for the user's file."""


def city(name: str, country: str, latitude: float, longitude: float) -> dict[str, Any]:
    """A place as such files have it."""
    return {
        "city": {"names": {"en": name}},
        "country": {"iso_code": country},
        "location": {"latitude": latitude, "longitude": longitude},
    }


def written(folder: Path, places: Mapping[str, dict[str, Any]]) -> str:
    """A file of these networks or addresses; its name and digest, as an app writes them."""
    writer = MMDBWriter(ip_version=6, ipv4_compatible=True, database_type="Test", float_type="f64")
    for network, place in places.items():
        writer.insert_network(IPSet([network]), place)
    file = folder / "city.mmdb"
    writer.to_db_file(str(file))
    return f"city@{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"


def found_by_address(text: str, name: str) -> str:
    """The sample with the queries that find places, in that file."""
    commented = re.search(r"^-- define stream \w+From .*?^$", text, re.MULTILINE | re.DOTALL)
    assert commented is not None
    queries = re.sub(r"^-- ?", "", commented[0], flags=re.MULTILINE)
    assert NAMED in queries
    return text.replace(commented[0], queries.replace(NAMED, name))
