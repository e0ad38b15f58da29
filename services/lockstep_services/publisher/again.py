"""Rows out of the error store to their sinks again, asked for over the bus; answered by the
publisher that delivers the app.

At least once: a letter is removed after its row was delivered. Rows keep their identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from lockstep.bus import Bus, StoredDeadLetter
from lockstep.control import Redelivered, Redelivery, redelivery_subject
from lockstep.events import LockstepError
from lockstep.events.typed import from_json
from lockstep.frame import LeaseKeeper
from lockstep_services.publisher.contract import RowsRefusedError
from lockstep_services.publisher.letters import UnreadableLetterError, row_of, sink_of
from lockstep_services.publisher.pump import Pump

HELD_WAIT_MS: Final = 3_000


class Again:
    """For one app: `run` in one supervised task."""

    def __init__(self, app: str, bus: Bus, keeper: LeaseKeeper, pumps: Sequence[Pump]) -> None:
        self._app = app
        self._bus = bus
        self._keeper = keeper
        self._pumps = {pump.sink.binding.name: pump for pump in pumps}

    async def run(self) -> None:
        """Answers while the lease is held; until cancelled."""
        while True:
            if not await self._keeper.wait_held(HELD_WAIT_MS):
                continue
            subject = redelivery_subject(self._app)
            answering = await self._bus.topics.respond(subject, self._answer)
            try:
                while not await self._keeper.wait_lost(HELD_WAIT_MS):
                    pass
            finally:
                await answering.close()

    async def _answer(self, payload: bytes) -> bytes:
        wanted = from_json(payload, Redelivery).sequences
        return msgspec.json.encode(await self.deliver(wanted))

    async def deliver(self, sequences: Sequence[int]) -> Redelivered:
        """One letter after the other: those delivered are gone from the error store."""
        delivered: list[int] = []
        refused: dict[int, str] = {}
        for sequence in sequences:
            found = await self._bus.dead_letters.read(self._app, after=sequence - 1, max_records=1)
            if not found or found[0].sequence != sequence:
                continue
            try:
                await self._deliver(found[0])
            except LockstepError as error:
                refused[sequence] = str(error)
                continue
            await self._bus.dead_letters.remove([sequence])
            delivered.append(sequence)
        return Redelivered(delivered, refused)

    async def _deliver(self, stored: StoredDeadLetter) -> None:
        name = sink_of(stored.letter)
        pump = self._pumps.get(name or "")
        if pump is None:
            raise UnreadableLetterError(f"the app has no sink '{name}' (any more)")
        row = row_of(stored.letter, pump.sink.binding.schema)
        try:
            await pump.again([row])
        except RowsRefusedError as error:
            raise UnreadableLetterError(error.refused[0].reason) from error
