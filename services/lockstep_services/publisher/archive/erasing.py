"""Rows that people want out of the archive, asked for over the bus; answered by the publisher that
delivers the app, between two appends: also where the app's text has no archive any more."""

from __future__ import annotations

from functools import partial

import msgspec

from lockstep.archive.erasing import erase
from lockstep.archive.place import Place
from lockstep.control import Erased, Erasure, erasure_subject
from lockstep.events import LockstepError
from lockstep.events.typed import from_json
from lockstep.frame import Context, LeaseKeeper, Offload
from lockstep_services.publisher.archive.following import HELD_WAIT_MS


class Erasing:
    """For one app, in a task. `offload`: the one on which its archive is written."""

    def __init__(self, app: str, place: Place, offload: Offload, context: Context) -> None:
        self._app = app
        self._place = place
        self._offload = offload
        self._topics = context.world.bus.topics
        self._log = context.log.bind(app=app)

    async def answer(self, keeper: LeaseKeeper) -> None:
        """Whenever the lease is held."""
        while True:
            if await keeper.wait_held(HELD_WAIT_MS):
                await self._answer_until_lost(keeper)

    async def _answer_until_lost(self, keeper: LeaseKeeper) -> None:
        answering = await self._topics.respond(erasure_subject(self._app), self._answer)
        try:
            while not await keeper.wait_lost(HELD_WAIT_MS):
                pass
        finally:
            await answering.close()

    async def _answer(self, payload: bytes) -> bytes:
        wanted = from_json(payload, Erasure)
        return msgspec.json.encode(await self.erase(wanted))

    async def erase(self, wanted: Erasure) -> Erased:
        """From all that there is of the app. The condition names whom it is about, so nothing of it
        is in the log, nor a sum, which whoever guesses it could compare."""
        stream = wanted.stream
        try:
            gone = await self._offload.run(
                partial(erase, self._place, self._app, stream, wanted.where)
            )
        except LockstepError as error:
            self._log.warning("not erased", stream=stream, why=type(error).__name__)
            return Erased(error=str(error), user_error=not error.retryable)
        self._log.info("erased", audit=True, stream=stream, rows=gone.rows, tables=gone.tables)
        return Erased(gone.rows, tables=gone.tables, skipped=gone.skipped)
