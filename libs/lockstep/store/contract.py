"""What outlives processes: desired state, state revisions, sink cursors. One contract; memory, file
system and Postgres adapters. Writes that carry an epoch are refused when a newer epoch has written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from lockstep.events import Generation, Life, Position
from lockstep.rights.accounts import Account
from lockstep.rights.audit import AuditEntry
from lockstep.store.figures import Failover, FigureRow, Grain
from lockstep.store.pauses import Pause
from lockstep.store.sink_numbers import NO_NUMBERS, SinkNumbers
from lockstep.store.versions import AppVersions, Deploying

NEVER: Final = Life(0, 0)
"""Before all others."""


@dataclass(frozen=True, slots=True)
class Restoration:
    """The app shall go on with the state of a revision, from `life` on."""

    revision: str
    life: Life


@dataclass(frozen=True, slots=True)
class Exclusion:
    """No worker can fold what stands at an input position: from `life` on a unit goes on without
    its events. `group` and `partition` are those of the unit's log."""

    group: str
    partition: int
    position: Position
    life: Life


@dataclass(frozen=True, slots=True)
class Before:
    """What was deployed until an app was to begin with its past, and is again if that is called
    off."""

    text: str
    settings: Mapping[str, str]
    replicas: int


@dataclass(frozen=True, slots=True)
class Past:
    """From `life` on the app goes on with a state that is folded from what came in earlier: of the
    input log of `app` that began at `since_ms`, what stands behind the position `after`.

    `up_to`: the last position of it; 0: all that the app itself has come to in the meantime, as it
    is its own log. `revision`: the state to begin with; empty: none. `output`: where the rows go
    (`PAST_OUTPUTS`); those of positions up to `quiet_to` go nowhere, as they were published.
    `before`: None where nothing was deployed.
    """

    app: str
    since_ms: int
    after: Position
    up_to: Position
    output: str
    life: Life
    revision: str = ""
    before: Before | None = None
    quiet_to: Position = 0


PAST_ARCHIVE: Final = "archive"
PAST_SINKS: Final = "sinks"
PAST_NOWHERE: Final = "nowhere"
PAST_OUTPUTS: Final = (PAST_ARCHIVE, PAST_SINKS, PAST_NOWHERE)
"""Where rows of the past go: into tables beside the archive, to the app's sinks, or nowhere."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What an app goes on from: which logs, an empty state behind which position of them, what was
    last asked to be restored, what was last excluded of each unit, and which past it was to begin
    with.

    `logs_since_ms`: when its logs began, which is part of their name: what belongs to logs that
    were removed (a purge) does not belong to these. 0: it was not noted.
    """

    position: Position = 0
    logs_since_ms: int = 0
    restoration: Restoration | None = None
    exclusions: tuple[Exclusion, ...] = ()
    past: Past | None = None

    def past_for(self, life: Life) -> Past | None:
        """What a state that began in `life` has to make way for; None: no past, or it has begun, or
        a later restore stands in its place."""
        past, restoration = self.past, self.restoration
        if past is None or life >= past.life:
            return None
        return past if restoration is None or restoration.life < past.life else None

    def excluding(self, one: Exclusion) -> Origin:
        """With another exclusion; of each unit only the last one is to be known."""
        place = (one.group, one.partition)
        others = (each for each in self.exclusions if (each.group, each.partition) != place)
        return replace(self, exclusions=(*others, one))

    def within(self, group: str, partition: int) -> Origin:
        """As it concerns one unit."""
        own = (one for one in self.exclusions if (one.group, one.partition) == (group, partition))
        return replace(self, exclusions=tuple(own))


@dataclass(frozen=True, slots=True)
class Former:
    """The layout that an app goes over from: what it was cut from, into how many partitions, by
    which rules, and its number."""

    text: str
    version: str
    parallel: int
    layout: int
    life: Life
    rules: int = 1


@dataclass(frozen=True, slots=True)
class Deployment:
    """The desired state of one app. `version` is the SHA-256 of the text; `settings` are what was
    given with it.

    `parallel`: into how many partitions somebody wants its groups cut; 0: its text says. `layout`:
    the life in which the units of today were made, whose logs bear it; 0 for one unit, in the app's
    own logs. `former`: the layout before, which goes on until the units of this one have begun.
    `rules`: those by which this layout was cut (plan.fleet.contract.RULES); releases that wrote
    nothing of it had the first ones. `sinks`: which numbers its sinks have.
    """

    app: str
    text: str
    version: str
    life: Life
    replicas: int
    updated_ms: int
    settings: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = Origin()
    parallel: int = 0
    layout: int = 0
    former: Former | None = None
    rules: int = 1
    sinks: SinkNumbers = NO_NUMBERS


@dataclass(frozen=True, slots=True)
class Removed:
    """An app that is not deployed any more: its last deployment, which the same app may go on from.

    `purged`: nothing does. Its logs, revisions and cursors go, and only when it was is kept.
    """

    deployment: Deployment
    purged: bool

    @property
    def kept(self) -> Deployment | None:
        """What the same app goes on from; None once it was purged."""
        return None if self.purged else self.deployment


@dataclass(frozen=True, slots=True)
class Written:
    """The write stands."""


@dataclass(frozen=True, slots=True)
class Stale:
    """Refused: a newer epoch (or generation) has written; `current` is it."""

    current: int


class Deployments(Protocol):
    """Desired state: which apps at which version, and where their replicas are placed."""

    async def put(
        self, deployment: Deployment, *, epoch: int, deploying: Deploying | None = None,
        revives: bool = True, beside: Sequence[Deployment] | None = None,
    ) -> Written | Stale:  # fmt: skip
        """Stores or replaces by app name; its life must be the next one of the same app, also
        behind a removal that did not purge. The first is for an app that is not deployed, and
        deployed later than the one before. `deploying`: its text is a next version, unless it is
        the newest one already; both are written, or neither. `revives`: False where an app that
        was undeployed meanwhile stays so. `beside`: what the caller has looked at; refused where
        another app, or another text of one, is deployed by now."""

    async def get(self, app: str) -> Deployment | None:
        """The deployment or None."""

    async def list(self) -> Sequence[Deployment]:
        """All, by name."""

    async def remove(self, app: str, *, epoch: int, purge: bool = False) -> Written | Stale:
        """Takes an app and the placements of its units away (idempotent); what was deployed last
        stays in `removed`. `purge` may follow later, and takes its versions away, too."""

    async def removed(self) -> Sequence[Removed]:
        """Apps that are not deployed any more, by name: the last deployment of each."""

    async def put_placement(self, app: str, nodes: Sequence[str], *, epoch: int) -> Written | Stale:
        """Which processors shall carry a unit, first = preferred leader. None: nothing is kept of
        it. The unit of an app that is one has its name; others see `naming.is_unit_of`."""

    async def placements(self) -> Mapping[str, Sequence[str]]:
        """Nodes by unit, of those that have some."""

    async def put_drained(self, node: str, *, drained: bool, epoch: int) -> Written | Stale:
        """Whether a processor shall carry nothing, until that is taken back."""

    async def drained(self) -> Sequence[str]:
        """The processors that shall carry nothing, by name."""

    async def put_level(self, app: str, level: str, *, epoch: int) -> Written | Stale:
        """How much the app's metrics shall tell, whatever its text says, until it is removed."""

    async def levels(self) -> Mapping[str, str]:
        """By app, of those that were put."""

    async def put_pauses(self, app: str, pauses: Sequence[Pause], *, epoch: int) -> Written | Stale:
        """These of the app's sources and sinks are paused from now on, and no others; until the app
        is removed."""

    async def pauses(self) -> Sequence[Pause]:
        """Of all apps, by app and element."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A stored state: of which app version, at which log position, verified by a restore or not.

    `app`, `group` and `partition` say of which log it is; `group` also since when there is that
    log, so that revisions of logs that were removed are not among those of later ones.
    """

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

    @property
    def life(self) -> Life:
        """In which it was made, as its id says; the lowest one for ids of another make."""
        parts = self.id.rsplit(".", 4)
        if len(parts) == 5 and parts[1].isdigit() and parts[2].isdigit():
            return Life(int(parts[1]), int(parts[2]))
        return NEVER

    @property
    def begun(self) -> Position | None:
        """Behind which position its state began, as its id says; None: an earlier release named
        it, or it is of another make."""
        begun, dash, _ = self.id.rpartition(".")[2].partition("-")
        return int(begun) if dash and begun.isdigit() else None

    def is_of(self, state: Generation) -> bool:
        """It is of that very state: not of one that was to begin in the same life elsewhere, and
        never did. Of an earlier release's, only that it is not from before the beginning is known.
        """
        if self.life != state.life:
            return False
        begun = self.begun
        return self.position >= state.position if begun is None else begun == state.position


class Revisions(Protocol):
    """State revisions (design invariant 5)."""

    async def save(self, revision: Revision, state: bytes) -> Written | Stale:
        """Stores state and metadata together; durable when it returns."""

    async def mark_verified(self, revision_id: str) -> None:
        """The revision counts from now on."""

    async def list(self, app: str, group: str, partition: int) -> Sequence[Revision]:
        """Newest first."""

    async def logs(self, app: str | None) -> Sequence[tuple[str, str, int]]:
        """(app, group, partition) of all that there are of an app (None: of all apps), in order.
        One question, however many there are."""

    async def load(self, revision_id: str) -> bytes:
        """The state; LookupError when it is gone."""

    async def purge(self, app: str, group: str, partition: int, *, keep: int) -> int:
        """Keeps the newest `keep` verified ones, and unverified ones newer than the newest of them;
        gives how many went."""

    async def delete(self, revision_ids: Sequence[str]) -> int:
        """Deletes those that are there; gives how many. What recovery needs is the caller's to
        spare (`rules.needed`)."""


class Cursors(Protocol):
    """How far a sink has delivered an output log; for sinks that cannot keep it themselves. Named
    by `lockstep.store.cursor_name`."""

    async def get(self, sink: str) -> int:
        """Sequence of the last delivered output record; 0 at the start."""

    async def put(self, sink: str, sequence: int) -> None:
        """Moves the cursor; never back."""

    async def note(self, name: str) -> str:
        """The text beside a cursor: a place that a source's other side names so. Empty at first."""

    async def put_note(self, name: str, text: str) -> None:
        """The last one who writes wins."""

    async def names(self, app: str | None) -> Sequence[str]:
        """The names that begin as those of an app's cursors do (None: all), in order. An app whose
        name has a slash in it may be another one's (`naming.owner_of`)."""

    async def delete(self, names: Sequence[str]) -> int:
        """Forgets those that are there; gives how many."""


class Documents(Protocol):
    """Texts by kind ("dashboard") and name, as people made them. The last one who writes wins."""

    async def put(self, kind: str, name: str, text: str) -> None:
        """Stores or replaces it."""

    async def first(self, kind: str, name: str, text: str) -> str:
        """What the first one of all has stored: this text, where there was none."""

    async def get(self, kind: str, name: str) -> str | None:
        """The text or None."""

    async def names(self, kind: str) -> Sequence[str]:
        """Of that kind, in order."""

    async def delete(self, kind: str, name: str) -> bool:
        """False when there was none."""


class Accounts(Protocol):
    """Users, groups and tokens (`lockstep.rights`): all at one revision, which grows by changes."""

    async def revision(self) -> int:
        """0 before the first change."""

    async def read(self) -> tuple[int, Sequence[Account]]:
        """All, as they are at that revision."""

    async def change(
        self, put: Sequence[Account], remove: Sequence[tuple[str, str]], *, expected: int
    ) -> bool:
        """All of it or nothing; False when the revision is not the expected one any more."""


class Audit(Protocol):
    """Who did what: entries are added, and go by time alone."""

    async def append(self, entries: Sequence[AuditEntry]) -> None:
        """Durable when it returns; their ids are given here."""

    async def read(
        self, *, before: int | None, limit: int, app: str | None = None, who: str | None = None
    ) -> Sequence[AuditEntry]:
        """The newest first; `before`: with a smaller id."""

    async def trim(self, before_ms: int) -> int:
        """Takes away what is older, by whole days at least; gives how many went."""


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """What is kept of a scheduled script: of a `kind`, under a number, as JSON. `revision`: how
    often it was written, 0 for one that is not there yet. `is_open`: something is left to do."""

    kind: str
    script: str
    key: int
    text: str
    revision: int = 0
    is_open: bool = False


class BatchEntries(Protocol):
    """Scheduled scripts, their versions and runs (`lockstep.batch`): each entry by itself, written
    by whoever has seen it as it is. So no epoch is needed: who comes late is refused."""

    async def put(self, entry: BatchEntry) -> bool:
        """Stores it in the place of its revision; False when that is not what is there now."""

    async def get(self, kind: str, script: str, key: int) -> BatchEntry | None:
        """The entry or None."""

    async def read(
        self, kind: str, script: str | None = None, *, open_only: bool = False, limit: int = 10_000
    ) -> Sequence[BatchEntry]:
        """By script, of each the greatest numbers first."""

    async def delete(self, kind: str, script: str, keys: Sequence[int] | None = None) -> int:
        """Forgets those that are there, or all of a kind; gives how many."""


class FiguresKept(Protocol):
    """How apps were doing (`lockstep.store.figures`), by grain, app and time."""

    async def add(self, grain: Grain, rows: Sequence[FigureRow], *, epoch: int) -> Written | Stale:
        """All of them in one write. Of an app and a time the first that came stays."""

    async def read(
        self, grain: Grain, apps: Sequence[str] | None, from_ms: int, to_ms: int
    ) -> Sequence[FigureRow]:
        """From `from_ms` on and before `to_ms`, by app and time; None: of all apps."""

    async def ends(self, grain: Grain) -> tuple[int, int] | None:
        """The times of the oldest and the newest row of all apps."""

    async def trim(self, grain: Grain, before_ms: int) -> None:
        """Takes away what is older, by whole hours or days at least."""


class Failovers(Protocol):
    """Who took a lead from whom."""

    async def note(self, found: Sequence[Failover], *, epoch: int) -> Written | Stale:
        """All of them in one write; what was noted before stays as it is."""

    async def read(
        self, from_ms: int, to_ms: int, *, limit: int, app: str | None = None
    ) -> Sequence[Failover]:
        """From `from_ms` on and before `to_ms`, the newest first; not those without `from_node`."""

    async def last(self) -> Sequence[Failover]:
        """The latest of each unit."""

    async def trim(self, before_ms: int, layouts: Mapping[str, int]) -> int:
        """Takes away what is older, but the latest of each unit of these layouts, by app; gives how
        many went."""


class Store(Protocol):
    """An open store."""

    @property
    def deployments(self) -> Deployments:
        """Desired state."""

    @property
    def versions(self) -> AppVersions:
        """Texts that were deployed."""

    @property
    def revisions(self) -> Revisions:
        """State revisions."""

    @property
    def cursors(self) -> Cursors:
        """Sink cursors."""

    @property
    def documents(self) -> Documents:
        """What people made for pages."""

    @property
    def accounts(self) -> Accounts:
        """Who may come in."""

    @property
    def audit(self) -> Audit:
        """Who did what."""

    @property
    def batch(self) -> BatchEntries:
        """Scheduled scripts."""

    @property
    def figures(self) -> FiguresKept:
        """How apps were doing."""

    @property
    def failovers(self) -> Failovers:
        """Who took a lead from whom."""

    async def healthy(self) -> bool:
        """True when the store answers now."""

    async def close(self) -> None:
        """Disconnects; idempotent."""
