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
        self._replica = replica
        self._tell = tell
        self._clock = replica.around.clock

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except UnavailableError as error:
                self._replica.trouble = str(error)
            await self._clock.sleep_ms(FOLLOW_EVERY_MS)

    async def look(self) -> None:
        """Once. UnavailableError when the bus is away, RestartReplicaError when the output log goes
        on with another state."""
        replica = self._replica
        if not replica.is_active:
            tail = await replica.output.tail()
            replica.saw(tail)
            published = 0 if tail.last_id is None else tail.last_id.position
            now_ms = self._clock.monotonic_ms()
            replica.behind.saw(published, replica.engine.position, now_ms)
            self._tell(facts.TailRead(facts.Tail(tail.sequence, tail.epoch, tail.last_id)))
            replica.trouble = None
        _, replica.log_end = await replica.input.bounds()
