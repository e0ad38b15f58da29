"""Every test of the leases' suite runs on every lease server."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.leader import Leases
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.leader.redis import RedisLeases
from tests.contract.patience import PATIENCE_MS


@dataclass
class Competition:
    """Two participants and a resource that nobody else wants."""

    one: Leases
    two: Leases
    resource: str


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.servers)])
def participant(request: pytest.FixtureRequest) -> Callable[[], Leases]:
    """Connects one more participant."""
    clock, randomness = SystemClock(), SystemRandomness()
    if request.param == "redis":
        url = request.getfixturevalue("servers").redis_url
        return lambda: RedisLeases(url, clock, randomness, timeout_ms=PATIENCE_MS)
    table = LeaseTable(clock)
    return lambda: MemoryLeases(table, clock, randomness)


@pytest.fixture
async def competition(participant: Callable[[], Leases]) -> AsyncIterator[Competition]:
    """Two participants."""
    one, two = participant(), participant()
    yield Competition(one, two, f"r {uuid.uuid4().hex}")
    await one.close()
    await two.close()
