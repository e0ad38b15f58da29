"""The senders' side of the front door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lockstep.bus.errors import LogFullError, RecordTooLargeError
from lockstep.bus.kafka.ledger import World

_SHARE: Final = 16


class Door:
    """What is put here is durable."""

    def __init__(self, world: World, topic: str) -> None:
        self._world = world
        self._broker = world.broker
        self._limits = world.broker.connection.limits
        self._topic = topic
        self._left_bytes = 0  # what may be added before looking again
        self._published = (0, 0)  # messages and their bytes

    async def put(self, subject: str, payload: bytes, headers: Mapping[str, str] | None) -> None:
        """Durable when it returns."""
        limit_bytes = self._limits.max_message_bytes
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=subject)
        async with self._world.in_flight.passing(len(payload)):
            if self._left_bytes < len(payload):
                await self._look(len(payload))
            self._left_bytes -= len(payload)
            count, size_bytes = self._published
            self._published = count + 1, size_bytes + len(payload)
            await self._broker.connection.send(
                self._topic,
                payload,
                where=subject,
                headers=[(name, value.encode()) for name, value in (headers or {}).items()],
                key=subject.encode(),
            )

    async def _look(self, size_bytes: int) -> None:
        """How much may be added before looking again, if the others' messages are like ours."""
        broker, topic = self._broker, self._topic
        start = max(await broker.low(topic), await broker.trimmed(topic))
        count, sent_bytes = self._published
        mean_bytes = (sent_bytes + size_bytes) // (count + 1)
        held_bytes = (await broker.end(topic) - start) * mean_bytes
        limit_bytes = self._limits.ingress_max_bytes
        if held_bytes + size_bytes > limit_bytes:
            raise LogFullError(topic, limit_bytes)
        free_bytes = limit_bytes - held_bytes
        self._left_bytes = min(free_bytes, max(size_bytes, limit_bytes // _SHARE))
