"""Scheduled scripts in files: one per entry, whose name says whether something is left to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from lockstep.events.typed import from_json
from lockstep.store.contract import BatchEntry
from lockstep.store.filesystem.files import folder_name, locked, read_file, write_file

_OPEN: Final = ".open"
_CLOSED: Final = ".closed"


def put(folder: Path, entry: BatchEntry) -> bool:
    """See contract.BatchEntries. The other name of the entry goes when this one is durable; a crash
    in between leaves both, of which the later revision counts."""
    with locked(folder):
        there = get(folder, entry.kind, entry.script, entry.key)
        if entry.revision != (0 if there is None else there.revision):
            return False
        opened, closed = _paths(folder, entry.kind, entry.script, entry.key)
        path, other = (opened, closed) if entry.is_open else (closed, opened)
        write_file(path, msgspec.json.encode(replace(entry, revision=entry.revision + 1)))
        other.unlink(missing_ok=True)
        return True


def get(folder: Path, kind: str, script: str, key: int) -> BatchEntry | None:
    """The entry or None."""
    found = [one for path in _paths(folder, kind, script, key) if (one := _read(path)) is not None]
    return max(found, key=lambda one: one.revision, default=None)


def read(
    folder: Path, kind: str, script: str | None, *, open_only: bool, limit: int
) -> Sequence[BatchEntry]:
    """By script, of each the greatest numbers first."""
    named = {
        (unquote(path.parent.name), int(path.name.partition(".")[0]))
        for path in _all(folder, kind, script, _OPEN if open_only else "")
    }
    found = [one for name, key in named if (one := get(folder, kind, name, key)) is not None]
    wanted = [one for one in found if one.is_open or not open_only]
    return sorted(wanted, key=lambda one: (one.script, -one.key))[:limit]


def delete(folder: Path, kind: str, script: str, keys: Sequence[int] | None) -> int:
    """Forgets those that are there; gives how many."""
    with locked(folder):
        gone = set()
        for path in list(_all(folder, kind, script, "")):
            key = int(path.name.partition(".")[0])
            if keys is None or key in keys:
                path.unlink(missing_ok=True)
                gone.add(key)
        return len(gone)


def _paths(folder: Path, kind: str, script: str, key: int) -> tuple[Path, Path]:
    place = folder / kind / folder_name(script)
    return place / f"{key}{_OPEN}", place / f"{key}{_CLOSED}"


def _all(folder: Path, kind: str, script: str | None, ending: str) -> Iterator[Path]:
    places = "*" if script is None else folder_name(script)
    for end in [ending] if ending else [_OPEN, _CLOSED]:
        yield from (folder / kind).glob(f"{places}/*{end}")


def _read(path: Path) -> BatchEntry | None:
    content = read_file(path)
    return None if content is None else from_json(content, BatchEntry)
