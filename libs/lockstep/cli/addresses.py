"""Where a running suite is: options, then environment, then the file that `lockstep run` leaves.

A suite behind one proxy has one URL. A service's own address wins over it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lockstep.events import UnavailableError
from lockstep.tls import TlsFiles

ADDRESSES_FILE = "addresses.json"
SESSION_FILE = "session.json"
"""Who has logged in with `lockstep login`, at which suite."""
DEFAULT_DIRECTORY = Path(".lockstep")
DOORS = ("receiver", "presenter", "coordinator")
NO_TLS = TlsFiles()


@dataclass(frozen=True, slots=True)
class Addresses:
    """Base URLs of the services people talk to, the bearer token if the suite wants one, and the
    certificates of those who speak over TLS."""

    receiver: str
    presenter: str
    coordinator: str
    token: str | None = None
    tls: TlsFiles = NO_TLS

    def write(self, directory: Path) -> None:
        """Leaves the addresses for later commands, with the process that runs the suite; readable
        by the owner only."""
        content = {
            "receiver": self.receiver,
            "presenter": self.presenter,
            "coordinator": self.coordinator,
            "token": self.token,
            "tls": {name: _absolute(name, value) for name, value in asdict(self.tls).items()},
            "pid": os.getpid(),
        }
        _write_private(directory / ADDRESSES_FILE, json.dumps(content, indent=2) + "\n")


def find_addresses(
    directory: Path,
    *,
    url: str | None = None,
    tls: TlsFiles = NO_TLS,
    **given: str | None,
) -> Addresses:
    """The addresses, those given first; UnavailableError when nothing says where the suite is.

    `url` stands for all three, and then nothing is read from the directory: a token that is kept
    there is that of another suite. It is also left there when any other address is given.
    """
    path = directory / ADDRESSES_FILE
    known: dict[str, Any] = dict.fromkeys(DOORS, url.rstrip("/")) if url else {}
    if not url and path.exists():
        known = json.loads(path.read_text())
        own = {str(known.get(door)).rstrip("/") for door in DOORS}
        if any(value.rstrip("/") not in own for door in DOORS if (value := given.get(door))):
            known = {door: known.get(door) for door in DOORS}
    known |= {name: value for name, value in given.items() if value}
    missing = [name for name in DOORS if not known.get(name)]
    if missing:
        raise UnavailableError(
            f"no address for {', '.join(missing)}: no suite is running in {directory}",
            hint="start one with `lockstep run`, name its folder with --directory, or its address "
            "with --url or LOCKSTEP_CLIENT__URL (…__RECEIVER_URL, …__PRESENTER_URL and "
            "…__COORDINATOR_URL, where each has one of its own)",
        )
    coordinator = str(known["coordinator"])
    token = known.get("token") if given.get("token") else _session(directory, coordinator)
    return Addresses(
        receiver=str(known["receiver"]),
        presenter=str(known["presenter"]),
        coordinator=coordinator,
        token=token or known.get("token"),
        tls=tls or TlsFiles(**known.get("tls", {})),
    )


def keep_session(directory: Path, coordinator: str, session: Mapping[str, Any]) -> None:
    """For later commands, at once or not at all; readable by the owner only. `session` has the
    `token`, and what its kind needs beside it."""
    said = json.dumps({**session, "coordinator": coordinator})
    _write_private(directory / SESSION_FILE, said + "\n")


def suite_process(directory: Path) -> int | None:
    """The process that has left the addresses there; None without any."""
    try:
        kept: dict[str, Any] = json.loads((directory / ADDRESSES_FILE).read_text())
    except FileNotFoundError:
        return None
    return kept.get("pid")


def forget_session(directory: Path) -> None:
    """Of whoever logged in."""
    (directory / SESSION_FILE).unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> None:
    """The whole text at once, for its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    part.replace(path)


def _absolute(name: str, value: str) -> str:
    """Later commands may run in another folder."""
    is_path = bool(value) and name in ("authority", "certificate", "key")
    return str(Path(value).absolute()) if is_path else value


def kept_session(directory: Path, coordinator: str) -> dict[str, Any] | None:
    """Of the suite at that address; another one never sees it."""
    try:
        kept: dict[str, Any] = json.loads((directory / SESSION_FILE).read_text())
    except FileNotFoundError:
        return None
    return kept if kept["coordinator"] == coordinator else None


def _session(directory: Path, coordinator: str) -> str | None:
    kept = kept_session(directory, coordinator)
    return None if kept is None else str(kept["token"])
