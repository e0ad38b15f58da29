"""The end of a layout's unit: what it has folded up to the last position is published and stored,
so that the units of the next layout can begin behind it.

All units of a layout end at the same position: behind the record of the input log that names the
next layout. Whoever leads a unit stores its last revision. That one stays, and is nobody's
beginning but the next layout's. Who stops in front of that record has not ended, nor has who is to
go over to another state first.
"""

from __future__ import annotations

from typing import Final

from lockstep.control.endings import end_key, last_revision
from lockstep.events import UnavailableError
from lockstep_services.processor.publish.publishing import Publishing
from lockstep_services.processor.replica.replica import Replica
from lockstep_services.processor.revise.revisions import RevisionLoop

LOOK_EVERY_MS: Final = 50
STORE_PAUSE_MS: Final = 1_000
FLUSH_LIMIT_MS: Final = 10_000


class EndLoop:
    """`run` in one task."""

    def __init__(self, replica: Replica, publishing: Publishing, revisions: RevisionLoop) -> None:
        self._site, self._running = replica.site, replica.running
        self._lead, self._reach = replica.lead, replica.reach
        self._publishing = publishing
        self._revisions = revisions
        self._has_stored = False

    async def run(self) -> None:
        """Until the last revision is stored, or cancelled."""
        await self._reach.ended.wait()
        while not self._has_stored:
            await self._site.clock.sleep_ms(LOOK_EVERY_MS)
            # A restore, or another text, that was wanted before the next layout comes first.
            if not self._lead.is_active or self._running.is_old:
                continue
            try:
                await self._end()
            except UnavailableError as error:
                self._site.log.warning("the end waits", error=str(error))
                await self._site.clock.sleep_ms(STORE_PAUSE_MS)

    async def _end(self) -> None:
        store = self._site.world.store.revisions
        if await last_revision(store, self._site.name) is None:
            if not await self._publishing.flush(FLUSH_LIMIT_MS):
                return
            engine, state = self._running.engine, self._running.generation
            saved = await self._revisions.save_last(engine, state, end_key(self._site.name))
            if saved is None:
                return
            await store.mark_verified(saved.id)
        self._has_stored = True
        self._site.log.info("ended", position=self._running.engine.position)
