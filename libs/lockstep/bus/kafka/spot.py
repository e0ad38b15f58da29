"""Looks at single records and short stretches of any log, with a client that waits for nothing.

Who becomes a leader looks first of all, so that client stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.clients import Clients
from lockstep.bus.kafka.tape import Tape
from lockstep.bus.kafka.window import Raw
from lockstep.events import UnavailableError

_BATCH: Final = 256
_BATCH_BYTES: Final = 4_000_000
_WAIT_MS: Final = 10  # going elsewhere has to wait for an empty answer


class Spot:
    """What is asked for is known to be there, so these calls wait for it."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._clients = Clients(broker.connection, _WAIT_MS, stays=True)
        self._wait_ms = broker.connection.limits.publish_timeout_ms

    async def at(self, topic: str, offset: int) -> Raw:
        """The record at an offset, or the first behind it. Errors: UnavailableError."""
        found: list[Raw] = []
        await self.scan(topic, offset, offset + 1, found.append)
        return found[0]

    async def scan(
        self,
        topic: str,
        start: int,
        end: int,
        take: Callable[[Raw], object],
        *,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Hands out the records from `start` on to in front of `end`, or more; one at least. Reads
        no more once `until` is so."""
        tape = Tape(self._broker, topic, clients=self._clients)
        try:
            while start < end and not until():
                raws = await tape.read(
                    start,
                    max_records=min(_BATCH, end - start),
                    max_bytes=_BATCH_BYTES,
                    wait_ms=self._wait_ms,
                )
                if not raws:
                    raise UnavailableError("the bus does not give a record", where=topic)
                for raw in raws:
                    take(raw)
                start = raws[-1].offset + 1
        finally:
            tape.leave()

    async def close(self) -> None:
        """Gives the client back."""
        await self._clients.close()
