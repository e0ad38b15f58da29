"""Opens the bus that the settings name."""

from __future__ import annotations

from lockstep.bus.contract import Bus
from lockstep.bus.kafka import KafkaBus
from lockstep.bus.limits import BusLimits
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.bus.nats import NatsBus
from lockstep.clock import Clock, Randomness
from lockstep.settings import Settings


async def open_bus(
    settings: Settings, clock: Clock, randomness: Randomness, *, name: str = "lockstep"
) -> Bus:
    """Connected. `name` shows up at the server. Errors: UnavailableError, BusRefusedError.

    A memory bus is seen by nobody but who holds it.
    """
    limits = BusLimits.of(settings)
    url = settings.bus.url.get_secret_value()
    if settings.bus.kind == "kafka":
        return await KafkaBus.connect(url, limits, clock, randomness, name=name)
    if settings.bus.kind == "nats":
        return await NatsBus.connect(url, limits, randomness, name=name)
    return MemoryBus(MemoryCarrier(clock, limits), name)
