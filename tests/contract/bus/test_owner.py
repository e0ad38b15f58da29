"""A bus bears whose it is, so that two suites do not share one by mistake."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from tests.contract.bus.carriers import Carrier, KafkaCarriers, World, with_limits


@pytest.fixture
async def apart(carrier: Carrier) -> AsyncIterator[World]:
    """Two participants on a carrier; on Kafka with topics that no other test has."""
    if isinstance(carrier, KafkaCarriers):
        carrier.url += f"?prefix={uuid.uuid4().hex}"
    yield World(carrier, await carrier.connect(), await carrier.connect())
    await carrier.close()


async def test_the_bus_is_of_the_first_suite(apart: World) -> None:
    """Until another one says in whose place it comes."""
    ours, theirs, nobody = (uuid.uuid4().hex for _ in range(3))
    before = await apart.bus.owner(ours)
    assert await apart.bus.owner(ours, instead_of=before) == ours
    assert [await each.owner(theirs) for each in (apart.bus, apart.other)] == [ours, ours]
    assert await apart.other.owner(theirs, instead_of=nobody) == ours
    assert await apart.other.owner(theirs, instead_of=ours) == theirs
    assert await apart.bus.owner(ours) == theirs
    assert await apart.bus.owner(theirs, instead_of=theirs) == theirs


async def test_processes_that_start_with_other_limits_leave_it(server: NatsServer) -> None:
    """The settings of a stream are replaced as a whole when one of them changes."""
    ours = uuid.uuid4().hex
    for max_bytes in (20_000_000, 30_000_000):
        limits = with_limits(ingress_max_bytes=max_bytes)
        bus = await NatsBus.connect(server.url, limits, SystemRandomness())
        try:
            assert await bus.owner(uuid.uuid4().hex if max_bytes > 20_000_000 else ours) == ours
        finally:
            await bus.close()
