"""What brokers are asked about topics: making, removing, where they begin and end, trimming."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from confluent_kafka import (
    KafkaError,
    KafkaException,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # NewTopic is not in its __all__
    AdminClient,
    NewTopic,
    OffsetSpec,
)

from lockstep.bus.errors import LogGoneError
from lockstep.bus.kafka.clients import Clients
from lockstep.bus.kafka.connection import Connection, one
from lockstep.bus.kafka.errors import GONE, translated
from lockstep.bus.kafka.marks import Marks
from lockstep.bus.kafka.sending import FRAME_BYTES, MAX_REQUEST_BYTES
from lockstep.bus.kafka.topic_settings import TopicSettings
from lockstep.bus.limits import BusLimits
from lockstep.events import UnavailableError

T = TypeVar("T")

_EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: Final[OffsetSpec] = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_WAIT_MS: Final = 100  # a broker that has nothing answers after it
_LOOK_S: Final = 2.0
_LOOKS: Final = 5
_LOOK_EVERY_S: Final = 0.05
_NO_LEADER: Final = frozenset({KafkaError.LEADER_NOT_AVAILABLE})
_MS_PER_MINUTE: Final = 60_000


def log_config(
    limits: BusLimits, *, max_age_ms: int | None, is_large: bool = False
) -> dict[str, str]:
    """A topic that never forgets to make room; only what is over age, if anything."""
    size = MAX_REQUEST_BYTES if is_large else limits.max_message_bytes + FRAME_BYTES
    return {
        "cleanup.policy": "delete",
        "retention.bytes": "-1",
        "retention.ms": str(-1 if max_age_ms is None else max_age_ms),
        "max.message.bytes": str(size),
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": str(limits.replicas // 2 + 1),
        "unclean.leader.election.enable": "false",
    }


def live_config(limits: BusLimits) -> dict[str, str]:
    """A topic of which only what is new matters."""
    return {
        **log_config(limits, max_age_ms=10 * _MS_PER_MINUTE, is_large=True),
        "segment.bytes": str(4 * MAX_REQUEST_BYTES),
        "retention.bytes": str(32 * MAX_REQUEST_BYTES),
    }


class Broker:
    """Errors of all calls: UnavailableError, LogGoneError when there is no such topic."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._timeout_s = connection.request_s
        self.clients = Clients(connection, _WAIT_MS)
        self._marks = Marks(connection, self._timeout_s)
        self._settings = TopicSettings(connection)

    @property
    def _admin(self) -> AdminClient:
        return self.connection.admin

    async def ensure(self, topic: str, config: Mapping[str, str], *, partitions: int = 1) -> None:
        """Makes the topic if it is missing, or brings its limits up to date; it can be written to
        when this returns."""

        async def make() -> None:
            replicas = self.connection.limits.replicas
            if await self._make(NewTopic(topic, partitions, replicas, config=dict(config))):
                self._settings.made(topic, config)

        async def seen() -> None:
            if not await self._replicas(topic):
                raise UnavailableError("the topic has no leader yet", where=topic)

        replicas = await self.connection.persistently(lambda: self._replicas(topic))
        if replicas:
            await self._settings.bring_up_to_date(topic, config, replicas=replicas)
        else:
            await self.connection.persistently(make)
            await self.connection.persistently(seen)

    async def is_gone(self, topic: str) -> bool:
        """Whether there is none. The controller has the last word: of a topic that was made just
        now other brokers may not have heard, and one whose brokers are away has no leader."""
        if await self.connection.persistently(lambda: self._replicas(topic)):
            return False
        new = NewTopic(topic, 1, 1)
        return await self.connection.persistently(lambda: self._make(new, trial=True))

    async def remove(self, topic: str) -> None:
        """Idempotent; nobody finds it any more when this returns, but at a broker that is far
        behind the controller."""

        async def delete() -> None:
            controlling = self.connection.controlling
            futures = controlling.delete_topics([topic], request_timeout=self._timeout_s)
            try:
                await asyncio.wrap_future(futures[topic])
            except KafkaException as error:
                if error.args[0].code() not in GONE:
                    raise translated(error.args[0], topic) from error

        async def unseen() -> None:
            for _ in range(_LOOKS):  # each asks some broker
                if await self._replicas(topic):
                    raise UnavailableError("the topic is being removed", where=topic)
                await asyncio.sleep(_LOOK_EVERY_S)

        await self.connection.persistently(delete)
        self.clients.forget(topic)
        self._settings.forget(topic)
        await self.connection.persistently(unseen)

    async def low(self, topic: str, partition: int = 0) -> int:
        """The offset of the first record that is kept."""
        return await self._offset(topic, partition, _EARLIEST)

    async def end(self, topic: str, partition: int = 0) -> int:
        """The offset behind the last record, as its leader has it."""
        return await self._offset(topic, partition, _LATEST)

    async def bounds(self, topic: str) -> tuple[int, int]:
        """Both."""
        low, end = await asyncio.gather(self.low(topic), self.end(topic))
        return low, end

    async def since(self, topic: str, time_ms: int) -> int | None:
        """The first offset that was stored at that time or later."""
        found = await self._offset(topic, 0, OffsetSpec.for_timestamp(max(0, time_ms)))
        return None if found < 0 else found

    async def drop(self, topic: str, before: int) -> None:
        """Deletes the records in front of an offset."""

        async def delete() -> None:
            place = one(topic, before)
            futures = self._admin.delete_records([place], request_timeout=self._timeout_s)
            await self.connection.ask(futures, topic)

        await self._certainly(topic, delete)

    async def trimmed(self, topic: str) -> int:
        """The offset below which everything was trimmed, or 0; its records may be there still."""
        return await self._marks.get(topic)

    async def set_trimmed(self, topic: str, offset: int) -> None:
        """Remembers it for all."""
        await self._marks.put(topic, offset)

    async def close(self) -> None:
        """Gives back what it took."""
        await self.clients.close()
        await self._marks.close()

    async def _offset(self, topic: str, partition: int, spec: OffsetSpec) -> int:
        async def look() -> int:
            futures = self._admin.list_offsets(
                {one(topic, 0, partition): spec}, request_timeout=self._timeout_s
            )
            found = await self.connection.ask(futures, topic)
            return int(found.offset)

        return await self._certainly(topic, look)

    async def _certainly(self, topic: str, call: Callable[[], Awaitable[T]]) -> T:
        """What the call gives. A topic that was made just now is not gone because a broker has yet
        to hear of it."""

        async def attempt() -> T:
            try:
                return await call()
            except LogGoneError as error:
                if await self.is_gone(topic):
                    raise
                raise UnavailableError("a broker does not know it yet", where=topic) from error

        return await self.connection.persistently(attempt)

    async def _make(self, new: NewTopic, *, trial: bool = False) -> bool:
        """Whether there was none before, as the controller says. On trial nothing is made."""
        futures = self.connection.controlling.create_topics(
            [new], validate_only=trial, request_timeout=self._timeout_s
        )
        try:
            await asyncio.wrap_future(futures[new.topic])
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            if not trial or code != KafkaError.POLICY_VIOLATION:
                raise translated(error.args[0], new.topic) from error
        return True

    async def _replicas(self, topic: str) -> int:
        """How many each partition has at least; 0 where one has no leader, or there is no topic."""
        # Any broker can tell. The client's other call for it wants the controller.
        list_topics = self._admin.list_topics
        try:
            found = await asyncio.to_thread(list_topics, topic, timeout=_LOOK_S)
        except KafkaException as error:
            raise translated(error.args[0], topic) from error
        told = found.topics[topic]
        if told.error is not None and told.error.code() not in GONE | _NO_LEADER:
            raise translated(told.error, topic)
        partitions = told.partitions.values()
        if told.error is not None or any(each.leader < 0 for each in partitions):
            return 0
        return min((len(each.replicas) for each in partitions), default=0)
