"""A service's own heartbeat, and the watch over everybody's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from lockstep.bus import Topics
from lockstep.clock import Clock
from lockstep.control.messages import HEARTBEATS, GroupStatus, Heartbeat, SinkStatus
from lockstep.events import Generation, UnavailableError
from lockstep.frame import Context
from lockstep.telemetry import Logger

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


@dataclass(frozen=True, slots=True)
class Heard:
    """A heartbeat and when it came, on this process's monotonic clock."""

    heartbeat: Heartbeat
    at_monotonic_ms: int


class HeartbeatWatch:
    """Listens to all heartbeats and knows who lives.

    A node counts as alive until `max_retry` of its own intervals have passed without a sign of it.
    """

    def __init__(self, topics: Topics, clock: Clock, log: Logger, *, max_retry: int) -> None:
        self._topics = topics
        self._clock = clock
        self._log = log
        self._max_retry = max_retry
        self._heard: dict[tuple[str, str], Heard] = {}

    async def run(self) -> None:
        """Listens until cancelled; UnavailableError when the bus is away."""
        subscription = await self._topics.subscribe(HEARTBEATS)
        try:
            async for _, payload in subscription:
                self._take(payload)
        finally:
            await subscription.close()

    def alive(self, service: str) -> list[Heartbeat]:
        """The last heartbeats of living nodes of a service, by node name."""
        return [heard.heartbeat for heard in self._living() if heard.heartbeat.service == service]

    def groups(self, app: str) -> list[tuple[Heartbeat, GroupStatus]]:
        """What living processors say about an app."""
        return [
            (beat, group)
            for beat in self.alive("processor")
            for group in beat.groups
            if group.app == app
        ]

    def settled(self, app: str, group: str, partition: int, state: Generation) -> int:
        """The furthest position that any living replica of the same state calls settled.

        Another deployment may have had another log of the same name; and what is settled for the
        state before a restore or an upgrade, which has no rows there, says nothing of its
        successor's.
        """
        place = (group, partition)
        found = (
            g.settled
            for _, g in self.groups(app)
            if (g.group, g.partition) == place and g.state == state
        )
        return max(found, default=0)

    def _living(self) -> Iterator[Heard]:
        now_ms = self._clock.monotonic_ms()
        for key in sorted(self._heard):
            heard = self._heard[key]
            limit_ms = heard.heartbeat.interval_ms * (self._max_retry + 1)
            if now_ms - heard.at_monotonic_ms <= limit_ms:
                yield heard

    def _take(self, payload: bytes) -> None:
        try:
            beat = msgspec.json.decode(payload, type=Heartbeat)
        except msgspec.DecodeError as error:
            self._log.warning("a heartbeat cannot be read", error=str(error))
            return
        key = (beat.service, beat.node)
        if beat.draining and not beat.groups:
            self._heard.pop(key, None)
            return
        self._heard[key] = Heard(beat, self._clock.monotonic_ms())


async def send_heartbeat(topics: Topics, beat: Heartbeat) -> None:
    """Publishes it; at most once."""
    await topics.publish(HEARTBEATS, msgspec.json.encode(beat))
