"""Every test of the bus's suite runs on every carrier."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.bus.carriers import (
    Carrier,
    KafkaCarriers,
    MemoryCarriers,
    NatsCarriers,
    World,
)

NATS = [
    pytest.param("nats", marks=pytest.mark.servers),
    pytest.param("nats, resting", marks=pytest.mark.servers),
]


@pytest.fixture(params=["memory", *NATS, "kafka"])
def carrier(request: pytest.FixtureRequest) -> Carrier:
    """A carrier; its server, if it has one, is started outside of the test's event loop."""
    if request.param == "kafka":
        return KafkaCarriers(f"kafka://{request.getfixturevalue('kafka').url}")
    if request.param != "memory":
        resting = request.param == "nats, resting"
        return NatsCarriers(request.getfixturevalue("servers"), resting=resting)
    return MemoryCarriers()


@pytest.fixture
async def world(carrier: Carrier) -> AsyncIterator[World]:
    """Two participants on a carrier."""
    yield World(carrier, await carrier.connect(), await carrier.connect())
    await carrier.close()
