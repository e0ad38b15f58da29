"""The carriers that the bus's suite runs on: how to connect to each, and to cut the connection."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Any, Protocol

from lockstep.bus import Bus, BusLimits, LogName
from lockstep.bus.kafka import KafkaBus
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import EmbeddedServers
from lockstep.events import EventsRecord, InputEvent, OutputId, OutputRecord, OutputRow

# Times that no busy machine reaches; a test that waits for one sets its own.
LIMITS = BusLimits(
    max_log_bytes=20_000_000,
    dead_letters_max_bytes=20_000_000,
    ingress_max_bytes=20_000_000,
    ingress_redelivery_ms=600_000,
    connect_timeout_ms=30_000,
    publish_timeout_ms=30_000,
)


class Carrier(Protocol):
    """Gives out any number of connected buses, as different processes would have them."""

    async def connect(self, limits: BusLimits = LIMITS) -> Bus:
        """One more participant."""

    async def close(self) -> None:
        """Closes what was connected."""


class MemoryCarriers:
    """Buses on one memory carrier."""

    def __init__(self) -> None:
        self._carrier = MemoryCarrier(SystemClock(), LIMITS)

    async def connect(self, limits: BusLimits = LIMITS) -> Bus:
        """One more view of the same carrier."""
        self._carrier.limits = limits
        return MemoryBus(self._carrier, uuid.uuid4().hex)

    async def close(self) -> None:
        """Nothing to close."""


class NatsCarriers:
    """Connections to one NATS server; `resting`: its readers rest whenever nothing has come."""

    def __init__(self, servers: EmbeddedServers, *, resting: bool = False) -> None:
        self._servers = servers
        self._resting = resting
        self._open: list[Bus] = []

    async def connect(self, limits: BusLimits = LIMITS) -> Bus:
        """One more connection."""
        if self._resting:
            limits = replace(limits, quiet_after_ms=0)
        bus = await NatsBus.connect(self._servers.nats_url, limits, SystemRandomness())
        self._open.append(bus)
        return bus

    async def close(self) -> None:
        """Disconnects."""
        for bus in self._open:
            await bus.close()


class KafkaCarriers:
    """Connections to Kafka; the tests of one session share its topics, as those of a server."""

    def __init__(self, url: str, replicas: int = 1) -> None:
        self.url = url
        self._replicas = replicas
        self._open: list[Bus] = []

    async def connect(self, limits: BusLimits = LIMITS) -> Bus:
        """One more connection."""
        limits = replace(limits, replicas=self._replicas)
        bus = await KafkaBus.connect(self.url, limits, SystemClock(), SystemRandomness())
        self._open.append(bus)
        return bus

    async def close(self) -> None:
        """Disconnects."""
        for bus in self._open:
            await bus.close()


@dataclass
class World:
    """A carrier and two participants on it."""

    carrier: Carrier
    bus: Bus
    other: Bus


def fresh_log() -> LogName:
    """A log nobody else uses; the name tries the escaping, too."""
    return LogName(f"app.{uuid.uuid4().hex} ü>*", "g/1", 3)


def one_event(value: object, *, stream: str = "S", clock_ms: int = 7) -> EventsRecord:
    """A record of one event with one value."""
    return EventsRecord(stream, clock_ms, ((InputEvent(clock_ms, (value,)),),))


def rows(epoch: int, first: int, count: int = 1, value: object = 1.5) -> OutputRecord:
    """Output rows at consecutive positions."""
    made = [OutputRow(OutputId(first + i, 0), "Out", 5, (value,)) for i in range(count)]
    return OutputRecord(epoch, tuple(made))


def with_limits(**changes: Any) -> BusLimits:
    """The suite's limits with some changed."""
    return replace(LIMITS, **changes)
