"""@distribution: one sink with several destinations; each row goes where the strategy says.

A batch tried again goes to the same destinations, and to each from where that one stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import OutputId, OutputRow
from lockstep.operators.mapping import Distribution
from lockstep.store import Cursors
from services.publisher.contract import Batch, SinkPlace
from services.publisher.payload import event_of
from services.publisher.sinks.cursor import StoredCursor


class DistributedSink(StoredCursor):
    """Sends by the sinks of its destinations; its cursor is one for all."""

    def __init__(
        self,
        place: SinkPlace,
        cursors: Cursors,
        distribution: Distribution,
        destinations: Sequence[StoredCursor],
    ) -> None:
        super().__init__(place, cursors)
        self._distribution = distribution
        self._destinations = destinations
        self._routed: dict[OutputId, tuple[int, ...]] = {}

    async def open(self) -> int:
        """Opens all destinations; the cursor is this sink's own."""
        for destination in self._destinations:
            await destination.open()
        return await super().open()

    async def send(self, batch: Batch) -> None:
        """Each destination its share, in order."""
        routes = {row.id: self._route(row) for row in batch.rows}
        self._routed = routes
        for number, destination in enumerate(self._destinations):
            rows = [row for row in batch.rows if number in routes[row.id]]
            if rows:
                await destination.send(Batch(batch.up_to, rows))

    async def close(self) -> None:
        """Closes all."""
        for destination in self._destinations:
            await destination.close()

    def _route(self, row: OutputRow) -> tuple[int, ...]:
        known = self._routed.get(row.id)
        if known is not None:
            return known
        active = [True] * len(self._destinations)
        parcels = self._distribution.route([event_of(row)], active)
        return tuple(index for index, _ in parcels if index is not None)
