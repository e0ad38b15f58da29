"""Takes revisions at an interval: by a standby if there is one, so that the leader never pauses.

A revision counts once a restore of it has been verified. Old ones go, and with them what the
input log holds for them alone.
"""

from __future__ import annotations

from typing import Final

from lockstep.events import Generation, LockstepError, Position, UnavailableError
from lockstep.execute.contract import Executor
from lockstep.execute.local import open_local
from lockstep.execute.reference import ReferenceExecutor
from lockstep.store import Revision, Stale
from services.processor.engine import AppEngine
from services.processor.envelope import Contents, seal, unseal
from services.processor.origin import Stamp, forgettable, revision_id, stamp_of
from services.processor.replica import MakeOffload, Replica
from services.processor.standby import HOT, takers

REFUSED: Final = "refused: "
BEGINNING_LIMIT_MS: Final = 2_000
BEGINNING_POLL_MS: Final = 20

LARGE_SNAPSHOT_BYTES: Final = 16_777_216
"""From here on columns are restored where the app has some: an object per event of ten million
would take gigabytes, and the cores for a minute."""


class UnverifiedError(LockstepError):
    """A revision that does not restore to what it was taken from: it never counts."""


class RevisionLoop:
    """`run` in one task; `take` at any time."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._clock = replica.around.clock
        self._settings = replica.around.settings.processor
        self._revisions = replica.around.world.store.revisions
        self._log = replica.around.log.bind(**replica.labels)
        self._last: tuple[Position, Generation] | None = None
        self._last_id = ""

    async def run(self) -> None:
        """Until cancelled; a store that is away is waited for."""
        while True:
            await self._clock.sleep_ms(self._settings.snapshot_interval_ms)
            replica = self._replica
            if not self._is_taker() or not replica.is_settled:
                continue
            try:
                await self.take()
            except UnavailableError as error:
                self._log.warning("no revision taken", error=str(error))

    async def take(self) -> str:
        """The id of a verified revision of the present position, or `REFUSED` and why."""
        replica = self._replica
        if replica.is_old:
            return f"{REFUSED}the app is just going over to another state"
        if not await self._has_begun():
            return f"{REFUSED}the app is just beginning"
        taken = (replica.engine.position, replica.generation)
        if taken == self._last:
            return self._last_id
        started_ms = self._clock.monotonic_ms()
        saved = await self.save(replica.engine, replica.made_under)
        if saved is None:
            return f"{REFUSED}a newer leader has written"
        await self._revisions.mark_verified(saved.id)
        self._last, self._last_id = (saved.position, taken[1]), saved.id
        took_ms = self._clock.monotonic_ms() - started_ms
        metrics = replica.around.metrics
        metrics.observe("lockstep_processor_snapshot_ms", took_ms, **replica.labels)
        metrics.observe("lockstep_processor_snapshot_bytes", saved.size_bytes, **replica.labels)
        self._log.info("revision", position=saved.position, size_bytes=saved.size_bytes)
        await self._forget()
        return saved.id

    async def _has_begun(self) -> bool:
        """Once the output log bears this state, which each replica sees soon."""
        deadline_ms = self._clock.monotonic_ms() + BEGINNING_LIMIT_MS
        while not self._replica.is_recorded and self._clock.monotonic_ms() < deadline_ms:
            await self._clock.sleep_ms(BEGINNING_POLL_MS)
        return self._replica.is_recorded

    async def save(self, engine: AppEngine, made_under: Stamp) -> Revision | None:
        """Stores and checks a revision, not yet counting; None when a newer epoch has written."""
        position, contents = await engine.contents()
        return await self.store(position, contents, engine.version, made_under)

    async def store(
        self, position: Position, contents: Contents, version: str, made_under: Stamp
    ) -> Revision | None:
        """As `save`, of what an engine has held."""
        replica, name = self._replica, self._replica.name
        payload = seal(contents)
        unique = replica.around.randomness.uuid_hex()[:12]
        revision = Revision(
            id=revision_id(name.app, made_under, position, unique),
            app=name.app,
            group=name.group,
            partition=name.partition,
            version=version,
            position=position,
            created_ms=self._clock.now_ms(),
            size_bytes=len(payload),
            verified=False,
            epoch=replica.epoch,
        )
        outcome = await self._revisions.save(revision, payload)
        if isinstance(outcome, Stale):
            self._log.warning("revision refused", epoch=replica.epoch, current=outcome.current)
            return None
        stored = await self._revisions.load(revision.id)
        await verify(stored, replica.around.make_offload)
        return revision

    async def _forget(self) -> None:
        name = self._replica.name
        where = (name.app, name.group, name.partition)
        made_under = self._replica.made_under
        if any(stamp_of(one) > made_under for one in await self._revisions.list(*where)):
            # A later state is about to begin: until it has, those of this one are not to spare.
            return
        await self._revisions.purge(*where, keep=self._settings.revisions_to_keep)
        up_to = forgettable(await self._revisions.list(*where))
        if up_to > 0:
            await self._replica.input.trim(up_to)

    def _is_taker(self) -> bool:
        """The first ready hot standby by name; the leader when there is none, however far it is."""
        replica = self._replica
        standbys = takers(replica.others(), replica.engine.version)
        if replica.is_active:
            return not standbys
        is_candidate = replica.is_ready and replica.standby == HOT
        return is_candidate and all(replica.around.node < other for other in standbys)


async def verify(payload: bytes, make_offload: MakeOffload) -> None:
    """Restores what the store gives back, apart from everything; UnverifiedError, SnapshotError."""
    offload = make_offload("verify")
    try:
        await offload.run(lambda: _restored(payload))
    finally:
        offload.close()


def _restored(payload: bytes) -> None:
    contents = unseal(payload)
    once = _again(contents.text, contents.snapshot)
    if _again(contents.text, once) != once:
        raise UnverifiedError("the revision does not restore to itself")


def _again(text: str, snapshot: bytes) -> bytes:
    """What an executor that restored the snapshot says its own is."""
    large = len(snapshot) >= LARGE_SNAPSHOT_BYTES
    executor: Executor = open_local(text) if large else ReferenceExecutor(text)
    try:
        executor.restore(snapshot)
        return executor.snapshot()
    finally:
        executor.close()
