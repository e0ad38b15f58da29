"""A service's own heartbeat, and the watch over everybody's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import msgspec

from lockstep import __version__
from lockstep.bus import Topics
from lockstep.clock import Clock
from lockstep.control.health import ConnectorHealth, some_told
from lockstep.control.messages import HEARTBEATS, GroupStatus, Heartbeat, SinkStatus
from lockstep.events import Generation, UnavailableError
from lockstep.events.typed import from_json
from lockstep.frame import Context, wait_set
from lockstep.telemetry import Logger

Groups = Callable[[], tuple[GroupStatus, ...]]
Sinks = Callable[[], tuple[SinkStatus, ...]]
Connectors = Callable[[], Iterable[ConnectorHealth]]


APART_MS: Final = 50
"""Heartbeats out of turn are at least so far apart."""
GROUPS_APART_PER_MS: Final = 2
"""And so many groups in them add one more: who hears of a thousand at a time has other work."""


class Beating:
    """`run` in a supervised task; `say` sends one out of turn, for example when a role changed."""

    def __init__(
        self,
        context: Context,
        *,
        groups: Groups = tuple,
        sinks: Sinks = tuple,
        connectors: Connectors = tuple,
        leading: Callable[[], bool] = lambda: False,
        cpu_percent: Callable[[], int] = lambda: 0,
    ) -> None:
        self._context = context
        self._groups = groups
        self._sinks = sinks
        self._connectors = connectors
        self._leading = leading
        self._interval_ms = context.settings.coordinator.heartbeat_interval_ms
        self._draining = self._gone = False
        self._said_ms: int | None = None
        self._groups_said = 0
        self._last: tuple[bytes, Heartbeat] | None = None
        self._is_due = asyncio.Event()
        self._cpu_percent = cpu_percent
        processor = context.settings.processor
        self.host = processor.host_label or socket.gethostname()
        self._zone = processor.zone
        self.incarnation = context.randomness.uuid_hex()
        self.since_ms = context.clock.now_ms()

    async def run(self) -> None:
        """Until cancelled. While the bus is away nobody hears it; it goes on trying."""
        while True:
            await self._send()
            await wait_set(self._is_due, self._context.clock, self._interval_ms)
            await self._context.clock.sleep_ms(self._too_soon_ms)

    async def say(self) -> None:
        """Sends the present state, or has `run` send it if it is too soon after the last time; a
        bus that is away is no error here."""
        if self._too_soon_ms:
            self._is_due.set()
        else:
            await self._send()

    @property
    def _too_soon_ms(self) -> int:
        """A thousand apps that find a leader at a time say so in some ten heartbeats."""
        if self._said_ms is None:
            return 0
        apart_ms = APART_MS + self._groups_said // GROUPS_APART_PER_MS
        return max(0, self._said_ms + apart_ms - self._context.clock.monotonic_ms())

    async def _send(self) -> None:
        context = self._context
        self._is_due.clear()
        self._said_ms = context.clock.monotonic_ms()
        footprint = context.footprint()
        beat = Heartbeat(
            node=context.node,
            service=context.service,
            url=context.url(),
            sent_ms=context.clock.now_ms(),
            interval_ms=self._interval_ms,
            leading=self._leading(),
            draining=self._draining,
            groups=() if self._gone else self._groups(),
            sinks=() if self._gone else self._sinks(),
            incarnation=self.incarnation,
            since_ms=self.since_ms,
            host=self.host,
            zone=self._zone,
            cpu_percent=self._cpu_percent(),
            version=__version__,
            process_cpu_percent=footprint.cpu_percent,
            resident_bytes=footprint.resident_bytes,
            connectors=() if self._gone else some_told(self._connectors()),
            knows_numbers=True,
        )
        self._groups_said = len(beat.groups) + len(beat.sinks) + len(beat.connectors)
        payload = msgspec.json.encode(beat)
        self._last = payload, beat
        try:
            await context.world.bus.topics.publish(HEARTBEATS, payload)
        except UnavailableError as error:
            context.log.debug("heartbeat not sent", error=str(error))

    def said(self, payload: bytes) -> Heartbeat | None:
        """What this process has said last, if these are its bytes: whoever has told of a thousand
        apps need not read them again."""
        return self._last[1] if self._last is not None and self._last[0] == payload else None

    async def leave(self) -> None:
        """Says that this service is about to go, with what it still carries."""
        self._draining = True
        await self.say()

    async def farewell(self) -> None:
        """Says that this service goes: others need not wait for its silence."""
        self._draining = self._gone = True
        await self._send()


@dataclass(frozen=True, slots=True)
class Heard:
    """A heartbeat and when it came, on this process's monotonic clock. `apps`: of its groups, in
    their order; `places`: where an app's groups stand among them."""

    heartbeat: Heartbeat
    at_monotonic_ms: int
    apps: list[str]
    places: dict[str, list[int]]

    @classmethod
    def of(cls, heartbeat: Heartbeat, at_monotonic_ms: int, before: Heard | None = None) -> Heard:
        """With its groups to look up. `before`: the same node's last one. As a rule both tell of
        the same apps, and a thousand lists a second would keep the garbage collector busy."""
        apps = [group.app for group in heartbeat.groups]
        if before is not None and apps == before.apps:
            return cls(heartbeat, at_monotonic_ms, before.apps, before.places)
        places: dict[str, list[int]] = {}
        for place, app in enumerate(apps):
            places.setdefault(app, []).append(place)
        return cls(heartbeat, at_monotonic_ms, apps, places)

    def groups(self, app: str) -> list[GroupStatus]:
        """Those of an app."""
        return [self.heartbeat.groups[place] for place in self.places.get(app, ())]


class HeartbeatWatch:
    """Listens to all heartbeats and knows who lives.

    A node counts as alive until `max_retry` of its own intervals have passed without a sign of it.
    """

    def __init__(
        self,
        topics: Topics,
        clock: Clock,
        log: Logger,
        *,
        max_retry: int,
        on_beat: Callable[[Heartbeat], None] = lambda _: None,
        said: Callable[[bytes], Heartbeat | None] = lambda _: None,
    ) -> None:
        """`on_beat` is told each heartbeat, a farewell too. `said`: see `Beating.said`, where this
        process sends large ones itself."""
        self._on_beat = on_beat
        self._said = said
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

    def heard(self, service: str, node: str) -> Heartbeat | None:
        """The last heartbeat of a node, however long ago; None after its farewell."""
        heard = self._heard.get((service, node))
        return None if heard is None else heard.heartbeat

    def groups(self, app: str) -> list[tuple[Heartbeat, GroupStatus]]:
        """What living processors say about an app."""
        return [
            (heard.heartbeat, group)
            for heard in self._living()
            if heard.heartbeat.service == "processor"
            for group in heard.groups(app)
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
        for heard in self._heard.values():
            limit_ms = heard.heartbeat.interval_ms * (self._max_retry + 1)
            if now_ms - heard.at_monotonic_ms <= limit_ms:
                yield heard

    def _take(self, payload: bytes) -> None:
        try:
            beat = self._said(payload) or from_json(payload, Heartbeat)
        except msgspec.DecodeError as error:
            self._log.warning("a heartbeat cannot be read", error=str(error))
            return
        self._on_beat(beat)
        key = (beat.service, beat.node)
        if beat.draining and not beat.groups:
            self._heard.pop(key, None)
            return
        before = self._heard.get(key)
        heard = Heard.of(beat, self._clock.monotonic_ms(), before)
        if before is None:
            self._heard = dict(sorted([*self._heard.items(), (key, heard)], key=itemgetter(0)))
        self._heard[key] = heard


async def send_heartbeat(topics: Topics, beat: Heartbeat) -> None:
    """Publishes it; at most once."""
    await topics.publish(HEARTBEATS, msgspec.json.encode(beat))
