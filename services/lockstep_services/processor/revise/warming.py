"""A warm standby's only work: to hold the newest verified revision, so that a promotion has to fold
no more than what came behind it.
"""

from __future__ import annotations

from collections.abc import Callable

from lockstep.events import UnavailableError
from lockstep.leader.protocol import facts
from lockstep.operators.errors import SnapshotError
from lockstep.store.rules import counts_for
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.replica.leading import Lead, Published, Reach
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.replica.standby import WARM
from lockstep_services.processor.state.envelope import EnvelopeError, unseal


class WarmLoop:
    """`run` in one task; `take_newest` also before a promotion."""

    def __init__(
        self,
        site: Site,
        running: Running,
        lead: Lead,
        reach: Reach,
        published: Published,
        fold: FoldLoop,
        tell: Callable[[facts.Fact], None],
    ) -> None:
        self._site = site
        self._running = running
        self._lead = lead
        self._reach = reach
        self._published = published
        self._fold = fold
        self._tell = tell
        self._revisions = self._site.world.store.revisions
        self._log = site.log

    async def run(self) -> None:
        """Until cancelled; a store that is away is waited for."""
        while True:
            await self._site.clock.sleep_ms(self._site.settings.processor.snapshot_interval_ms)
            if self._reach.may_fold:
                continue
            try:
                await self.take_newest()
            except UnavailableError as error:
                self._log.warning("no newer revision", error=str(error))

    async def take_newest(self) -> None:
        """A warm standby that is behind the newest verified revision goes on from it."""
        name = self._site.name
        if self._running.wanted.standby != WARM or self._lead.is_active:
            return
        found = await self._revisions.list(*name.key)
        alike = [one for one in found if counts_for(one, self._running.generation)]
        newest = max(alike, key=lambda one: one.position, default=None)
        if newest is None or newest.position <= self._running.engine.position:
            return
        self._fold.pause()
        try:
            await self._fold.at_rest()
            contents = unseal(await self._revisions.load(newest.id))
            if newest.position <= self._running.engine.position:
                return
            await self._running.engine.restore(newest.position, contents)
        except (LookupError, EnvelopeError, SnapshotError) as error:
            self._log.error("a revision cannot be used", revision=newest.id, error=str(error))
            return
        finally:
            self._fold.resume()
        self._published.know(self._published.last_id)
        if contents.rows:
            self._tell(facts.RowsHeld(contents.rows[-1].id))
        self._log.info("warm", position=newest.position)
