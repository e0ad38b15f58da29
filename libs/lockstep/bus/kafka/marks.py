"""Offsets that all processes share: up to where a topic was trimmed. They are those of a consumer
group that nobody joins. The admin client's own call for them ends the process when the group's
coordinator moves (librdkafka 2.16), so a consumer asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from confluent_kafka import Consumer, KafkaException

from lockstep.bus.kafka.connection import Connection, one
from lockstep.bus.kafka.errors import translated

T = TypeVar("T")


class Marks:
    """Errors: UnavailableError."""

    def __init__(self, connection: Connection, timeout_s: float) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kafka-marks")
        self._consumer: Consumer | None = None
        self._made = 0

    async def get(self, topic: str) -> int:
        """The offset, or 0."""
        return await self._on_thread(topic, partial(self._get, topic))

    async def put(self, topic: str, offset: int) -> None:
        """Durable when it returns."""
        await self._on_thread(topic, partial(self._put, topic, offset))

    async def close(self) -> None:
        """Gives client and thread back."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._end)
        self._thread.shutdown(wait=False)

    async def _on_thread(self, topic: str, call: Callable[[], T]) -> T:
        async def attempt() -> T:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._thread, call)
            except KafkaException as error:
                raise translated(error.args[0], topic) from error

        return await self._connection.persistently(attempt)

    def _get(self, topic: str) -> int:
        (found,) = self._opened().committed([one(topic)], timeout=self._timeout_s)
        if found.error is not None:
            raise KafkaException(found.error)
        return max(0, found.offset)

    def _put(self, topic: str, offset: int) -> None:
        stored = self._opened().commit(offsets=[one(topic, offset)], asynchronous=False)
        for place in stored or ():
            if place.error is not None:
                raise KafkaException(place.error)

    def _opened(self) -> Consumer:
        if self._made != self._connection.made:
            self._end()
            self._made = self._connection.made
        if self._consumer is None:
            self._consumer = Consumer(
                {
                    **self._connection.config,
                    "group.id": f"{self._connection.address.prefix}.trimmed",
                    "enable.auto.commit": False,
                    "socket.timeout.ms": int(self._timeout_s * 1000),
                }
            )
        return self._consumer

    def _end(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
