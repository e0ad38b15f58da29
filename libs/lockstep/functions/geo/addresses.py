"""Places by IP address, from files in MaxMind's format. The only door to maxminddb.

Every replica has to give the same answer, also when it replays. So an app names a file by what is
in it: `city@3f2a91c0d4e5` is a file `city*.mmdb` of the folder `places.folder` whose SHA-256 begins
with these digits. It is read whole before its digest is taken, so nobody changes it afterwards.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import maxminddb

from lockstep.operators.errors import EventError

NAME: Final = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)@(?P<digest>[0-9a-f]{12,64})")
OPEN_FILES_MAX: Final = 4
"""Files that a process keeps in memory for the next app that names them."""


class _Process:
    """What holds in this process."""

    folder = ""


def folder() -> str:
    """Where the files are; empty where there are none."""
    return _Process.folder


def put_in_force(found: str) -> None:
    """From now on the files are there."""
    _Process.folder = found


@contextmanager
def in_force(found: str) -> Iterator[None]:
    """There for a while, in a test."""
    before = _Process.folder
    _Process.folder = found
    try:
        yield
    finally:
        _Process.folder = before


class Addresses:
    """A file, in memory."""

    def __init__(self, content: bytes) -> None:
        self._reader = maxminddb.open_database(BytesIO(content), maxminddb.MODE_FD)

    def find(self, address: str | None, path: tuple[str, ...]) -> Any:
        """What stands there for the address; None where nothing does, and for a null.

        EventError for a text that is no IP address.
        """
        if address is None:
            return None
        try:
            asked = ipaddress.ip_address(address.strip())
        except ValueError as error:
            raise EventError(f"{address!r} is no IP address") from error
        try:
            found: Any = self._reader.get(asked)
        except ValueError:  # IPv6 in a file of IPv4 addresses
            return None
        except maxminddb.InvalidDatabaseError as error:
            raise EventError(f"the file of places is damaged: {error}") from error
        for step in path:
            found = _below(found, step)
        return found


def _below(found: Any, step: str) -> Any:
    if isinstance(found, dict):
        return found.get(step)
    if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
        return found[int(step)]
    return None


def opened(name: str) -> Addresses:
    """The file of that name and digest. EventError, with a hint, where it is not there: then the
    app is not deployed, or a replica that lacks the file does not start."""
    fits = NAME.fullmatch(name)
    if fits is None:
        raise EventError(
            f"{name!r} names no file of places: write its name and its SHA-256's first 12 or more "
            "digits, as in 'city@3f2a91c0d4e5'"
        )
    if not _Process.folder:
        raise EventError(f"there are no files of places here: set places.folder, for {name!r}")
    return _opened(_Process.folder, fits["name"], fits["digest"])


@lru_cache(maxsize=OPEN_FILES_MAX)
def _opened(where: str, name: str, digest: str) -> Addresses:
    seen = []
    for file in sorted(Path(where).glob(f"{name}*.mmdb")):
        try:
            content = file.read_bytes()
        except OSError as error:
            raise EventError(f"{file} cannot be read: {error}") from error
        found = hashlib.sha256(content).hexdigest()
        if found.startswith(digest):
            try:
                return Addresses(content)
            except maxminddb.InvalidDatabaseError as error:
                raise EventError(f"{file} is no file of MaxMind's format") from error
        seen.append(f"{name}@{found[: len(digest)]}")
    there = f"there is {', '.join(seen)}" if seen else f"there is no {name}*.mmdb"
    raise EventError(
        f"no file {name}@{digest} in places.folder, {there}; keep the old file beside a new "
        "one until no app names it"
    )


def forget() -> None:
    """The next app reads its files anew."""
    _opened.cache_clear()
