"""Reads one partition of a topic from any offset on, with a client and a thread of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.connection import one
from lockstep.bus.kafka.errors import translated
from lockstep.events import UnavailableError

_POLL_S: Final = 0.25  # a read that was given up holds its thread no longer
_BATCH: Final = 512
_WAIT_MS: Final = 200  # a broker that has nothing answers after it
_JUMPING_WAIT_MS: Final = 10  # going elsewhere has to wait for that answer
_QUEUED_KB: Final = 4_096
_AT_ONCE_BYTES: Final = 1_048_576
_PASSING: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._AUTO_OFFSET_RESET,
        KafkaError._TIMED_OUT,
    }
)
_NO_HEADERS: Final[Mapping[str, bytes]] = {}


@dataclass(frozen=True, slots=True)
class Raw:
    """A stored record."""

    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes
    headers: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """What counts towards a log's limit."""
        return len(self.value)


class Tape:
    """One reader at a time; what it has fetched ahead is kept for the next read.

    `jumps`: it seldom goes on where it stopped, so it asks for nothing in between.
    """

    def __init__(
        self, broker: Broker, topic: str, partition: int = 0, *, jumps: bool = False
    ) -> None:
        self._jumps = jumps
        self._broker = broker
        self.topic = topic
        self._partition = partition
        self._thread: ThreadPoolExecutor | None = None
        self._consumer: Consumer | None = None
        self._ahead: deque[Raw] = deque()
        self._start = -1  # what `_ahead` holds begins here
        self._next = -1  # and ends in front of this, which the client gives next
        self._asked = ("", -1)  # where the pull under way begins
        self._assigned = ("", -1)  # where the client goes on; the thread's own
        self._pulling: asyncio.Future[list[Raw]] | None = None
        self._is_sure = False  # whether the client has given anything since it went to its place

    @property
    def place(self) -> int:
        """The offset from which a read goes on without looking for its place."""
        return self._start

    async def read(
        self, offset: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[Raw]:
        """Records from an offset on, at least one, if one comes in time; offsets may be missing.
        What was there before is found however short the time is."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wait_ms / 1000
        self._go_to(offset)
        end: int | None = None
        while not self._ahead:
            left_s = deadline_s - loop.time()
            if left_s <= 0 or (not self._is_sure and left_s < _POLL_S):
                if end is None and (wait_ms < 2 * _POLL_S * 1000 or not self._is_sure):
                    end = await self._broker.end(self.topic, self._partition)
                if (end is None or end <= self._next) and left_s <= 0:
                    return ()
                if loop.time() > deadline_s + self._broker.connection.limits.publish_timeout_ms:
                    raise UnavailableError("the bus does not give its records", where=self.topic)
                left_s = max(left_s, 0.02)
            await self._pull(min(left_s, _POLL_S))
        return self._take(max_records, max_bytes)

    def go_over(self, topic: str) -> None:
        """Reads another topic from now on."""
        if topic != self.topic:
            self.topic = topic
            self._ahead.clear()
            self._start = self._next = -1

    async def rest(self) -> None:
        """Asks for nothing until the next read."""
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._unassign)

    async def close(self) -> None:
        """Gives client and thread back; the next read takes new ones."""
        if self._thread is None:
            return
        thread, consumer = self._thread, self._consumer
        self._thread = self._consumer = None
        if self._pulling is not None:
            await asyncio.wait([self._pulling])
            self._pulling = None
        self._ahead.clear()
        self._start = self._next = -1
        if consumer is not None:
            await asyncio.get_running_loop().run_in_executor(thread, consumer.close)
        thread.shutdown(wait=False)

    def _go_to(self, offset: int) -> None:
        if self._start <= offset <= self._next and self._start >= 0:
            while self._ahead and self._ahead[0].offset < offset:
                self._ahead.popleft()
            self._start = offset
        elif offset != self._start:
            self._ahead.clear()
            self._start = self._next = offset
            self._is_sure = False

    def _take(self, max_records: int, max_bytes: int) -> list[Raw]:
        taken: list[Raw] = []
        size_bytes = 0
        while self._ahead and len(taken) < max_records:
            size_bytes += self._ahead[0].size_bytes
            if taken and size_bytes > max_bytes:
                break
            taken.append(self._ahead.popleft())
        self._start = taken[-1].offset + 1
        return taken

    async def _pull(self, wait_s: float) -> None:
        if self._pulling is None:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="kafka-read")
            self._asked = (self.topic, self._next)
            self._pulling = asyncio.get_running_loop().run_in_executor(
                self._thread, self._fetch, *self._asked, wait_s
            )
        pulling = self._pulling
        # Who is cancelled here leaves what comes to the next read.
        await asyncio.wait([pulling])
        if self._pulling is not pulling:
            return
        self._pulling = None
        found = pulling.result()
        # What is not from the place where this read goes on was fetched for an earlier one.
        if self._asked == (self.topic, self._next):
            fresh = [raw for raw in found if raw.offset >= self._next]
            self._ahead.extend(fresh)
            if fresh:
                self._next = fresh[-1].offset + 1
                self._is_sure = True

    def _fetch(self, topic: str, offset: int, wait_s: float) -> list[Raw]:
        try:
            if self._consumer is None:
                self._consumer = self._make()
                self._assigned = ("", -1)
            if self._assigned != (topic, offset):
                self._consumer.assign([one(topic, offset, self._partition)])
                self._assigned = (topic, offset)
            first = self._consumer.poll(wait_s)
            found = [] if first is None else [first, *self._consumer.consume(_BATCH, timeout=0)]
        except KafkaException as error:
            raise translated(error.args[0], topic) from error
        raws: list[Raw] = []
        for message in found:
            trouble = message.error()
            if trouble is None:
                raws.append(_raw(message))
                self._assigned = (topic, raws[-1].offset + 1)
            elif trouble.code() not in _PASSING:
                self._assigned = ("", -1)
                raise translated(trouble, topic)
        return raws

    def _unassign(self) -> None:
        if self._consumer is not None:
            self._consumer.unassign()
            self._assigned = ("", -1)

    def _make(self) -> Consumer:
        config = self._broker.connection.config
        return Consumer(
            {
                **config,
                "group.id": f"{self._broker.connection.address.prefix}.nobody",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": _JUMPING_WAIT_MS if self._jumps else _WAIT_MS,
                "fetch.queue.backoff.ms": 10,
                "fetch.error.backoff.ms": 50,
                "queued.max.messages.kbytes": _QUEUED_KB,
                "fetch.message.max.bytes": _AT_ONCE_BYTES,
                "fetch.max.bytes": 8 * _AT_ONCE_BYTES + 65_536,
                "check.crcs": True,
            }
        )


def _raw(message: Any) -> Raw:
    headers = message.headers()
    return Raw(
        message.offset(),
        message.timestamp()[1],
        message.key() or b"",
        message.value() or b"",
        dict(headers) if headers else _NO_HEADERS,
    )
