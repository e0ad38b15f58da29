"""Gives the executor newer snapshots to rebuild a lost state from: verified revisions, whoever took
them. So nobody has to stop a state only to have a copy of it at hand.
"""

from __future__ import annotations

from typing import Final

from lockstep.events import UnavailableError
from lockstep.store import Revision
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.state.envelope import EnvelopeError, unseal

WORTH_IT: Final = 4
"""A revision is fetched when a base takes more than this part of its limit: a busy app's does so
every few seconds, a quiet one's hardly ever."""


class BaseLoop:
    """`run` in one task."""

    def __init__(self, site: Site, running: Running) -> None:
        self._site = site
        self._running = running
        self._settings = site.settings.processor
        self._revisions = site.world.store.revisions
        self._log = site.log
        self._last_id = ""

    async def run(self) -> None:
        """Until cancelled; a store that is away is waited for."""
        clock = self._site.clock
        while True:
            await clock.sleep_ms(self._settings.snapshot_interval_ms)
            try:
                await self.give()
            except (UnavailableError, LookupError, EnvelopeError) as error:
                self._log.warning("no newer snapshot to rebuild from", error=str(error))

    async def give(self) -> None:
        """The newest revision, if it is small enough to be kept and the base is long."""
        limit_bytes = self._settings.rebuild_max_bytes
        engine, name = self._running.engine, self._site.name
        if engine.base_bytes <= limit_bytes // WORTH_IT:
            return
        found = await self._revisions.list(*name.key)
        ours = [one for one in found if self._is_ours(one)]
        newest = max(ours, key=lambda one: one.position, default=None)
        if newest is None or newest.id == self._last_id:
            return
        self._last_id = newest.id
        if newest.size_bytes > limit_bytes:
            return
        contents = unseal(await self._revisions.load(newest.id))
        if self._running.engine is engine and self._is_ours(newest):
            await engine.rebase(contents)

    def _is_ours(self, revision: Revision) -> bool:
        """It is of the very state that this replica folds on."""
        return (
            revision.verified
            and revision.version == self._running.engine.version
            and revision.is_of(self._running.generation)
        )
