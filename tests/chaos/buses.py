"""The three servers of the bus, NATS or Kafka: alike to whoever breaks them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import nats
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lockstep.bus import LogName
from lockstep.bus.kafka.names import topic_of
from lockstep.bus.subjects import INGRESS_STREAM, output_subject, stream_name
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import Machine, free_port
from tests.contract.bus.cluster import Cluster
from tests.kafka.broker import KafkaBroker, needed_jars

PREFIX = "lockstep"
ASK_S = 2.0


class BusServers(Protocol):
    """Three of a kind, by number."""

    kind: str

    @property
    def ports(self) -> Sequence[int]:
        """Where each listens for clients."""
        ...

    @property
    def urls(self) -> Sequence[str]:
        """The address of each, without what is common to all."""
        ...

    def url(self, urls: Sequence[str]) -> str:
        """One address of all, as the settings take it."""
        ...

    async def kill(self, *indices: int) -> None:
        """SIGKILL, reaped."""
        ...

    async def start(self, *indices: int) -> None:
        """On their own data; they listen on return."""
        ...

    def send(self, index: int, number: signal.Signals) -> None:
        """Sends a signal, for example to stop it for a while."""
        ...

    async def leader(self, log: LogName) -> int | None:
        """Which of them leads the output log."""
        ...

    async def coordinator(self) -> int | None:
        """Which of them keeps the offsets of consumer groups; None where there are no such."""
        ...

    async def waiting_at_ingress(self) -> int | None:
        """How many messages no receiver has acknowledged; None: unknown."""
        ...


@contextlib.asynccontextmanager
async def bus_servers(
    kind: str, directory: Path, machines: Sequence[Machine]
) -> AsyncIterator[BusServers]:
    """Started within the block."""
    directory.mkdir()
    if kind == "nats":
        async with Cluster(directory, machines) as cluster:
            servers = NatsServers(cluster)
            await servers.reachable(0, 1, 2)
            yield servers
        return
    needed_jars()
    controllers = [free_port() for _ in machines]
    addresses = [
        f"{machine.host}:{port}" for machine, port in zip(machines, controllers, strict=True)
    ]
    brokers = [
        KafkaBroker(
            directory / str(node),
            clock=SystemClock(),
            randomness=SystemRandomness(),
            machine=machine,
            node=node,
            controllers=addresses,
        )
        for node, machine in enumerate(machines)
    ]
    kafka = KafkaServers(brokers)
    try:
        await kafka.start(*range(len(brokers)))
        yield kafka
    finally:
        await kafka.kill(*range(len(brokers)))


class NatsServers:
    """See BusServers."""

    kind = "nats"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def ports(self) -> Sequence[int]:
        """See BusServers."""
        return self._cluster.ports

    @property
    def urls(self) -> Sequence[str]:
        """See BusServers."""
        return self._cluster.url.split(",")

    def url(self, urls: Sequence[str]) -> str:
        """See BusServers."""
        return ",".join(urls)

    async def kill(self, *indices: int) -> None:
        """See BusServers."""
        for index in set(indices) & set(self._cluster.running):
            self._cluster.kill(index)

    async def start(self, *indices: int) -> None:
        """See BusServers."""
        for index in indices:
            self._cluster.start(index)
        await self.reachable(*indices)

    async def reachable(self, *indices: int) -> None:
        """They listen on return."""
        for index in indices:
            await self._cluster.reachable(index)

    def send(self, index: int, number: signal.Signals) -> None:
        """See BusServers."""
        self._cluster.send(index, number)

    async def leader(self, log: LogName) -> int | None:
        """See BusServers."""
        found = await self._stream(stream_name(output_subject(log)))
        leader = found.get("cluster", {}).get("leader")
        return int(leader[1:]) if leader else None

    async def coordinator(self) -> int | None:
        """See BusServers."""
        return None

    async def waiting_at_ingress(self) -> int | None:
        """See BusServers."""
        found = await self._stream(INGRESS_STREAM)
        messages: int | None = found.get("state", {}).get("messages")
        return messages

    async def _stream(self, stream: str) -> dict[str, Any]:
        client = await nats.connect(list(self.urls), connect_timeout=2)
        try:
            answer = await client.request(f"$JS.API.STREAM.INFO.{stream}", timeout=2)
        except nats.errors.Error:
            return {}
        finally:
            await client.close()
        found: dict[str, Any] = json.loads(answer.data)
        return found


class KafkaServers:
    """See BusServers."""

    kind = "kafka"

    def __init__(self, brokers: Sequence[KafkaBroker]) -> None:
        self._brokers = brokers

    @property
    def ports(self) -> Sequence[int]:
        """See BusServers."""
        return [broker.port for broker in self._brokers]

    @property
    def urls(self) -> Sequence[str]:
        """See BusServers."""
        return [broker.url for broker in self._brokers]

    def url(self, urls: Sequence[str]) -> str:
        """See BusServers."""
        return f"kafka://{','.join(urls)}?prefix={PREFIX}"

    async def kill(self, *indices: int) -> None:
        """See BusServers."""
        await asyncio.gather(*(self._brokers[index].kill() for index in indices))

    async def start(self, *indices: int) -> None:
        """See BusServers."""
        await asyncio.gather(*(self._brokers[index].start() for index in indices))

    def send(self, index: int, number: signal.Signals) -> None:
        """See BusServers."""
        pid = self._brokers[index].pid
        if pid is not None:
            os.kill(pid, number)

    async def leader(self, log: LogName) -> int | None:
        """See BusServers."""
        return await asyncio.to_thread(self._leader, topic_of(PREFIX, output_subject(log)))

    async def coordinator(self) -> int | None:
        """See BusServers."""
        return await asyncio.to_thread(self._leader, "__consumer_offsets")

    async def waiting_at_ingress(self) -> int | None:
        """See BusServers."""
        return await asyncio.to_thread(self._waiting)

    def _leader(self, topic: str) -> int | None:
        admin = AdminClient({"bootstrap.servers": ",".join(self.urls), "log_level": 0})
        try:
            found = admin.list_topics(topic, timeout=ASK_S).topics[topic].partitions
        except KafkaException:
            return None
        leader = found[0].leader if found else 0
        return leader - 1 if leader > 0 else None

    def _waiting(self) -> int | None:
        """Receivers note from where on messages are needed."""
        consumer = Consumer(
            {
                "bootstrap.servers": ",".join(self.urls),
                "group.id": f"{PREFIX}.trimmed",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        place = TopicPartition(topic_of(PREFIX, INGRESS_STREAM), 0)
        try:
            (done,) = consumer.committed([place], timeout=ASK_S)
            _, end = consumer.get_watermark_offsets(place, timeout=ASK_S)
        except KafkaException:
            return None
        finally:
            consumer.close()
        return None if done.error is not None else int(end) - max(0, done.offset)
