"""From one version of an app to the next, at one position for all replicas.

The old version is folded and published up to a position that the leader chooses; there the new
version begins, with the old state if that fits and else an empty one. The beginning is a revision
of the new version: the leader makes it count while it still leads, standbys restore it and go on
from there.
"""

from __future__ import annotations

from typing import Final

from lockstep.events import LockstepError, UnavailableError
from lockstep.operators.errors import SnapshotError
from services.processor.engine import AppEngine
from services.processor.envelope import Contents
from services.processor.folding import FoldLoop
from services.processor.origin import newest_verified, stamp, stamp_of
from services.processor.publishing import Publishing
from services.processor.replica import Replica
from services.processor.revisions import RevisionLoop

LOOK_EVERY_MS: Final = 250
STORE_PAUSE_MS: Final = 2_000
FLUSH_LIMIT_MS: Final = 10_000


class RestartReplicaError(LockstepError):
    """This replica has to begin again from the newest revision."""

    retryable = True


class UpgradeLoop:
    """`run` in one task."""

    def __init__(
        self, replica: Replica, fold: FoldLoop, publishing: Publishing, revisions: RevisionLoop
    ) -> None:
        self._replica = replica
        self._fold = fold
        self._publishing = publishing
        self._revisions = revisions
        self._clock = replica.around.clock
        self._log = replica.around.log.bind(**replica.labels)

    async def run(self) -> None:
        """Until cancelled; RestartReplicaError when the new version's beginning is there."""
        while True:
            await self._clock.sleep_ms(LOOK_EVERY_MS)
            if not self._replica.is_old:
                continue
            try:
                await self.look_for_beginning()
                if self._replica.is_active:
                    await self._cut_over()
            except UnavailableError as error:
                self._log.warning("upgrade waits", error=str(error))
                await self._clock.sleep_ms(STORE_PAUSE_MS)

    async def look_for_beginning(self) -> None:
        """RestartReplicaError when somebody has begun a later version than the one running here."""
        replica, name = self._replica, self._replica.name
        found = await replica.around.world.store.revisions.list(
            name.app, name.group, name.partition
        )
        newest = newest_verified(found)
        if newest is None or newest.version == replica.engine.version:
            return
        if stamp_of(newest) >= stamp(replica.target.deployment):
            raise RestartReplicaError(f"version {newest.version[:12]} begins at {newest.position}")

    async def _cut_over(self) -> None:
        replica = self._replica
        self._fold.pause()
        try:
            await self._fold.at_rest()
            flushed = await self._publishing.flush(FLUSH_LIMIT_MS)
            permit = replica.permit
            if permit is None or not flushed:
                return
            _, contents = await replica.engine.contents()
            begun = await self._begin(contents)
            saved = await self._revisions.save(begun, stamp(replica.target.deployment))
            tail = await replica.output.tail()
            if saved is None or tail.epoch != permit.epoch or replica.permit is None:
                await begun.close()
                return
            await replica.around.world.store.revisions.mark_verified(saved.id)
            old, replica.engine = replica.engine, begun
            await old.close()
            self._log.info("upgraded", version=begun.version[:12], position=saved.position)
        finally:
            self._fold.resume()

    async def _begin(self, contents: Contents) -> AppEngine:
        """The new version behind the old one's position."""
        replica, deployment = self._replica, self._replica.target.deployment
        position = replica.engine.position
        begun = await replica.engine.successor(
            deployment.text, deployment.version, replica.around.make_executor, origin=position
        )
        try:
            carried = Contents(deployment.text, contents.snapshot, (), (), contents.sends)
            await begun.restore(position, carried)
        except SnapshotError as error:
            self._log.warning("the old state does not fit: the new version begins empty",
                              reason=str(error))  # fmt: skip
            begun = await replica.engine.successor(
                deployment.text, deployment.version, replica.around.make_executor, origin=position
            )
            begun.remember(contents)
        return begun
