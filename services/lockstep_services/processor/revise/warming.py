"""A warm standby's only work: to hold the newest verified revision, so that a promotion has to fold
no more than what came behind it.
"""

from __future__ import annotations

from collections.abc import Callable

from lockstep.events import UnavailableError
from lockstep.leader.protocol import facts
from lockstep.operators.errors import SnapshotError
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.replica.replica import Replica
from lockstep_services.processor.replica.standby import WARM
from lockstep_services.processor.state.envelope import EnvelopeError, unseal


class WarmLoop:
    """`run` in one task; `take_newest` also before a promotion."""

    def __init__(
        self, replica: Replica, fold: FoldLoop, tell: Callable[[facts.Fact], None]
    ) -> None:
        self._replica = replica
        self._fold = fold
        self._tell = tell
        self._revisions = replica.around.world.store.revisions
        self._log = replica.around.log.bind(**replica.labels)

    async def run(self) -> None:
        """Until cancelled; a store that is away is waited for."""
        around = self._replica.around
        while True:
            await around.clock.sleep_ms(around.settings.processor.snapshot_interval_ms)
            if self._replica.may_fold:
                continue
            try:
                await self.take_newest()
            except UnavailableError as error:
                self._log.warning("no newer revision", error=str(error))

    async def take_newest(self) -> None:
        """A warm standby that is behind the newest verified revision goes on from it."""
        replica, name = self._replica, self._replica.name
        if replica.standby != WARM or replica.is_active:
            return
        found = await self._revisions.list(*name.key)
        alike = [one for one in found if one.verified and one.life == replica.generation.life]
        newest = max(alike, key=lambda one: one.position, default=None)
        if newest is None or newest.position <= replica.engine.position:
            return
        self._fold.pause()
        try:
            await self._fold.at_rest()
            contents = unseal(await self._revisions.load(newest.id))
            if newest.position <= replica.engine.position:
                return
            await replica.engine.restore(newest.position, contents)
        except (LookupError, EnvelopeError, SnapshotError) as error:
            self._log.error("a revision cannot be used", revision=newest.id, error=str(error))
            return
        finally:
            self._fold.resume()
        replica.know(replica.last_id)
        if contents.rows:
            self._tell(facts.RowsHeld(contents.rows[-1].id))
        self._log.info("warm", position=newest.position)
