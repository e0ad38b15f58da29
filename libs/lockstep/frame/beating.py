"""Sends a service's heartbeat for as long as it runs."""

from __future__ import annotations

from collections.abc import Callable

from lockstep.events import UnavailableError
from lockstep.frame.context import Context
from lockstep.frame.control import GroupStatus, Heartbeat, SinkStatus, send_heartbeat

Groups = Callable[[], tuple[GroupStatus, ...]]
Sinks = Callable[[], tuple[SinkStatus, ...]]


class Beating:
    """`run` in a supervised task; `say` sends one out of turn, for example when a role changed."""

    def __init__(
        self,
        context: Context,
        *,
        groups: Groups = tuple,
        sinks: Sinks = tuple,
        leading: Callable[[], bool] = lambda: False,
    ) -> None:
        self._context = context
        self._groups = groups
        self._sinks = sinks
        self._leading = leading
        self._interval_ms = context.settings.coordinator.heartbeat_interval_ms
        self._draining = False

    async def run(self) -> None:
        """Until cancelled. While the bus is away nobody hears it; it goes on trying."""
        while True:
            await self.say()
            await self._context.clock.sleep_ms(self._interval_ms)

    async def say(self) -> None:
        """Sends the present state; a bus that is away is no error here."""
        context = self._context
        beat = Heartbeat(
            node=context.node,
            service=context.service,
            url=context.url(),
            sent_ms=context.clock.now_ms(),
            interval_ms=self._interval_ms,
            leading=self._leading(),
            draining=self._draining,
            groups=() if self._draining else self._groups(),
            sinks=() if self._draining else self._sinks(),
        )
        try:
            await send_heartbeat(context.world.bus.topics, beat)
        except UnavailableError as error:
            context.log.debug("heartbeat not sent", error=str(error))

    async def farewell(self) -> None:
        """Says that this service goes: others need not wait for its silence."""
        self._draining = True
        await self.say()
