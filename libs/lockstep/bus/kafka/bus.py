"""The Kafka bus: one producer, one topic per log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final
from weakref import WeakSet

from lockstep.bus.contract import InputLog, LogName, Mailbox, OutputLog
from lockstep.bus.errors import LogGoneError
from lockstep.bus.in_flight import InFlight
from lockstep.bus.kafka.address import parse_address
from lockstep.bus.kafka.broker import Broker, live_config, log_config
from lockstep.bus.kafka.connection import Connection
from lockstep.bus.kafka.dead_letters import KafkaDeadLetters
from lockstep.bus.kafka.ingress import KafkaIngress
from lockstep.bus.kafka.input_log import KafkaInputLog
from lockstep.bus.kafka.ledger import World
from lockstep.bus.kafka.names import subject_of, topic_of
from lockstep.bus.kafka.output_log import KafkaOutputLog
from lockstep.bus.kafka.spot import Spot
from lockstep.bus.kafka.topics import KafkaTopics
from lockstep.bus.limits import BusLimits
from lockstep.bus.subjects import input_subject, log_names, log_patterns, output_subject
from lockstep.clock import Clock, Randomness
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

_OWNER: Final = "suite."
"""A topic's name says whose bus it is: it holds nothing."""


class KafkaBus:
    """See `lockstep.bus.Bus`. Use `connect`."""

    def __init__(self, connection: Connection, clock: Clock, randomness: Randomness) -> None:
        self._connection = connection
        self._broker = Broker(connection)
        self._spot = Spot(self._broker)
        self._prefix = connection.address.prefix
        limits = connection.limits
        in_flight = InFlight(
            limits.max_pending_publishes, limits.max_pending_bytes, limits.publish_timeout_ms
        )
        writer = randomness.uuid_hex()[:16].encode()
        self._world = World(self._broker, self._spot, clock, in_flight, writer)
        self._logs: WeakSet[KafkaInputLog | KafkaOutputLog] = WeakSet()
        self._closed = False
        self.dead_letters = KafkaDeadLetters(self._world)
        self.ingress = KafkaIngress(self._world)
        self.topics = KafkaTopics(self._world, self.ingress)

    @classmethod
    async def connect(
        cls,
        url: str,
        limits: BusLimits,
        clock: Clock,
        randomness: Randomness,
        *,
        name: str = "lockstep",
    ) -> KafkaBus:
        """Connected, the shared topics made. Errors: UnavailableError, BusRefusedError."""
        connection = await Connection.open(parse_address(url), limits, name)
        bus = cls(connection, clock, randomness)
        try:
            await asyncio.gather(bus.dead_letters.make(), bus.ingress.make(), bus.topics.make())
        except BaseException:
            await bus.close()
            raise
        return bus

    async def input_log(self, name: LogName, *, make: bool = True) -> InputLog:
        subject = input_subject(name)
        topic = topic_of(self._prefix, subject)
        if make:
            limits = self._connection.limits
            age_ms = limits.max_log_age_ms if limits.input_logs_age else None
            config = log_config(limits, max_age_ms=age_ms)
            await self._broker.ensure(topic, config)
        elif await self._broker.is_gone(topic):
            raise LogGoneError(subject)
        log = KafkaInputLog(self._world, topic, subject)
        self._logs.add(log)
        return log

    async def output_log(self, name: LogName, *, make: bool = True) -> OutputLog:
        subject = output_subject(name)
        topic = topic_of(self._prefix, subject)
        if make:
            await self._broker.ensure(topic, log_config(self._connection.limits, max_age_ms=None))
        elif await self._broker.is_gone(topic):
            raise LogGoneError(subject)
        log = KafkaOutputLog(self._broker, self._spot, topic, subject)
        self._logs.add(log)
        return log

    async def logs(self, app: str | None, *, inputs: bool = False) -> Sequence[LogName]:
        patterns = log_patterns(app, inputs=inputs)
        begins = tuple(topic_of(self._prefix, each.removesuffix(">")) for each in patterns)
        topics = await self._connection.persistently(self._connection.topics)
        return log_names(
            subject_of(self._prefix, each) for each in topics if each.startswith(begins)
        )

    async def remove_logs(self, name: LogName) -> None:
        topics = [topic_of(self._prefix, of(name)) for of in (input_subject, output_subject)]
        await asyncio.gather(*(self._broker.remove(topic) for topic in topics))

    async def mailbox(self, pattern: str, name: str) -> Mailbox:
        return await self.topics.open_mailbox(pattern, name)

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        begin = topic_of(self._prefix, _OWNER)
        topics = await self._connection.persistently(self._connection.topics)
        found = {each.removeprefix(begin) for each in topics if each.startswith(begin)}
        others = found - {suite, instead_of}
        if not others and suite not in found:
            try:
                await self._broker.ensure(f"{begin}{suite}", live_config(self._connection.limits))
            except UnavailableError as error:  # brokers that are away, or no right to
                get_logger().warning("it is not noted whose bus this is", error=str(error))
        if not others and instead_of in found - {suite}:
            await self._broker.remove(f"{begin}{instead_of}")
        return min(others, default=suite)

    async def healthy(self) -> bool:
        return not self._closed and await self._connection.healthy()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(
            self.ingress.close(),
            self.topics.close(),
            self.dead_letters.close(),
            self._spot.close(),
            *(log.close() for log in list(self._logs)),
        )
        await self._broker.close()
        await self._connection.close()
