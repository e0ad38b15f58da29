"""One Kafka broker for all tests of a worker, and one that may be killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from tests.kafka.broker import KafkaBroker, absent_jars
from tests.needed import lacking


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Tests choose topics of their own."""
    broker = _broker(tmp_path_factory.mktemp("kafka"))
    asyncio.run(broker.start())
    yield broker
    asyncio.run(broker.kill())


@pytest.fixture
async def mortal(tmp_path: Path) -> AsyncIterator[KafkaBroker]:
    """The test's own."""
    broker = _broker(tmp_path / "kafka")
    await broker.start()
    yield broker
    await broker.kill()


def _broker(directory: Path) -> KafkaBroker:
    if absent_jars():
        lacking("no jars of Kafka's broker: scripts/kafka fetches them from Maven Central")
    return KafkaBroker(directory, clock=SystemClock(), randomness=SystemRandomness())
