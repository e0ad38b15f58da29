"""The simulations that pages run in this process: no more than a set number, and none for longer
than its page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lockstep.clock import Clock, SystemRandomness
from lockstep.settings import ConsoleSettings
from lockstep.simulating import Aside, Bounds, Send, Simulation, SimulationError
from lockstep.simulating.feeds import Feed

ENDS_AFTER_S: Final = 10
"""A page that is closed, or out of reach, for so long is gone, and its simulation with it."""


def bounds_of(settings: ConsoleSettings) -> Bounds:
    """What a page may ask for."""
    return Bounds(
        max_feeds=settings.simulation_max_feeds,
        max_rate_per_s=settings.simulation_max_rate_per_s,
        max_rows=settings.simulation_max_rows,
    )


class Simulations:
    """Of all pages."""

    def __init__(self) -> None:
        self._running: set[Simulation] = set()

    def begin(
        self,
        feeds: Sequence[Feed],
        send: Send,
        clock: Clock,
        settings: ConsoleSettings,
        aside: Aside = asyncio.to_thread,
    ) -> Simulation:
        """Starts one, to be ended. SimulationError when too many run. `aside`: where its batches
        are made ready, as the loop is that of all pages."""
        self._running = {one for one in self._running if not one.is_over}
        if len(self._running) >= settings.max_simulations:
            raise SimulationError(
                f"{settings.max_simulations} simulations run on this console already",
                hint="stop one, use `lockstep simulate`, or raise console.max_simulations",
            )
        made = Simulation(feeds, send, clock, SystemRandomness().uuid_hex(), aside=aside)
        self._running.add(made)
        made.start()
        return made

    async def end(self, simulation: Simulation) -> None:
        """At once; idempotent."""
        await simulation.stop_now()
        self._running.discard(simulation)

    async def close(self) -> None:
        """Ends all."""
        for one in list(self._running):
            await self.end(one)
