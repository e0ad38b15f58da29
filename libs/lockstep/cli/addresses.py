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

from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.tls import TlsFiles

ADDRESSES_FILE = "addresses.json"
SESSION_FILE = "session.json"
"""Who has logged in with `lockstep login`, at which suite."""
DEFAULT_DIRECTORY = Path(".lockstep")
DOORS = ("receiver", "presenter", "coordinator")
NO_TLS = TlsFiles()
ADDRESSES_HINT = "remove it, or start the suite again"
SESSION_HINT = "remove it, and log in again"


class BrokenFileError(LockstepError):
    """A file that earlier commands left does not hold what they wrote."""

    fault = Fault.USER


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
    """The addresses, those given first; UnavailableError when nothing says where the suite is,
    BrokenFileError.

    `url` stands for all three, and then nothing is read from the directory: a token that is kept
    there is that of another suite. It is also left there when any other address is given.
    """
    path = directory / ADDRESSES_FILE
    known: dict[str, Any] = dict.fromkeys(DOORS, url.rstrip("/")) if url else {}
    if not url and (kept := _read(path, ADDRESSES_HINT)):
        known = kept
        own = {str(known.get(door)).rstrip("/") for door in DOORS}
        if any(value.rstrip("/") not in own for door in DOORS if (value := given.get(door))):
            known = {door: known.get(door) for door in DOORS}
    known |= {name: value for name, value in given.items() if value}
    missing = [name for name in DOORS if not known.get(name)]
    if missing:
        raise UnavailableError(
            f"no address for {', '.join(missing)}: no suite is running in {directory}",
            hint="start one with `lockstep run`, and wait for `Lockstep is up`; or name its "
            "folder with --directory, or its address with --url or LOCKSTEP_CLIENT__URL "
            "(…__RECEIVER_URL, …__PRESENTER_URL and …__COORDINATOR_URL, where each has one of its "
            "own)",
        )
    coordinator = str(known["coordinator"])
    token = known.get("token") if given.get("token") else _session(directory, coordinator)
    return Addresses(
        receiver=str(known["receiver"]),
        presenter=str(known["presenter"]),
        coordinator=coordinator,
        token=token or known.get("token"),
        tls=tls or _tls(path, known.get("tls", {})),
    )


def keep_session(directory: Path, coordinator: str, session: Mapping[str, Any]) -> None:
    """For later commands, at once or not at all; readable by the owner only. `session` has the
    `token`, and what its kind needs beside it."""
    said = json.dumps({**session, "coordinator": coordinator})
    _write_private(directory / SESSION_FILE, said + "\n")


def suite_process(directory: Path) -> int | None:
    """The process that has left the addresses there; None without any."""
    try:
        kept = _read(directory / ADDRESSES_FILE, ADDRESSES_HINT)
    except BrokenFileError:  # a suite that starts writes it anew
        return None
    return None if kept is None else kept.get("pid")


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
    """Of the suite at that address; another one never sees it. BrokenFileError."""
    kept = _read(directory / SESSION_FILE, SESSION_HINT, "coordinator", "token")
    return kept if kept is not None and kept["coordinator"] == coordinator else None


def _session(directory: Path, coordinator: str) -> str | None:
    kept = kept_session(directory, coordinator)
    return None if kept is None else str(kept["token"])


def _read(path: Path, hint: str, *wanted: str) -> dict[str, Any] | None:
    """The object in a file, with the members that are wanted; None without the file."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        found = None
    if not isinstance(found, dict) or any(name not in found for name in wanted):
        raise BrokenFileError(f"{path} cannot be read", hint=hint)
    return found


def _tls(path: Path, kept: Any) -> TlsFiles:
    try:
        return TlsFiles(**kept)
    except TypeError:
        raise BrokenFileError(f"{path} cannot be read", hint=ADDRESSES_HINT) from None
