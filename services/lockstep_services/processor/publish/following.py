"""Looks at the ends of both logs: what is published, and how far there is to go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lockstep.events import UnavailableError
from lockstep.leader.protocol import facts
from lockstep_services.processor.replica.replica import Replica

FOLLOW_EVERY_MS: Final = 500

Tell = Callable[[facts.Fact], None]


class FollowLoop:
    """`run` in one task. A standby reads the output log's end alone, not what stands in it."""

    def __init__(self, replica: Replica, tell: Tell) -> None:
        self._site, self._running = replica.site, replica.running
        self._lead, self._reach = replica.lead, replica.reach
        self._published, self._trouble = replica.published, replica.trouble
        self._tell = tell
        self._clock = self._site.clock

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except UnavailableError as error:
                self._trouble.text = str(error)
            await self._clock.sleep_ms(FOLLOW_EVERY_MS)

    async def look(self) -> None:
        """Once. UnavailableError when the bus is away, RestartReplicaError when the output log goes
        on with another state."""
        if not self._lead.is_active:
            tail = await self._site.output.tail()
            self._published.saw(tail)
            published = 0 if tail.last_id is None else tail.last_id.position
            now_ms = self._clock.monotonic_ms()
            self._reach.behind.saw(published, self._running.engine.position, now_ms)
            self._tell(facts.TailRead(facts.Tail(tail.sequence, tail.epoch, tail.last_id)))
            self._trouble.text = None
        _, self._reach.log_end = await self._site.input.bounds()
