"""The memory adapter. A shelf is what survives: stores on one shelf see the same things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lockstep.rights.accounts import Account
from lockstep.rights.audit import AuditEntry
from lockstep.store.contract import BatchEntry, Deployment, Removed, Revision, Stale, Written
from lockstep.store.memory.figures import FiguresShelf, MemoryFailovers, MemoryFigures
from lockstep.store.naming import is_of_app, is_unit_of
from lockstep.store.pauses import Pause, by_element
from lockstep.store.rules import (
    as_removed,
    chosen,
    has_unseen,
    may_follow,
    newest_first,
    next_version,
    purgeable,
)
from lockstep.store.versions import AppVersion, Deploying


@dataclass
class MemoryShelf:
    """Everything that the stores on it keep."""

    epoch: int = 0
    deployments: dict[str, Deployment] = field(default_factory=dict)
    removed: dict[str, Removed] = field(default_factory=dict)
    versions: dict[str, list[tuple[AppVersion, str]]] = field(default_factory=dict)
    placements: dict[str, tuple[str, ...]] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    levels: dict[str, str] = field(default_factory=dict)
    pauses: dict[str, list[Pause]] = field(default_factory=dict)
    revisions: dict[str, tuple[Revision, bytes]] = field(default_factory=dict)
    cursors: dict[str, int] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    documents: dict[tuple[str, str], str] = field(default_factory=dict)
    accounts: dict[tuple[str, str], Account] = field(default_factory=dict)
    accounts_revision: int = 0
    audit: list[AuditEntry] = field(default_factory=list)
    audited: int = 0
    batch: dict[tuple[str, str, int], BatchEntry] = field(default_factory=dict)
    figures: FiguresShelf = field(default_factory=FiguresShelf)

    def passes(self, epoch: int) -> Stale | None:
        """None and the epoch noted, or why the write is refused."""
        if epoch < self.epoch:
            return Stale(self.epoch)
        self.epoch = epoch
        return None

    def note(self, deployment: Deployment, deploying: Deploying) -> None:
        """Its text is a version."""
        there = self.versions.setdefault(deployment.app, [])
        added = next_version(deployment, deploying, there[-1][0] if there else None)
        if added is not None:
            there.append((added, deployment.text))
            del there[: -deploying.keep]


class MemoryDeployments:
    """See contract.Deployments."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def put(
        self,
        deployment: Deployment,
        *,
        epoch: int,
        deploying: Deploying | None = None,
        revives: bool = True,
        beside: Sequence[Deployment] | None = None,
    ) -> Written | Stale:
        present = self._shelf.deployments.get(deployment.app)
        removed = self._shelf.removed.get(deployment.app)
        if not may_follow(deployment, present, removed, revives=revives):
            return Stale(self._shelf.epoch)
        there = ((one.app, one.version) for one in self._shelf.deployments.values())
        if beside is not None and has_unseen(deployment.app, there, beside):
            return Stale(self._shelf.epoch)
        stale = self._shelf.passes(epoch)
        if stale is not None:
            return stale
        self._shelf.deployments[deployment.app] = deployment
        self._shelf.removed.pop(deployment.app, None)
        if deploying is not None:
            self._shelf.note(deployment, deploying)
        return Written()

    async def get(self, app: str) -> Deployment | None:
        return self._shelf.deployments.get(app)

    async def list(self) -> Sequence[Deployment]:
        return [self._shelf.deployments[app] for app in sorted(self._shelf.deployments)]

    async def remove(self, app: str, *, epoch: int, purge: bool = False) -> Written | Stale:
        stale = self._shelf.passes(epoch)
        if stale is not None:
            return stale
        present, before = self._shelf.deployments.pop(app, None), self._shelf.removed.get(app)
        if present is not None:
            self._shelf.removed[app] = as_removed(present, purged=purge)
        elif before is not None and purge:
            self._shelf.removed[app] = as_removed(before.deployment, purged=True)
        for key in [each for each in self._shelf.placements if is_unit_of(each, app)]:
            del self._shelf.placements[key]
        self._shelf.levels.pop(app, None)
        self._shelf.pauses.pop(app, None)
        if purge:
            self._shelf.versions.pop(app, None)
        return Written()

    async def removed(self) -> Sequence[Removed]:
        return [self._shelf.removed[app] for app in sorted(self._shelf.removed)]

    async def put_placement(self, app: str, nodes: Sequence[str], *, epoch: int) -> Written | Stale:
        stale = self._shelf.passes(epoch)
        if stale is not None:
            return stale
        if nodes:
            self._shelf.placements[app] = tuple(nodes)
        else:
            self._shelf.placements.pop(app, None)
        return Written()

    async def placements(self) -> Mapping[str, Sequence[str]]:
        return dict(self._shelf.placements)

    async def put_drained(self, node: str, *, drained: bool, epoch: int) -> Written | Stale:
        stale = self._shelf.passes(epoch)
        if stale is not None:
            return stale
        (self._shelf.drained.add if drained else self._shelf.drained.discard)(node)
        return Written()

    async def drained(self) -> Sequence[str]:
        return sorted(self._shelf.drained)

    async def put_level(self, app: str, level: str, *, epoch: int) -> Written | Stale:
        stale = self._shelf.passes(epoch)
        if stale is None:
            self._shelf.levels[app] = level
        return stale or Written()

    async def levels(self) -> Mapping[str, str]:
        return dict(self._shelf.levels)

    async def put_pauses(self, app: str, pauses: Sequence[Pause], *, epoch: int) -> Written | Stale:
        stale = self._shelf.passes(epoch)
        if stale is None:
            self._shelf.pauses[app] = list(pauses)
        return stale or Written()

    async def pauses(self) -> Sequence[Pause]:
        return by_element(one for some in self._shelf.pauses.values() for one in some)


class MemoryVersions:
    """See contract.AppVersions."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def list(self, app: str) -> Sequence[AppVersion]:
        return [one for one, _ in reversed(self._shelf.versions.get(app, []))]

    async def text(self, app: str, number: int) -> str | None:
        there = self._shelf.versions.get(app, [])
        return next((text for one, text in there if one.number == number), None)


class MemoryRevisions:
    """See contract.Revisions."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def save(self, revision: Revision, state: bytes) -> Written | Stale:
        there = await self.list(revision.app, revision.group, revision.partition)
        newest = max((r.epoch for r in there), default=0)
        if revision.epoch < newest:
            return Stale(newest)
        self._shelf.revisions[revision.id] = (revision, state)
        return Written()

    async def mark_verified(self, revision_id: str) -> None:
        if revision_id in self._shelf.revisions:
            revision, state = self._shelf.revisions[revision_id]
            self._shelf.revisions[revision_id] = (replace(revision, verified=True), state)

    async def list(self, app: str, group: str, partition: int) -> Sequence[Revision]:
        wanted = (app, group, partition)
        found = [r for r, _ in self._shelf.revisions.values()]
        return newest_first([r for r in found if (r.app, r.group, r.partition) == wanted])

    async def logs(self, app: str | None) -> Sequence[tuple[str, str, int]]:
        there = {(r.app, r.group, r.partition) for r, _ in self._shelf.revisions.values()}
        return sorted(key for key in there if app in (None, key[0]))

    async def load(self, revision_id: str) -> bytes:
        if revision_id not in self._shelf.revisions:
            raise LookupError(f"revision {revision_id} is gone")
        return self._shelf.revisions[revision_id][1]

    async def purge(self, app: str, group: str, partition: int, *, keep: int) -> int:
        going = purgeable(await self.list(app, group, partition), keep)
        for revision in going:
            del self._shelf.revisions[revision.id]
        return len(going)

    async def delete(self, revision_ids: Sequence[str]) -> int:
        return sum(self._shelf.revisions.pop(one, None) is not None for one in revision_ids)


class MemoryCursors:
    """See contract.Cursors."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def get(self, sink: str) -> int:
        return self._shelf.cursors.get(sink, 0)

    async def put(self, sink: str, sequence: int) -> None:
        self._shelf.cursors[sink] = max(sequence, self._shelf.cursors.get(sink, 0))

    async def note(self, name: str) -> str:
        return self._shelf.notes.get(name, "")

    async def put_note(self, name: str, text: str) -> None:
        self._shelf.cursors.setdefault(name, 0)
        self._shelf.notes[name] = text

    async def names(self, app: str | None) -> Sequence[str]:
        return sorted(n for n in self._shelf.cursors if app is None or is_of_app(n, app))

    async def delete(self, names: Sequence[str]) -> int:
        for name in names:
            self._shelf.notes.pop(name, None)
        return sum(self._shelf.cursors.pop(name, None) is not None for name in names)


class MemoryDocuments:
    """See contract.Documents."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._documents = shelf.documents

    async def put(self, kind: str, name: str, text: str) -> None:
        self._documents[kind, name] = text

    async def first(self, kind: str, name: str, text: str) -> str:
        return self._documents.setdefault((kind, name), text)

    async def get(self, kind: str, name: str) -> str | None:
        return self._documents.get((kind, name))

    async def names(self, kind: str) -> Sequence[str]:
        return sorted(name for of, name in self._documents if of == kind)

    async def delete(self, kind: str, name: str) -> bool:
        return self._documents.pop((kind, name), None) is not None


class MemoryAccounts:
    """See contract.Accounts."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def revision(self) -> int:
        return self._shelf.accounts_revision

    async def read(self) -> tuple[int, Sequence[Account]]:
        return self._shelf.accounts_revision, list(self._shelf.accounts.values())

    async def change(
        self, put: Sequence[Account], remove: Sequence[tuple[str, str]], *, expected: int
    ) -> bool:
        if expected != self._shelf.accounts_revision:
            return False
        for key in remove:
            self._shelf.accounts.pop(key, None)
        self._shelf.accounts |= {(one.kind, one.name): one for one in put}
        self._shelf.accounts_revision += 1
        return True


class MemoryAudit:
    """See contract.Audit."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._shelf = shelf

    async def append(self, entries: Sequence[AuditEntry]) -> None:
        for one in entries:
            self._shelf.audited += 1
            self._shelf.audit.append(replace(one, id=self._shelf.audited))

    async def read(
        self, *, before: int | None, limit: int, app: str | None = None, who: str | None = None
    ) -> Sequence[AuditEntry]:
        return chosen(reversed(self._shelf.audit), before=before, limit=limit, app=app, who=who)

    async def trim(self, before_ms: int) -> int:
        there = len(self._shelf.audit)
        self._shelf.audit = [one for one in self._shelf.audit if one.at_ms >= before_ms]
        return there - len(self._shelf.audit)


class MemoryBatch:
    """See contract.BatchEntries."""

    def __init__(self, shelf: MemoryShelf) -> None:
        self._entries = shelf.batch

    async def put(self, entry: BatchEntry) -> bool:
        key = (entry.kind, entry.script, entry.key)
        there = self._entries.get(key)
        if entry.revision != (0 if there is None else there.revision):
            return False
        self._entries[key] = replace(entry, revision=entry.revision + 1)
        return True

    async def get(self, kind: str, script: str, key: int) -> BatchEntry | None:
        return self._entries.get((kind, script, key))

    async def read(
        self, kind: str, script: str | None = None, *, open_only: bool = False, limit: int = 10_000
    ) -> Sequence[BatchEntry]:
        found = [
            one
            for one in self._entries.values()
            if one.kind == kind and script in (None, one.script) and (one.is_open or not open_only)
        ]
        return sorted(found, key=lambda one: (one.script, -one.key))[:limit]

    async def delete(self, kind: str, script: str, keys: Sequence[int] | None = None) -> int:
        going = [
            key
            for key in self._entries
            if key[:2] == (kind, script) and (keys is None or key[2] in keys)
        ]
        for key in going:
            del self._entries[key]
        return len(going)


class MemoryStore:
    """See contract.Store."""

    def __init__(self, shelf: MemoryShelf | None = None) -> None:
        shelf = shelf if shelf is not None else MemoryShelf()
        self.deployments = MemoryDeployments(shelf)
        self.versions = MemoryVersions(shelf)
        self.revisions = MemoryRevisions(shelf)
        self.cursors = MemoryCursors(shelf)
        self.documents = MemoryDocuments(shelf)
        self.accounts = MemoryAccounts(shelf)
        self.audit = MemoryAudit(shelf)
        self.batch = MemoryBatch(shelf)
        self.figures = MemoryFigures(shelf.figures, shelf.passes)
        self.failovers = MemoryFailovers(shelf.figures, shelf.passes)

    async def healthy(self) -> bool:
        return True

    async def close(self) -> None:
        """Nothing to give back."""
