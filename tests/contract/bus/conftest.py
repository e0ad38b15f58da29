"""Every test of the bus's suite runs on every carrier."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from tests.contract.bus.carriers import (
    Carrier,
    KafkaCarriers,
    MemoryCarriers,
    NatsCarriers,
    World,
)

HAS_THREE = os.environ.get("KAFKA_BROKERS") == "3"
"""Three brokers take minutes more, so they run when that is asked for."""

KAFKA = ["kafka", "kafka-cluster"] if HAS_THREE else ["kafka"]
collect_ignore = [] if HAS_THREE else ["test_kafka_cluster.py"]

NATS = [
    pytest.param("nats", marks=pytest.mark.servers),
    pytest.param("nats, resting", marks=pytest.mark.servers),
]


@pytest.fixture(params=["memory", *NATS, *KAFKA])
def carrier(request: pytest.FixtureRequest) -> Carrier:
    """A carrier; its server, if it has one, is started outside of the test's event loop."""
    if request.param == "memory":
        return MemoryCarriers()
    if request.param == "kafka-cluster":
        return KafkaCarriers(f"kafka://{request.getfixturevalue('kafka_cluster')}", replicas=3)
    if request.param == "kafka":
        return KafkaCarriers(f"kafka://{request.getfixturevalue('kafka').url}")
    resting = request.param == "nats, resting"
    return NatsCarriers(request.getfixturevalue("servers"), resting=resting)


@pytest.fixture
async def world(carrier: Carrier) -> AsyncIterator[World]:
    """Two participants on a carrier."""
    yield World(carrier, await carrier.connect(), await carrier.connect())
    await carrier.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """A NATS server of the test's own, to be killed at will."""
    nats = NatsServer(
        tmp_path, clock=SystemClock(), randomness=SystemRandomness(), sync_interval="2m"
    )
    await nats.start()
    yield nats
    await nats.stop()
