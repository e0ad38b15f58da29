"""Takes revisions at an interval: by a standby if there is one, so that the leader never pauses.

A revision counts once a restore of it has been verified.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final

from lockstep.events import Generation, LockstepError, Position, UnavailableError
from lockstep.execute.local import open_local
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.state import Bytes, Pieces, Sink
from lockstep.plan import AppPlan, Plans
from lockstep.store import Revision, Stale, revision_id
from lockstep_services.processor.replica.leading import Lead, Reach
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import MakeOffload, Site
from lockstep_services.processor.replica.standby import HOT, takers
from lockstep_services.processor.revise.forgetting import Forgetting
from lockstep_services.processor.revise.pacing import RevisionPace
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import Contents, seal, unseal

REFUSED: Final = "refused: "
BEGINNING_LIMIT_MS: Final = 2_000
BEGINNING_POLL_MS: Final = 20
AGE_PARTS: Final = 4
"""A state that has moved at all has a revision each such part of the time for which input logs keep
what came."""
FIRST_TICK: Final = 1
"""Where a new log has it: whoever begins anew folds it again in no time."""

LARGE_SNAPSHOT_BYTES: Final = 16_777_216
"""From here on columns are restored where the app has some: an object per event of ten million
would take gigabytes, and the cores for a minute."""


class UnverifiedError(LockstepError):
    """A revision that does not restore to what it was taken from: it never counts."""


class RevisionLoop:
    """`run` in one task; `take` at any time."""

    def __init__(
        self, site: Site, running: Running, lead: Lead, reach: Reach, pace: RevisionPace
    ) -> None:
        self._site = site
        self._running = running
        self._lead = lead
        self._reach = reach
        self._clock = site.clock
        self._settings = site.settings.processor
        self._revisions = site.world.store.revisions
        self._pace = pace
        self._log = site.log
        self._last: tuple[Position, Generation] | None = None
        self._last_id = ""
        self._stored: tuple[Position, int] = (running.engine.position, running.stored_ms)
        """Where the newest revision of this state stands that is known here, and when it was
        taken."""
        self._took_ms = 0
        self._forgetting = Forgetting(site, running, lead, reach)
        self.outdone_by = 0
        """The epoch for which the store refused a revision last: somebody has led since."""

    async def run(self) -> None:
        """Until cancelled; a store that is away, or refuses us, is waited for."""
        while True:
            await self._clock.sleep_ms(self._settings.snapshot_interval_ms)
            try:
                if not self._is_due():
                    await self._make_room()
                    continue
                await self._clock.sleep_ms(self._pace.wait_ms(self._clock.monotonic_ms()))
                if self._is_due():
                    await self.take()
            except UnavailableError as error:
                say = self._log.warning if error.retryable else self._log.error
                say("no revision taken", error=str(error))

    async def _make_room(self) -> None:
        """Nothing moves where the input log is full. Only a leader can ask whether it is."""
        if self._running.is_settled and (self._lead.is_active or self._is_taker()):
            await self._forgetting.make_room()

    def _is_due(self) -> bool:
        """It is this replica's turn, and there is something new since the last one. The state in
        which a generation begins is stored before it is claimed, and a new log begins with a tick.
        """
        running = self._running
        position, generation = running.engine.position, running.generation
        is_more = position > FIRST_TICK or self._reach.took_more or self._is_aging
        has_begun = position > generation.position and is_more
        has_moved = has_begun and (position, generation) != self._last
        return has_moved and running.is_settled and self._is_taker()

    @property
    def _is_aging(self) -> bool:
        """The log may soon forget by age what stands behind the newest revision, be it a tick:
        nobody could begin from that revision any more."""
        _, stored_ms = self._stored
        age_ms = self._clock.now_ms() - stored_ms
        limit_ms = self._site.settings.bus.max_log_age_ms // AGE_PARTS
        return self.has_more and age_ms >= limit_ms

    @property
    def has_more(self) -> bool:
        """More is folded than the newest revision of this state has that is known here."""
        return self._running.engine.position > self._stored[0]

    def is_quick(self, limit_ms: int) -> bool:
        """Whether the newest one took no longer: one that is called off goes on in its thread, and
        the process would wait for it at its end."""
        return self._took_ms <= limit_ms

    async def take_last(self) -> None:
        """Before this replica goes, as the last one or not to come back: the log may have forgotten
        what stands behind the newest revision when somebody begins again."""
        if not self._running.is_settled or self._reach.has_ended or not self.has_more:
            return
        try:
            await self.take()
        except LockstepError as error:
            self._log.warning("no last revision taken", error=str(error))

    async def take(self) -> str:
        """The id of a verified revision of the present position, or `REFUSED` and why."""
        if self._running.is_old:
            return f"{REFUSED}the app is just going over to another state"
        if not await self._has_begun():
            return f"{REFUSED}the app is just beginning"
        taken = (self._running.engine.position, self._running.generation)
        if taken == self._last:
            await self._forgetting.forget()
            return self._last_id
        started_ms = self._clock.monotonic_ms()
        saved = await self.save(self._running.engine, self._running.generation)
        if saved is None:
            return f"{REFUSED}a newer leader has written"
        await self._revisions.mark_verified(saved.id)
        self._last, self._last_id = (saved.position, taken[1]), saved.id
        took_ms = self._clock.monotonic_ms() - started_ms
        self._took_ms = took_ms
        self._pace.took(took_ms)
        metrics = self._site.metrics
        metrics.observe("lockstep_processor_snapshot_ms", took_ms, **self._site.labels)
        metrics.observe("lockstep_processor_snapshot_bytes", saved.size_bytes, **self._site.labels)
        metrics.set("lockstep_processor_state_bytes", saved.size_bytes, **self._site.labels)
        self._log.info("revision", position=saved.position, size_bytes=saved.size_bytes)
        await self._forgetting.forget()
        return saved.id

    async def _has_begun(self) -> bool:
        """Once the output log bears this state, which each replica sees soon."""
        deadline_ms = self._clock.monotonic_ms() + BEGINNING_LIMIT_MS
        while not self._running.is_recorded and self._clock.monotonic_ms() < deadline_ms:
            await self._clock.sleep_ms(BEGINNING_POLL_MS)
        return self._running.is_recorded

    async def save(self, engine: AppEngine, state: Generation) -> Revision | None:
        """Stores and checks a revision, not yet counting; None when a newer epoch has written, or
        the app was purged.
        """
        return await self._kept(self._taken(engine), engine.version, state)

    async def save_last(
        self, engine: AppEngine, state: Generation, key: tuple[str, str, int]
    ) -> Revision | None:
        """As `save`, kept under a key of its own."""
        return await self._kept(self._taken(engine), engine.version, state, key)

    async def store(
        self,
        position: Position,
        contents: Contents,
        version: str,
        state: Generation,
        key: tuple[str, str, int] | None = None,
    ) -> Revision | None:
        """As `save`, of what an engine has held; maybe kept under a key of its own."""
        return await self._kept(self._sealed(position, contents), version, state, key)

    async def _taken(self, engine: AppEngine) -> tuple[Position, bytes]:
        return await self._sealed(*await engine.contents())

    async def _sealed(self, position: Position, contents: Contents) -> tuple[Position, bytes]:
        # Leases are renewed on this thread: what takes long for a large state is done on another.
        offload = self._site.make_offload("seal")
        try:
            return position, await offload.run(lambda: seal(contents))
        finally:
            offload.close()

    async def _kept(
        self,
        sealed: Awaitable[tuple[Position, bytes]],
        version: str,
        state: Generation,
        key: tuple[str, str, int] | None = None,
    ) -> Revision | None:
        app, group, partition = key or self._site.name.key
        position, payload = await sealed
        unique = self._site.randomness.uuid_hex()[:12]
        revision = Revision(
            id=revision_id(app, state, position, unique),
            app=app,
            group=group,
            partition=partition,
            version=version,
            position=position,
            created_ms=self._clock.now_ms(),
            size_bytes=len(payload),
            verified=False,
            epoch=self._lead.epoch,
        )
        outcome = await self._revisions.save(revision, payload)
        # What the store has is checked: a large state need not be here twice meanwhile.
        del payload
        if isinstance(outcome, Stale):
            self._log.warning("revision refused", epoch=self._lead.epoch, current=outcome.current)
            self.outdone_by = outcome.current
            return None
        try:
            payload = await self._revisions.load(revision.id)
            await verify(payload, self._site.engines.plans, self._site.make_offload)
        except LookupError:
            self._log.warning("revision removed as soon as it was stored", revision=revision.id)
            return None
        if key is None and state == self._running.generation:
            self._stored = position, revision.created_ms
        return revision

    def _is_taker(self) -> bool:
        """The first ready hot standby by name; the leader when there is none, however far it is."""
        standbys = takers(self._site.others(), self._running.engine.version)
        if self._lead.is_active:
            return not standbys
        is_candidate = self._reach.is_ready and self._running.wanted.standby == HOT
        return is_candidate and all(self._site.node < other for other in standbys)


async def verify(payload: bytes, plans: Plans, make_offload: MakeOffload) -> None:
    """Restores what the store gives back, apart from everything; UnverifiedError, SnapshotError."""
    offload = make_offload("verify")
    try:
        await offload.run(lambda: _restored(payload, plans))
    finally:
        offload.close()


def _restored(payload: bytes, plans: Plans) -> None:
    contents = unseal(payload)
    plan, snapshot = plans.of(contents.text), contents.snapshot
    large = len(snapshot) >= LARGE_SNAPSHOT_BYTES
    if large and _restores_to(plan, snapshot, snapshot, large=True):
        return
    # The reference may write what columns have written in another form; its own it keeps.
    pieces = Pieces()
    _again(plan, snapshot, pieces, large=large)
    once = pieces.joined()
    if not _restores_to(plan, once, once, large=large):
        raise UnverifiedError("the revision does not restore to itself")


def _restores_to(plan: AppPlan, snapshot: Bytes, expected: Bytes, *, large: bool) -> bool:
    compared = Compared(expected)
    _again(plan, snapshot, compared, large=large)
    return compared.is_same


def _again(plan: AppPlan, snapshot: Bytes, sink: Sink, *, large: bool) -> None:
    """What an executor that restored the snapshot says its own is."""
    executor = open_local(plan) if large else ReferenceExecutor(plan)
    try:
        executor.restore(snapshot)
        executor.write_snapshot(sink)
    finally:
        executor.close()


class Compared:
    """A sink that keeps nothing of what is written, and sees whether it is what was expected."""

    def __init__(self, expected: Bytes) -> None:
        self._rest = memoryview(expected)
        self._same = True

    @property
    def is_same(self) -> bool:
        """All of it, and no more."""
        return self._same and not len(self._rest)

    def write(self, data: Any, /) -> None:
        piece = memoryview(data).cast("B")
        self._same = self._same and bytes(self._rest[: len(piece)]) == bytes(piece)
        self._rest = self._rest[len(piece) :]
