"""Rows that people want out of the archive, asked for over the bus; answered by the publisher that
writes it, between two appends."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial

import msgspec

from lockstep.archive.keeping import SideArchive, erase
from lockstep.control import Erased, Erasure, erasure_subject
from lockstep.events import LockstepError
from lockstep.frame import Context, LeaseKeeper, Offload
from lockstep_services.publisher.archive.following import HELD_WAIT_MS


class Erasing:
    """For one app."""

    def __init__(
        self, app: str, sides: Mapping[str, SideArchive], offload: Offload, context: Context
    ) -> None:
        self._app = app
        self._sides = sides
        self._offload = offload
        self._topics = context.world.bus.topics
        self._log = context.log.bind(app=app)

    async def answer_until(self, keeper: LeaseKeeper) -> None:
        """As long as the lease is held."""
        answering = await self._topics.respond(erasure_subject(self._app), self._answer)
        try:
            while not await keeper.wait_lost(HELD_WAIT_MS):
                pass
        finally:
            await answering.close()

    async def _answer(self, payload: bytes) -> bytes:
        wanted = msgspec.json.decode(payload, type=Erasure)
        return msgspec.json.encode(await self.erase(wanted))

    async def erase(self, wanted: Erasure) -> Erased:
        """From both sides. The log says that, and of what was asked only a sum: the condition names
        whom it is about."""
        rows = 0
        asked = hashlib.sha256(wanted.where.encode()).hexdigest()
        try:
            for side in self._sides.values():
                rows += await self._offload.run(partial(erase, side, wanted.stream, wanted.where))
        except LockstepError as error:
            self._log.warning("not erased", stream=wanted.stream, asked=asked, error=str(error))
            return Erased(rows, str(error), user_error=not error.retryable)
        self._log.info("erased", audit=True, stream=wanted.stream, asked=asked, rows=rows)
        return Erased(rows)
