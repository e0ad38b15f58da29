"""A Kafka broker that may be killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.kafka.broker import KafkaBroker, start_broker


@pytest.fixture
async def mortal(tmp_path: Path) -> AsyncIterator[KafkaBroker]:
    """The test's own."""
    broker = await start_broker(tmp_path / "kafka")
    yield broker
    await broker.kill()
