"""The world as the settings describe it: bus, leases and store, opened and closed together."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from lockstep.bus import Bus
from lockstep.bus.opening import open_bus
from lockstep.bus.proof import Proofs
from lockstep.bus.proven import Strangers, proven
from lockstep.clock import Clock, Randomness
from lockstep.frame.suite import claim_bus, suite_id
from lockstep.frame.waiting import once_there
from lockstep.leader import Leases
from lockstep.leader.opening import open_leases
from lockstep.settings import Settings
from lockstep.store import Store
from lockstep.store.opening import open_store


@dataclass(frozen=True)
class World:
    """Open connections of a process, shared by its services."""

    bus: Bus
    leases: Leases
    store: Store
    strangers: Strangers | None = None
    """Who sent control messages without proof."""
    suite: str = ""
    """The id of the suite; empty where it has none (`lockstep.frame.suite`)."""

    async def close(self) -> None:
        """Closes all; idempotent."""
        await self.bus.close()
        await self.leases.close()
        await self.store.close()


async def open_world(
    settings: Settings, clock: Clock, randomness: Randomness, *, name: str = "lockstep"
) -> World:
    """Connects to everything; a server that is away is waited for, for a minute.

    `name` shows up at the servers. Raises UnavailableError when the time is up. What was open by
    then, or when it is cancelled, is closed. OtherSuiteError: the bus is another suite's.
    """
    cluster, strangers = settings.cluster, Strangers(clock)
    proofs = Proofs(
        [cluster.secret.get_secret_value(), cluster.second_secret.get_secret_value()],
        clock,
        cluster.proof_max_age_ms,
        hears_unproven=cluster.accept_unproven,
    )
    async with contextlib.AsyncExitStack() as opened:
        connected = await once_there(
            "bus", lambda: open_bus(settings, clock, randomness, name=name), clock
        )
        opened.push_async_callback(connected.close)
        leases = open_leases(settings.leader, clock, randomness)
        opened.push_async_callback(leases.close)
        store = await once_there("store", lambda: open_store(settings), clock)
        opened.push_async_callback(store.close)
        suite = await once_there("store", lambda: suite_id(store, settings, randomness), clock)
        if suite:
            await once_there("bus", lambda: claim_bus(connected, suite, settings), clock)
        opened.pop_all()
    return World(proven(connected, proofs, strangers), leases, store, strangers, suite)
