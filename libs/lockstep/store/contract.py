"""What outlives processes: desired state, state revisions, sink cursors. One contract; memory, file
system and Postgres adapters. Writes that carry an epoch are refused when a newer epoch has written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lockstep.events import Position


@dataclass(frozen=True, slots=True)
class Deployment:
    """The desired state of one app. `version` is the SHA-256 of the text; `generation` counts."""

    app: str
    text: str
    version: str
    generation: int
    replicas: int
    created_ms: int
    updated_ms: int
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """The write stands."""


@dataclass(frozen=True, slots=True)
class Stale:
    """Refused: a newer epoch (or generation) has written; `current` is it."""

    current: int


class Deployments(Protocol):
    """Desired state: which apps at which version, and where their replicas are placed."""

    async def put(self, deployment: Deployment, *, epoch: int) -> Written | Stale:
        """Stores or replaces by app name; generation must be the next one."""

    async def get(self, app: str) -> Deployment | None:
        """The deployment or None."""

    async def list(self) -> Sequence[Deployment]:
        """All, by name."""

    async def remove(self, app: str, *, epoch: int) -> Written | Stale:
        """Forgets an app (idempotent)."""

    async def put_placement(self, app: str, nodes: Sequence[str], *, epoch: int) -> Written | Stale:
        """Which processors shall carry the app, first = preferred leader."""

    async def placements(self) -> Mapping[str, Sequence[str]]:
        """Nodes by app."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A stored state: of which app version, at which log position, verified by a restore or not."""

    id: str
    app: str
    group: str
    partition: int
    version: str
    position: Position
    created_ms: int
    size_bytes: int
    verified: bool
    epoch: int


class Revisions(Protocol):
    """State revisions (design invariant 5)."""

    async def save(self, revision: Revision, state: bytes) -> Written | Stale:
        """Stores state and metadata together; durable when it returns."""

    async def mark_verified(self, revision_id: str) -> None:
        """The revision counts from now on."""

    async def list(self, app: str, group: str, partition: int) -> Sequence[Revision]:
        """Newest first."""

    async def load(self, revision_id: str) -> bytes:
        """The state; LookupError when it is gone."""

    async def purge(self, app: str, group: str, partition: int, *, keep: int) -> int:
        """Keeps the newest `keep` verified ones, and unverified ones newer than the newest of them;
        gives how many went."""

    async def delete(self, revision_ids: Sequence[str]) -> int:
        """Deletes those that are there; gives how many. What recovery needs is the caller's to
        spare (`rules.needed`)."""

    async def remove_app(self, app: str) -> int:
        """Deletes all revisions of an app."""


class Cursors(Protocol):
    """How far a sink has delivered an output log; for sinks that cannot keep it themselves. What
    belongs to an app has a name that begins with the app's and a slash."""

    async def get(self, sink: str) -> int:
        """Sequence of the last delivered output record; 0 at the start."""

    async def put(self, sink: str, sequence: int) -> None:
        """Moves the cursor; never back."""

    async def remove_app(self, app: str) -> int:
        """Forgets all cursors of an app; gives how many there were."""


class Store(Protocol):
    """An open store."""

    @property
    def deployments(self) -> Deployments:
        """Desired state."""

    @property
    def revisions(self) -> Revisions:
        """State revisions."""

    @property
    def cursors(self) -> Cursors:
        """Sink cursors."""

    async def healthy(self) -> bool:
        """True when the store answers now."""

    async def close(self) -> None:
        """Disconnects; idempotent."""
