"""The world as the settings describe it: bus, leases and store, opened and closed together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from lockstep.bus import Bus
from lockstep.bus.opening import open_bus
from lockstep.clock import Clock, Randomness
from lockstep.events import UnavailableError
from lockstep.leader import Leases
from lockstep.leader.opening import open_leases
from lockstep.settings import Settings
from lockstep.store import Store
from lockstep.store.opening import open_store
from lockstep.telemetry import get_logger

T = TypeVar("T")

OPENING_LIMIT_MS: Final = 60_000
PAUSE_MS: Final = 500


@dataclass(frozen=True)
class World:
    """Open connections of a process, shared by its services."""

    bus: Bus
    leases: Leases
    store: Store

    async def close(self) -> None:
        """Closes all; idempotent."""
        await self.bus.close()
        await self.leases.close()
        await self.store.close()


async def open_world(
    settings: Settings, clock: Clock, randomness: Randomness, *, name: str = "lockstep"
) -> World:
    """Connects to everything; a server that is away is waited for, for a minute.

    `name` shows up at the servers. Raises UnavailableError when the time is up.
    """
    deadline_ms = clock.monotonic_ms() + OPENING_LIMIT_MS

    async def opened(what: str, opening: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await opening()
            except UnavailableError as error:
                if clock.monotonic_ms() >= deadline_ms:
                    raise
                get_logger().warning("waiting for a server", server=what, error=str(error))
                await clock.sleep_ms(PAUSE_MS)

    bus = await opened("bus", lambda: open_bus(settings, clock, randomness, name=name))
    leases = open_leases(settings.leader, clock, randomness)
    store = await opened("store", lambda: open_store(settings))
    return World(bus, leases, store)
