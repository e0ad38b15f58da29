"""What Kafka forgets of a group that rests for a week must not come again at the front door."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from confluent_kafka.admin import AdminClient

from lockstep.bus import BusLimits
from lockstep.bus.kafka import KafkaBus
from lockstep.clock import SystemClock, SystemRandomness
from tests.contract.bus.carriers import with_limits
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually
from tests.kafka.broker import KafkaBroker

MESSAGES = 3


class Doors:
    """Buses whose topics nobody else uses."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._prefix = f"p{uuid.uuid4().hex}"
        self._open: list[KafkaBus] = []
        self.messages = f"{self._prefix}.ingress"
        self.notes = f"{self._prefix}.ingress.notes"

    async def connect(self, limits: BusLimits) -> KafkaBus:
        """One more."""
        url = f"kafka://{self._url}?prefix={self._prefix}"
        bus = await KafkaBus.connect(url, limits, SystemClock(), SystemRandomness())
        self._open.append(bus)
        return bus

    async def forget_offsets(self) -> None:
        """As a broker does after `offsets.retention.minutes`."""
        group = f"{self._prefix}.trimmed"
        admin = AdminClient({"bootstrap.servers": self._url})
        (done,) = admin.delete_consumer_groups([group], request_timeout=PATIENCE_S).values()
        await asyncio.wrap_future(done)

    async def close(self) -> None:
        """Disconnects."""
        for bus in self._open:
            await bus.close()


@pytest.fixture
async def doors(kafka: KafkaBroker) -> AsyncIterator[Doors]:
    """On the session's broker."""
    made = Doors(kafka.url)
    yield made
    await made.close()


async def _take(bus: KafkaBus, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        for message in await bus.ingress.read(max_messages=count, wait_ms=PATIENCE_MS):
            await message.acknowledge()
            found.append(message.id)
    return found


async def _send(bus: KafkaBus, *ids: str) -> None:
    for each in ids:
        await bus.ingress.publish("Hot", "Reading", b"1", headers={"Nats-Msg-Id": each})


async def test_what_was_done_does_not_come_again_once_offsets_are_forgotten(doors: Doors) -> None:
    """Messages are kept for their ids when the notes about them are gone: a note says how far
    all of them are done."""
    limits = with_limits(dedup_window_ms=3_600_000)
    one = await doors.connect(limits)
    ids = [f"id{n}" for n in range(MESSAGES)]
    await _send(one, *ids)
    assert sorted(await _take(one, MESSAGES)) == ids
    await eventually(lambda: one._broker.low(doors.notes))
    assert await one._broker.low(doors.messages) == 0
    await one.close()
    await doors.forget_offsets()
    other = await doors.connect(limits)
    await _send(other, "id0", "new")
    assert await _take(other, 1) == ["new"]


async def test_what_is_done_is_deleted_when_its_ids_are_over(doors: Doors) -> None:
    """Also when nothing comes any more that would lead to another look."""
    bus = await doors.connect(with_limits(dedup_window_ms=5_000))
    await _send(bus, "a", "b")
    await _take(bus, 2)

    async def is_deleted() -> bool:
        return await bus._broker.low(doors.messages) == 2

    await eventually(is_deleted)
