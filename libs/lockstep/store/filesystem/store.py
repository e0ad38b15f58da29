"""The file-system adapter: one small file per thing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import msgspec

from lockstep.clock import Clock, SystemClock
from lockstep.rights.accounts import Account
from lockstep.rights.audit import AuditEntry
from lockstep.store.contract import BatchEntry, Deployment, Removed, Stale, Written
from lockstep.store.filesystem import audit, batch, epochs, versions
from lockstep.store.filesystem.figures import FileFailovers, FileFigures
from lockstep.store.filesystem.files import (
    file_name,
    folder_name,
    locked,
    read_file,
    read_json,
    write_file,
)
from lockstep.store.filesystem.revisions import FileRevisions
from lockstep.store.filesystem.threads import on_thread
from lockstep.store.naming import is_of_app, is_unit_of
from lockstep.store.pauses import Pause, by_element
from lockstep.store.rules import (
    as_removed,
    chosen,
    has_unseen,
    may_follow,
)
from lockstep.store.stored import StoredDeployment, StoredRemoved
from lockstep.store.versions import Deploying

_ABOUT = ".json"
_NOTE = ".note"


def _deployment(path: Path) -> Deployment | None:
    stored = read_json(path, StoredDeployment)
    return None if stored is None else stored.deployment


def _removed(path: Path) -> Removed | None:
    stored = read_json(path, StoredRemoved)
    return None if stored is None else stored.removed


class FileDeployments:
    """See contract.Deployments."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apps = folder / "apps"
        self._removals = folder / "removed"
        self._placements = folder / "placements"
        self._drained = folder / "drained"
        self._levels = folder / "levels"
        self._pauses = folder / "pauses"
        self._versions = folder / "versions"

    @on_thread
    def put(
        self,
        deployment: Deployment,
        *,
        epoch: int,
        deploying: Deploying | None = None,
        revives: bool = True,
        beside: Sequence[Deployment] | None = None,
    ) -> Written | Stale:
        with locked(self._folder):
            path = self._apps / (file_name(deployment.app) + _ABOUT)
            removal = self._removals / path.name
            present, removed = _deployment(path), _removed(removal)
            if not may_follow(deployment, present, removed, revives=revives):
                return Stale(epochs.present(self._folder))
            if beside is not None and has_unseen(
                deployment.app, ((one.app, one.version) for one in self._all()), beside
            ):
                return Stale(epochs.present(self._folder))
            stale = self._passes(epoch)
            if stale is not None:
                return stale
            if deploying is not None:
                before = present or (None if removed is None else removed.kept)
                versions.note(self._versions, deployment, deploying, before)
            write_file(path, msgspec.json.encode(StoredDeployment.of(deployment)))
            removal.unlink(missing_ok=True)
            return Written()

    @on_thread
    def get(self, app: str) -> Deployment | None:
        return _deployment(self._apps / (file_name(app) + _ABOUT))

    @on_thread
    def list(self) -> Sequence[Deployment]:
        return self._all()

    def _all(self) -> Sequence[Deployment]:
        found = [_deployment(path) for path in self._apps.glob("*" + _ABOUT)]
        return sorted((d for d in found if d is not None), key=lambda d: d.app)

    @on_thread
    def remove(self, app: str, *, epoch: int, purge: bool = False) -> Written | Stale:
        with locked(self._folder):
            stale = self._passes(epoch)
            if stale is not None:
                return stale
            if purge:
                versions.purge(self._versions, app)
            path = self._apps / (file_name(app) + _ABOUT)
            removal = self._removals / path.name
            present, before = _deployment(path), _removed(removal)
            last = present or (before.deployment if before is not None and purge else None)
            if last is not None:
                stored = StoredRemoved.of(as_removed(last, purged=purge))
                write_file(removal, msgspec.json.encode(stored))
            path.unlink(missing_ok=True)
            for placement in list(self._placements.glob("*" + _ABOUT)):
                if is_unit_of(unquote(placement.name.removesuffix(_ABOUT)), app):
                    placement.unlink(missing_ok=True)
            levels = read_json(self._levels, dict[str, str]) or {}
            if levels.pop(app, None) is not None:
                write_file(self._levels, msgspec.json.encode(levels))
            pauses = read_json(self._pauses, list[Pause]) or []
            left = [one for one in pauses if one.app != app]
            if left != pauses:
                write_file(self._pauses, msgspec.json.encode(left))
            return Written()

    @on_thread
    def removed(self) -> Sequence[Removed]:
        # A put that was cut short may have left the file of what it followed.
        names = {path.name for path in self._apps.glob("*" + _ABOUT)}
        paths = [path for path in self._removals.glob("*" + _ABOUT) if path.name not in names]
        found = [_removed(path) for path in paths]
        return sorted((r for r in found if r is not None), key=lambda r: r.deployment.app)

    @on_thread
    def put_placement(self, app: str, nodes: Sequence[str], *, epoch: int) -> Written | Stale:
        with locked(self._folder):
            stale = self._passes(epoch)
            if stale is not None:
                return stale
            path = self._placements / (file_name(app) + _ABOUT)
            if nodes:
                write_file(path, msgspec.json.encode((app, list(nodes))))
            else:
                path.unlink(missing_ok=True)
            return Written()

    @on_thread
    def placements(self) -> Mapping[str, Sequence[str]]:
        paths = sorted(self._placements.glob("*" + _ABOUT))
        found = (read_json(path, tuple[str, tuple[str, ...]]) for path in paths)
        return {app: tuple(nodes) for app, nodes in filter(None, found)}

    @on_thread
    def put_drained(self, node: str, *, drained: bool, epoch: int) -> Written | Stale:
        with locked(self._folder):
            stale = self._passes(epoch)
            if stale is not None:
                return stale
            there = set(read_json(self._drained, list[str]) or ())
            there = there | {node} if drained else there - {node}
            write_file(self._drained, msgspec.json.encode(sorted(there)))
            return Written()

    @on_thread
    def drained(self) -> Sequence[str]:
        return read_json(self._drained, list[str]) or []

    @on_thread
    def put_level(self, app: str, level: str, *, epoch: int) -> Written | Stale:
        with locked(self._folder):
            stale = self._passes(epoch)
            if stale is not None:
                return stale
            levels = read_json(self._levels, dict[str, str]) or {}
            write_file(self._levels, msgspec.json.encode({**levels, app: level}))
            return Written()

    @on_thread
    def levels(self) -> Mapping[str, str]:
        return read_json(self._levels, dict[str, str]) or {}

    @on_thread
    def put_pauses(self, app: str, pauses: Sequence[Pause], *, epoch: int) -> Written | Stale:
        with locked(self._folder):
            stale = self._passes(epoch)
            if stale is not None:
                return stale
            others = [one for one in read_json(self._pauses, list[Pause]) or () if one.app != app]
            write_file(self._pauses, msgspec.json.encode([*others, *pauses]))
            return Written()

    @on_thread
    def pauses(self) -> Sequence[Pause]:
        return by_element(read_json(self._pauses, list[Pause]) or ())

    def _passes(self, epoch: int) -> Stale | None:
        return epochs.passes(self._folder, epoch)


class FileCursors:
    """See contract.Cursors."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @on_thread
    def get(self, sink: str) -> int:
        return self._get(sink)

    def _get(self, sink: str) -> int:
        return read_json(self._folder / (file_name(sink) + _ABOUT), int) or 0

    @on_thread
    def put(self, sink: str, sequence: int) -> None:
        with locked(self._folder):
            if sequence > self._get(sink):
                path = self._folder / (file_name(sink) + _ABOUT)
                write_file(path, msgspec.json.encode(sequence))

    @on_thread
    def note(self, name: str) -> str:
        return (read_file(self._note(name)) or b"").decode()

    @on_thread
    def put_note(self, name: str, text: str) -> None:
        with locked(self._folder):
            write_file(self._note(name), text.encode())
            about = self._folder / (file_name(name) + _ABOUT)
            if not about.exists():
                write_file(about, msgspec.json.encode(0))

    def _note(self, name: str) -> Path:
        return self._folder / (file_name(name) + _NOTE)

    @on_thread
    def names(self, app: str | None) -> Sequence[str]:
        files = (path.name.removesuffix(_ABOUT) for path in self._folder.glob("*" + _ABOUT))
        return sorted(n for n in map(unquote, files) if app is None or is_of_app(n, app))

    @on_thread
    def delete(self, names: Sequence[str]) -> int:
        with locked(self._folder):
            paths = [self._folder / (file_name(name) + _ABOUT) for name in names]
            there = [path for path in paths if path.exists()]
            for path in there:
                path.unlink()
            for name in names:
                self._note(name).unlink(missing_ok=True)
            return len(there)


class FileDocuments:
    """See contract.Documents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, kind: str, name: str) -> Path:
        return self._folder / folder_name(kind) / (file_name(name) + _ABOUT)

    @on_thread
    def put(self, kind: str, name: str, text: str) -> None:
        write_file(self._path(kind, name), text.encode())

    @on_thread
    def first(self, kind: str, name: str, text: str) -> str:
        path = self._path(kind, name)
        with locked(path.parent):
            found = read_file(path)
            if found is None:
                write_file(path, text.encode())
        return text if found is None else found.decode()

    @on_thread
    def get(self, kind: str, name: str) -> str | None:
        content = read_file(self._path(kind, name))
        return None if content is None else content.decode()

    @on_thread
    def names(self, kind: str) -> Sequence[str]:
        found = (self._folder / folder_name(kind)).glob("*" + _ABOUT)
        return sorted(unquote(path.name.removesuffix(_ABOUT)) for path in found)

    @on_thread
    def delete(self, kind: str, name: str) -> bool:
        path = self._path(kind, name)
        there = path.exists()
        path.unlink(missing_ok=True)
        return there


@dataclass(frozen=True, slots=True)
class _Accounts:
    """All in one file: they are few, and a change of several is one."""

    revision: int = 0
    accounts: Sequence[Account] = ()


class FileAccounts:
    """See contract.Accounts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "all.json"

    def _all(self) -> _Accounts:
        return read_json(self._path, _Accounts) or _Accounts()

    @on_thread
    def revision(self) -> int:
        return self._all().revision

    @on_thread
    def read(self) -> tuple[int, Sequence[Account]]:
        found = self._all()
        return found.revision, found.accounts

    @on_thread
    def change(
        self, put: Sequence[Account], remove: Sequence[tuple[str, str]], *, expected: int
    ) -> bool:
        with locked(self._folder):
            found = self._all()
            if found.revision != expected:
                return False
            there = {(one.kind, one.name): one for one in found.accounts}
            for key in remove:
                there.pop(key, None)
            there |= {(one.kind, one.name): one for one in put}
            after = _Accounts(expected + 1, list(there.values()))
            write_file(self._path, msgspec.json.encode(after))
            return True


class FileAudit:
    """See contract.Audit."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @on_thread
    def append(self, entries: Sequence[AuditEntry]) -> None:
        audit.append(self._folder, entries)

    @on_thread
    def read(
        self, *, before: int | None, limit: int, app: str | None = None, who: str | None = None
    ) -> Sequence[AuditEntry]:
        found = audit.newest_first(self._folder)
        return chosen(found, before=before, limit=limit, app=app, who=who)

    @on_thread
    def trim(self, before_ms: int) -> int:
        return audit.trim(self._folder, before_ms)


class FileBatch:
    """See contract.BatchEntries."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @on_thread
    def put(self, entry: BatchEntry) -> bool:
        return batch.put(self._folder, entry)

    @on_thread
    def get(self, kind: str, script: str, key: int) -> BatchEntry | None:
        return batch.get(self._folder, kind, script, key)

    @on_thread
    def read(
        self, kind: str, script: str | None = None, *, open_only: bool = False, limit: int = 10_000
    ) -> Sequence[BatchEntry]:
        return batch.read(self._folder, kind, script, open_only=open_only, limit=limit)

    @on_thread
    def delete(self, kind: str, script: str, keys: Sequence[int] | None = None) -> int:
        return batch.delete(self._folder, kind, script, keys)


class FileStore:
    """See contract.Store. Several processes of one machine may open the same folder."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        self._directory = directory
        self.deployments = FileDeployments(directory / "deployments")
        self.versions = versions.FileVersions(directory / "deployments" / "versions")
        self.revisions = FileRevisions(directory / "revisions", clock or SystemClock())
        self.cursors = FileCursors(directory / "cursors")
        self.documents = FileDocuments(directory / "documents")
        self.accounts = FileAccounts(directory / "accounts")
        self.audit = FileAudit(directory / "audit")
        self.batch = FileBatch(directory / "batch")
        figures, deployments = directory / "figures", directory / "deployments"
        self.figures = FileFigures(figures, deployments)
        self.failovers = FileFailovers(figures, deployments)

    async def healthy(self) -> bool:
        """True when the folder can be written to."""
        try:
            await asyncio.to_thread(self._directory.mkdir, parents=True, exist_ok=True)
        except OSError:
            return False
        return True

    async def close(self) -> None:
        """Nothing to give back."""
