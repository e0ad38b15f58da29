"""A fleet's leader says how far it has settled: who reads its output log waits for that."""

from __future__ import annotations

from typing import Final

from lockstep.control import Mark, send_mark
from lockstep.events import UnavailableError
from lockstep.frame import wait_set
from lockstep_services.processor.replica.leading import Lead, Published
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site

REPEAT_MS: Final = 200
"""A mark may be lost, and who begins to listen has heard none."""


class MarkLoop:
    """`run` in one task. Says at once what is new, and what is known again and again."""

    def __init__(self, site: Site, running: Running, lead: Lead, published: Published) -> None:
        self._site = site
        self._running = running
        self._lead = lead
        self._published = published

    async def run(self) -> None:
        """Until cancelled."""
        moved = self._published.moved
        while True:
            await wait_set(moved, self._site.clock, REPEAT_MS)
            moved.clear()
            permit = self._lead.permit
            if permit is None:
                continue
            name = self._site.name
            settled = self._running.engine.outbox.settled
            mark = Mark(
                name.app, name.group, name.partition, name.since_ms,
                settled, permit.expected_sequence,
            )  # fmt: skip
            try:
                await send_mark(self._site.world.bus.topics, mark)
            except UnavailableError as error:
                self._site.log.debug("mark not sent", error=str(error))
