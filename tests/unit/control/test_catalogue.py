"""How often the catalogue reads all that is deployed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.control import Catalogue
from lockstep.control.messages import DEPLOYMENTS_CHANGED
from lockstep.frame import Tasks
from lockstep.plan import Plans
from lockstep.telemetry import get_logger

T = TypeVar("T")


class Here:
    """Runs work at once."""

    async def run(self, work: Callable[[], T]) -> T:
        """See Offload."""
        return work()


class SlowStore:
    """Reading all deployments takes so long; there are none."""

    def __init__(self, clock: VirtualClock, takes_ms: int) -> None:
        self._clock = clock
        self._takes_ms = takes_ms
        self.reads = 0

    async def list(self) -> list[Any]:
        """Counted."""
        self.reads += 1
        await self._clock.sleep_ms(self._takes_ms)
        return []

    async def placements(self) -> dict[str, Any]:
        """None."""
        return {}


@pytest.mark.parametrize(
    ("takes_ms", "fewest", "most"), [(1, 150, 210), (50, 8, 12), (1_000, 1, 2)]
)
async def test_reading_leaves_time_for_other_work(takes_ms: int, fewest: int, most: int) -> None:
    """Deployments come a hundred times a second: reading all of them for each would take all of the
    time when they are many."""
    clock = VirtualClock()
    bus, store = MemoryBus(MemoryCarrier(clock)), SlowStore(clock, takes_ms)
    deployments: Any = store
    offload: Any = Here()
    catalogue = Catalogue(
        deployments, bus.topics, clock, get_logger(), offload, Plans(), poll_ms=60_000
    )
    tasks = Tasks(clock, get_logger())
    catalogue.start(tasks)
    await clock.advance_ms(10)
    for _ in range(200):
        await bus.topics.publish(DEPLOYMENTS_CHANGED, b"")
        await clock.advance_ms(10)
    assert fewest <= store.reads <= most
    await asyncio.wait_for(tasks.stop_all(), 30)
