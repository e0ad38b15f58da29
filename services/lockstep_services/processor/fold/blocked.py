"""A standby that cannot fold the next position, for want of memory (see the DESIGN page)."""

from __future__ import annotations

from typing import Final

from lockstep.store.rules import counts_for
from lockstep_services.processor.replica.leading import Reach
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.replica.standby import ACTIVE
from lockstep_services.processor.replica.standing import RestartReplicaError

TRY_AGAIN_MS: Final = 30_000


class Blocked:
    """`look` from time to time: RestartReplicaError when there is a way on."""

    def __init__(self, site: Site, running: Running, reach: Reach) -> None:
        self._site = site
        self._running = running
        self._reach = reach
        self._led_ms: int | None = None

    async def look(self) -> None:
        """A replica with more memory has gone on: then so does this one, behind it. Or nobody leads
        for long, and this one cannot, as it is outdone: it may have the memory by now.
        UnavailableError."""
        blocked, generation = self._running.engine.unfoldable, self._running.generation
        if blocked is None:
            return
        for one in await self._site.world.store.revisions.list(*self._site.name.key):
            if counts_for(one, generation) and one.position >= blocked:
                raise RestartReplicaError(f"another replica has folded position {blocked}")
        if self._reach.is_outdone and self._leaderless_ms() >= TRY_AGAIN_MS:
            raise RestartReplicaError(f"nobody leads: position {blocked} is tried again")

    def _leaderless_ms(self) -> int:
        """Since it was first asked, or somebody was seen to lead."""
        now_ms = self._site.clock.monotonic_ms()
        is_led = any(group.role == ACTIVE for _, group in self._site.others())
        if is_led or self._led_ms is None:
            self._led_ms = now_ms
        return now_ms - self._led_ms
