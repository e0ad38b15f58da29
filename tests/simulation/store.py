"""The store server: the memory adapter, whose disk may be full or tear what is written to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lockstep.events import Life, UnavailableError
from lockstep.store import Deploying, Deployment, Revision, Stale
from lockstep.store.contract import Written
from lockstep.store.memory.store import (
    MemoryDeployments,
    MemoryRevisions,
    MemoryShelf,
    MemoryStore,
)
from tests.simulation.loop import Host, VirtualLoop
from tests.simulation.network import Network, Remote

STORE: Final = "store"
TIMEOUT_MS: Final = 1_000


@dataclass
class Disk:
    """What is wrong with it: `full` counts faults under way, `torn_writes` the writes to come."""

    full: int = 0
    torn_writes: int = 0


@dataclass
class Taken:
    """A revision that was saved once, what it held, and whether it ever counted."""

    revision: Revision
    state: bytes
    saved_ms: int
    counts_since_ms: int | None = None
    unusable_ms: int | None = None


@dataclass
class Archive:
    """Every revision there ever was, and every deployment by its stamp."""

    loop: VirtualLoop
    taken: dict[str, Taken] = field(default_factory=dict)
    deployments: dict[Life, Deployment] = field(default_factory=dict)


class SimDeployments(MemoryDeployments):
    """With everything on record."""

    def __init__(self, shelf: MemoryShelf, archive: Archive) -> None:
        super().__init__(shelf)
        self._archive = archive

    async def put(
        self,
        deployment: Deployment,
        *,
        epoch: int,
        deploying: Deploying | None = None,
        revives: bool = True,
        beside: Sequence[Deployment] | None = None,
    ) -> Written | Stale:
        """Stores it, or refuses."""
        outcome = await super().put(
            deployment, epoch=epoch, deploying=deploying, revives=revives, beside=beside
        )
        if isinstance(outcome, Written):
            self._archive.deployments[deployment.life] = deployment
        return outcome


class SimRevisions(MemoryRevisions):
    """With a disk of its own, and everything on record."""

    def __init__(self, shelf: MemoryShelf, disk: Disk, archive: Archive) -> None:
        super().__init__(shelf)
        self._disk = disk
        self._archive = archive

    async def save(self, revision: Revision, state: bytes) -> Written | Stale:
        """Stores it, or half of it, or nothing."""
        if self._disk.full:
            raise UnavailableError("no space left on the device", where="store")
        if self._disk.torn_writes:
            self._disk.torn_writes -= 1
            state = state[: len(state) // 2]
        outcome = await super().save(revision, state)
        if isinstance(outcome, Written):
            self._archive.taken[revision.id] = Taken(revision, state, self._archive.loop.now_ms)
        return outcome

    async def purge(self, app: str, group: str, partition: int, *, keep: int) -> int:
        """Old ones go."""
        count = await super().purge(app, group, partition, keep=keep)
        for key, taken in self._archive.taken.items():
            if key not in self._shelf.revisions and taken.unusable_ms is None:
                taken.unusable_ms = self._archive.loop.now_ms
        return count

    async def mark_verified(self, revision_id: str) -> None:
        """The revision counts from now on."""
        await super().mark_verified(revision_id)
        taken = self._archive.taken.get(revision_id)
        if taken is not None and taken.counts_since_ms is None:
            taken.counts_since_ms = self._archive.loop.now_ms


class StoreServer:
    """What survives: the shelf."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.shelf = MemoryShelf()
        self.disk = Disk()
        self.archive = Archive(loop)
        self.there = MemoryStore(self.shelf)
        self.revisions = SimRevisions(self.shelf, self.disk, self.archive)
        self.deployments = SimDeployments(self.shelf, self.archive)


class SimStore:
    """A host's connection to it."""

    def __init__(self, network: Network, host: Host, server: StoreServer) -> None:
        def remote(there: Any) -> Any:
            return Remote(network, host, STORE, there, TIMEOUT_MS)

        self.deployments = remote(server.deployments)
        self.versions = remote(server.there.versions)
        self.figures = remote(server.there.figures)
        self.failovers = remote(server.there.failovers)
        self.revisions = remote(server.revisions)
        self.cursors = remote(server.there.cursors)
        self.documents = remote(server.there.documents)
        self.accounts = remote(server.there.accounts)
        self.audit = remote(server.there.audit)
        self.batch = remote(server.there.batch)

    async def healthy(self) -> bool:
        """See the contract."""
        return True

    async def close(self) -> None:
        """See the contract."""
