"""The bus that a whole suite of processes runs on: NATS, which it brings itself, or Kafka."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from lockstep.clock import SystemClock, SystemRandomness
from tests.kafka.broker import KafkaBroker, needed_jars

BUSES = ("nats", "kafka")


@contextlib.asynccontextmanager
async def bus_settings(bus: str, directory: Path) -> AsyncIterator[dict[str, str]]:
    """LOCKSTEP_* variables that lead to a bus of this kind, which is there within the block; none
    for NATS. Ends the program where the broker's jars are missing."""
    if bus == "nats":
        yield {}
        return
    needed_jars()
    broker = KafkaBroker(directory / "kafka", clock=SystemClock(), randomness=SystemRandomness())
    await broker.start()
    try:
        yield {"LOCKSTEP_BUS__KIND": "kafka", "LOCKSTEP_BUS__URL": f"kafka://{broker.url}"}
    finally:
        await broker.stop()
