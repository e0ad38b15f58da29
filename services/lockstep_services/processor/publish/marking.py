"""A fleet's leader says how far it has settled: who reads its output log waits for that.

Records of rows say so themselves. What moves without rows is said at once.
"""

from __future__ import annotations

from typing import Final

from lockstep.control import Mark, send_mark
from lockstep.events import Position, UnavailableError
from lockstep.frame import wait_set
from lockstep.leader.protocol import Permit
from lockstep_services.processor.replica.leading import Lead, Published
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site

REPEAT_MS: Final = 200
"""A mark may be lost, and who begins to listen has heard none."""


class MarkLoop:
    """`run` in one task. Says at once what no record and no mark has said, and all of it again and
    again."""

    def __init__(self, site: Site, running: Running, lead: Lead, published: Published) -> None:
        self._site = site
        self._running = running
        self._lead = lead
        self._published = published

    async def run(self) -> None:
        """Until cancelled."""
        published, clock = self._published, self._site.clock
        marked, looked_ms = 0, clock.monotonic_ms()
        while True:
            left_ms = looked_ms + REPEAT_MS - clock.monotonic_ms()
            await wait_set(published.moved, clock, max(left_ms, 0))
            published.moved.clear()
            now_ms, settled = clock.monotonic_ms(), self._running.engine.outbox.settled
            is_due = now_ms >= looked_ms + REPEAT_MS
            if not is_due and settled <= max(marked, published.told):
                continue
            looked_ms = now_ms
            if (permit := self._lead.permit) is not None and await self._say(settled, permit):
                marked = settled

    async def _say(self, settled: Position, permit: Permit) -> bool:
        name = self._site.name
        mark = Mark(
            name.app, name.group, name.partition, name.since_ms,
            settled, permit.expected_sequence,
        )  # fmt: skip
        try:
            await send_mark(self._site.world.bus.topics, mark)
        except UnavailableError as error:
            self._site.log.debug("mark not sent", error=str(error))
            return False
        return True
