"""The audit log in files: a line per entry, a file per day."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from lockstep.events import UnavailableError
from lockstep.events.typed import from_json
from lockstep.rights.audit import AuditEntry
from lockstep.store.filesystem.files import ends_whole, locked

DAY_MS: Final = 86_400_000
PER_DAY: Final = 1_000_000_000
"""An entry's number is that of its day, and its place in it."""


def append(folder: Path, entries: Sequence[AuditEntry]) -> None:
    """Durable when it returns; UnavailableError."""
    with locked(folder):
        for one in entries:
            path = folder / f"{one.at_ms // DAY_MS:09d}.jsonl"
            try:
                with path.open("ab") as file:
                    if file.tell() and not ends_whole(path):
                        file.write(b"\n")  # behind what a crash cut short
                    file.write(msgspec.json.encode(one) + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise UnavailableError(f"cannot write {path}: {error.strerror}") from error


def newest_first(folder: Path) -> Iterator[AuditEntry]:
    """With their numbers; lines that a crash cut short are left out."""
    for path in sorted(folder.glob("*.jsonl"), reverse=True):
        lines = path.read_bytes().splitlines()
        for place in range(len(lines) - 1, -1, -1):
            try:
                one = from_json(lines[place], AuditEntry)
            except msgspec.DecodeError:
                continue
            yield replace(one, id=int(path.stem) * PER_DAY + place + 1)


def trim(folder: Path, before_ms: int) -> int:
    """Whole days go; the day in which the limit lies stays."""
    gone = 0
    with locked(folder):
        for path in folder.glob("*.jsonl"):
            if (int(path.stem) + 1) * DAY_MS <= before_ms:
                gone += len(path.read_bytes().splitlines())
                path.unlink()
    return gone
