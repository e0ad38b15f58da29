"""Revisions in files: a state beside its description, both named by the revision's id, which begins
with its app's name: so whoever asks about one app opens no file of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from lockstep.clock import Clock
from lockstep.store.contract import Revision, Stale, Written
from lockstep.store.filesystem.files import (
    PART,
    file_name,
    locked,
    read_file,
    read_json,
    write_file,
)
from lockstep.store.filesystem.threads import on_thread
from lockstep.store.rules import newest_first, purgeable

_STATE: Final = ".state"
_ABOUT: Final = ".json"

LEFT_MS: Final = 3_600_000
"""A state or a part of a file that nothing describes is under way no more when it is so old."""


class FileRevisions:
    """See contract.Revisions."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock

    @on_thread
    def save(self, revision: Revision, state: bytes) -> Written | Stale:
        """Stores the state, then its description: a revision without description does not exist."""
        if not revision.id.startswith(_beginning(revision.app)):
            raise ValueError(f"{revision.id} is no id of a revision of {revision.app}")
        with locked(self._folder):
            there = self._list(revision.app, revision.group, revision.partition)
            newest = max((r.epoch for r in there), default=0)
            if revision.epoch < newest:
                return Stale(newest)
            write_file(self._path(revision.id, _STATE), state)
            write_file(self._path(revision.id, _ABOUT), msgspec.json.encode(revision))
            return Written()

    @on_thread
    def mark_verified(self, revision_id: str) -> None:
        with locked(self._folder):
            path = self._path(revision_id, _ABOUT)
            revision = read_json(path, Revision)
            if revision is not None:
                write_file(path, msgspec.json.encode(replace(revision, verified=True)))

    @on_thread
    def list(self, app: str, group: str, partition: int) -> Sequence[Revision]:
        return self._list(app, group, partition)

    def _list(self, app: str, group: str, partition: int) -> Sequence[Revision]:
        wanted = (app, group, partition)
        found = [r for r in self._all(app) if (r.app, r.group, r.partition) == wanted]
        return newest_first(found)

    @on_thread
    def logs(self, app: str | None) -> Sequence[tuple[str, str, int]]:
        there = {(r.app, r.group, r.partition) for r in self._all(app)}
        return sorted(key for key in there if app in (None, key[0]))

    def _all(self, app: str | None) -> Iterator[Revision]:
        """Those of an app, and of apps whose names go on behind its own with a dot."""
        beginning = "" if app is None else file_name(_beginning(app))
        for path in self._folder.glob(f"{beginning}*{_ABOUT}"):
            revision = read_json(path, Revision)
            if revision is not None:
                yield revision

    @on_thread
    def load(self, revision_id: str) -> bytes:
        """The state; LookupError when it is gone, DamagedFileError when it is not whole."""
        state = read_file(self._path(revision_id, _STATE))
        if state is None:
            raise LookupError(f"revision {revision_id} is gone")
        return state

    @on_thread
    def purge(self, app: str, group: str, partition: int, *, keep: int) -> int:
        with locked(self._folder):
            self._tidy()
            going = purgeable(self._list(app, group, partition), keep)
            return self._delete([revision.id for revision in going])

    @on_thread
    def delete(self, revision_ids: Sequence[str]) -> int:
        with locked(self._folder):
            return self._delete(revision_ids)

    def _delete(self, going: Sequence[str]) -> int:
        """How many were there."""
        gone = 0
        for revision_id in frozenset(going):
            about = self._path(revision_id, _ABOUT)
            if about.exists():
                about.unlink()
                self._path(revision_id, _STATE).unlink(missing_ok=True)
                gone += 1
        return gone

    def _tidy(self) -> None:
        """Removes what a crash has left, of whatever app: states that were not described any more,
        and files that were not written to their end."""
        names = {path.name for path in self._folder.iterdir()}
        before_ms = self._clock.now_ms() - LEFT_MS
        for name in names:
            described = name.removesuffix(_STATE) + _ABOUT
            if name.endswith(PART) or (name.endswith(_STATE) and described not in names):
                path = self._folder / name
                if path.stat().st_mtime_ns // 1_000_000 < before_ms:
                    path.unlink(missing_ok=True)

    def _path(self, revision_id: str, ending: str) -> Path:
        return self._folder / (file_name(revision_id) + ending)


def _beginning(app: str) -> str:
    """Of the ids of its revisions (naming.revision_id)."""
    return f"{app}."
