"""The cursor of sinks whose destination cannot keep it: in the store, moved after each delivery."""

from __future__ import annotations

from lockstep.store import Cursors
from services.publisher.contract import Batch, SinkPlace


class StoredCursor:
    """A crash between delivery and move repeats the batch: at least once, with stable ids."""

    waits_for_ever = False

    def __init__(self, place: SinkPlace, cursors: Cursors) -> None:
        self.place = place
        self._cursors = cursors

    async def open(self) -> int:
        """The last delivered sequence."""
        return await self._cursors.get(self.place.key)

    async def deliver(self, batch: Batch) -> None:
        """Sends, then moves the cursor."""
        if batch.rows:
            await self.send(batch)
        await self._cursors.put(self.place.key, batch.up_to)

    async def send(self, batch: Batch) -> None:
        """What the sink does with rows."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is held."""
