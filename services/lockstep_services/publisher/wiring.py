"""Builds the publisher from its context: per app a lease, per sink a pump, per log a trimmer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Final

from lockstep.archive.place import place_of_settings
from lockstep.bus import BusLimits, ForeignServers
from lockstep.control import (
    AnswerTeller,
    AppView,
    Beating,
    Catalogue,
    ConnectorHealth,
    ConnectorState,
    HeartbeatWatch,
    SinkStatus,
    archived,
    sink_element,
)
from lockstep.control.health import MAX_TEXT
from lockstep.databases import read_datasources
from lockstep.databases.postgres.connections import Connections
from lockstep.frame import Context, LeaseKeeper, Offload, Service, SharedThreads
from lockstep.frame.closing import close_own_files
from lockstep.secrets import Vault
from lockstep_services.publisher.again import Again
from lockstep_services.publisher.archive.archiver import Archiver
from lockstep_services.publisher.archive.erasing import Erasing
from lockstep_services.publisher.archive.following import Following
from lockstep_services.publisher.batch.build import scheduler_of
from lockstep_services.publisher.batch.scheduler import Scheduler
from lockstep_services.publisher.build import Answering, Refused, SinkFactory
from lockstep_services.publisher.fleet_trimming import FleetTrimmer
from lockstep_services.publisher.pump import Pump
from lockstep_services.publisher.sharing import SharedReads
from lockstep_services.publisher.sinks.service import Receivers
from lockstep_services.publisher.trimming import Trimmer

ARCHIVE_THREADS: Final = 4
"""That write the archives of all apps; each app has one of them at a time."""


@dataclass
class _AppDelivery:
    view: AppView
    keeper: LeaseKeeper
    secrets: bytes
    since_ms: int
    pumps: list[Pump] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    trimmer: Trimmer | FleetTrimmer = field(init=False)
    reads: SharedReads | None = None
    """Of the app's own output log; a fleet's sinks read each for itself."""
    archiver: Archiver | None = None

    @property
    def log_end(self) -> int:
        """The last sequence of its output log, as the trimmer or a sink saw it; of a fleet, the
        last position of its input log."""
        return max(self.trimmer.log_end, 0 if self.reads is None else self.reads.end)

    def statuses(self) -> list[SinkStatus]:
        """Of its sinks. While one is away, paused or cannot be set up, the log's end is looked at
        although nothing else may move."""
        found = [pump.status(self.log_end) for pump in self.pumps]
        is_held_up = any(one.trouble is not None for one in found)
        if is_held_up or self.refused or any(pump.is_paused for pump in self.pumps):
            self.trimmer.pauses.need()
        return found

    def delivered(self) -> list[int] | None:
        """How far each sink has come; None while one is not open, or another publisher delivers.

        What a sink that cannot be set up shall get is kept until somebody has mended it, and what
        one shall get that is paused until it has it.
        """
        if not self.keeper.held or self.refused:
            return None
        if not all(one.is_open or _is_paused(one) for one in self._followers):
            return None
        return [one.cursor for one in self._followers]

    @property
    def _followers(self) -> list[Pump | Following]:
        """Who reads the output log."""
        return [*self.pumps, *(() if self.archiver is None else (self.archiver.output,))]

    def heed(self, catalogue: Catalogue) -> None:
        """Of its sinks those go on that nobody has paused."""
        app = self.view.name
        for pump in self.pumps:
            element = sink_element(pump.sink.binding.name)
            pump.pause(paused=catalogue.pause(app, element) is not None)

    def healths(self) -> list[ConnectorHealth]:
        """How its sinks are doing."""
        return [
            *(pump.health() for pump in self.pumps),
            *(_of_refused(one, self.since_ms) for one in self.refused),
        ]

    @property
    def task_names(self) -> list[str]:
        app = self.view.name
        pumps = [f"pump-{pump.sink.binding.key}" for pump in self.pumps]
        archiving = () if self.archiver is None else self.archiver.tasks
        return [
            *pumps,
            *archiving,
            f"archive-erase-{app}",
            f"trim-{app}",
            f"again-{app}",
            f"lease-{app}",
        ]


def _is_paused(follower: Pump | Following) -> bool:
    return isinstance(follower, Pump) and follower.is_paused


def _of_refused(one: Refused, since_ms: int) -> ConnectorHealth:
    element, why = sink_element(one.binding.name), str(one.error)[:MAX_TEXT]
    return ConnectorHealth(
        one.binding.app, element, ConnectorState.FAILED, since_ms, why, why, since_ms
    )


class Publisher:
    """All apps' deliveries; `connect` opens the way to a database."""

    needs: ClassVar = frozenset({"bus"})

    def __init__(self, context: Context, connect: Callable[..., Connections] = Connections) -> None:
        settings = context.settings
        self._context = context
        self._watch = HeartbeatWatch(
            context.world.bus.topics, context.clock, context.log,
            max_retry=settings.coordinator.heartbeat_max_retry,
        )  # fmt: skip
        self._catalogue = Catalogue.of(context, heeds_pauses=True)
        self._teller = AnswerTeller(context.world.bus.topics)
        self._factory = SinkFactory(
            context.world.store.cursors,
            context.world.bus.topics,
            context.log,
            datasources=read_datasources(settings.datasources.file),
            default_dsn=settings.store.postgres_dsn.get_secret_value(),
            max_connections=settings.store.pool_max_connections,
            statement_timeout_ms=settings.store.statement_timeout_ms,
            vault=Vault(settings.secrets.folder),
            clock=context.clock,
            connect=connect,
            foreign=ForeignServers(BusLimits.of(settings), context.randomness, context.node),
            answering=Answering(
                context.world.bus.ingress,
                self._teller,
                _receivers_of(context, self._watch),
                settings.bus.max_message_bytes,
            ),
        )
        self._deliveries: dict[str, _AppDelivery] = {}
        self._place = place_of_settings(settings.archive)
        self._threads = SharedThreads(ARCHIVE_THREADS)
        self._scheduler: Scheduler | None = None
        context.metrics.look(self._show)
        self._beating = Beating(context, sinks=self.statuses, connectors=self.healths)

    async def start(self) -> None:
        """Knows the apps, then delivers."""
        await self._catalogue.refresh()
        await self._follow_catalogue()
        tasks = self._context.tasks
        self._catalogue.start(tasks)
        tasks.supervise("deliveries", self._follow)
        tasks.supervise("heartbeat", self._beating.run)
        tasks.supervise("heartbeats", self._watch.run)
        if self._place is not None:
            offload = self._threads.offload("batch")
            self._scheduler = scheduler_of(
                self._context, self._place, offload, self._receivers, self._factory.sink_of
            )

    async def drain(self) -> None:
        """Deliveries end with their task; what they began repeats harmlessly elsewhere."""

    async def stop(self) -> None:
        """Gives the leases back, so that another publisher goes on at once."""
        for delivery in self._deliveries.values():
            await delivery.keeper.release()
        if self._scheduler is not None:
            await self._scheduler.stop()
        await self._beating.farewell()
        await self._teller.close()
        await self._factory.close()

    def statuses(self) -> tuple[SinkStatus, ...]:
        """The sinks that this publisher delivers to now, and those it cannot set up."""
        found = []
        for delivery in self._deliveries.values():
            if not delivery.keeper.held:
                continue
            found += delivery.statuses()
            if delivery.archiver is not None:
                found += delivery.archiver.statuses
            found += [
                SinkStatus(one.binding.app, one.binding.name, 0, delivery.log_end, str(one.error))
                for one in delivery.refused
            ]
        return tuple(found)

    def healths(self) -> list[ConnectorHealth]:
        """Of the same sinks."""
        held = (one for one in self._deliveries.values() if one.keeper.held)
        return [health for delivery in held for health in delivery.healths()]

    def _show(self) -> None:
        """Gauges, looked up when somebody asks."""
        metrics = self._context.metrics
        metrics.clear("lockstep_publisher_paused")
        for one in self.healths():
            is_paused = one.state is ConnectorState.PAUSED
            name = one.element.partition(":")[2]
            metrics.set("lockstep_publisher_paused", is_paused, app=one.app, sink=name)
        metrics.clear("lockstep_publisher_behind_records")
        metrics.clear("lockstep_publisher_trouble")
        for status in self.statuses():
            sink = {"app": status.app, "sink": status.sink}
            behind = max(0, status.log_end - status.sequence)
            metrics.set("lockstep_publisher_behind_records", behind, **sink)
            metrics.set("lockstep_publisher_trouble", status.trouble is not None, **sink)

    def _is_delivered_elsewhere(self, app: str) -> bool:
        """Whether another publisher says so: it has the lease, as it reaches the lease server."""
        return any(
            sink.app == app
            for beat in self._watch.alive("publisher")
            if beat.node != self._context.node
            for sink in beat.sinks
        )

    def _receivers(self) -> list[str]:
        """Where events can be sent to."""
        return [beat.url for beat in self._watch.alive("receiver")]

    async def _follow(self) -> None:
        await self._catalogue.follow(self._follow_catalogue)

    async def _follow_catalogue(self) -> None:
        views = {view.name: view for view in self._catalogue.views}
        for app, delivery in list(self._deliveries.items()):
            if (
                app not in views
                or not views[app].is_same_app(delivery.view.deployment)
                or views[app].deployment.sinks != delivery.view.deployment.sinks
                or self._factory.secrets_of(views[app]) != delivery.secrets
            ):
                await self._end(delivery)
                del self._deliveries[app]
        for app, view in views.items():
            if app not in self._deliveries:
                self._deliveries[app] = self._begin(view)
            self._deliveries[app].heed(self._catalogue)

    def _begin(self, view: AppView) -> _AppDelivery:
        context = self._context
        keeper = LeaseKeeper(
            context.leases, context.holders, f"publisher/{view.name}", context.clock,
            context.settings.leader, context.metrics, context.log,
            outlives=lambda: not self._is_delivered_elsewhere(view.name),
        )  # fmt: skip
        delivery = _AppDelivery(
            view, keeper, self._factory.secrets_of(view), context.clock.now_ms()
        )
        opens = partial(context.world.bus.output_log, view.log, make=False)
        if view.fleet is None:
            delivery.reads = SharedReads(opens, context.clock)
        source = delivery.reads or view
        for sink in self._factory.sinks_of(view):
            if isinstance(sink, Refused):
                context.log.error("sink refused", sink=sink.binding.key, error=str(sink.error))
                delivery.refused.append(sink)
                continue
            pump = Pump(
                sink, context.world.bus, keeper, context.clock, context.settings.publisher,
                context.metrics, context.log, context.node, source, context.traces,
            )  # fmt: skip
            delivery.pumps.append(pump)
            context.tasks.supervise(f"pump-{sink.binding.key}", pump.run)
        context.tasks.supervise(f"lease-{view.name}", keeper.run)
        again = Again(view.name, context.world.bus, keeper, delivery.pumps)
        context.tasks.supervise(f"again-{view.name}", again.run)
        offload = self._threads.offload("archive")
        delivery.archiver = self._archiver(view, keeper, offload)
        if self._place is not None:
            erasing = Erasing(view.name, self._place, offload, context)
            context.tasks.supervise(f"archive-erase-{view.name}", partial(erasing.answer, keeper))
        if delivery.archiver is not None:
            for name, work in delivery.archiver.tasks.items():
                context.tasks.supervise(name, work)
        delivery.trimmer = self._trimmer(view, delivery)
        context.tasks.supervise(f"trim-{view.name}", delivery.trimmer.run)
        return delivery

    def _archiver(self, view: AppView, keeper: LeaseKeeper, offload: Offload) -> Archiver | None:
        context = self._context
        archiving = archived(view, context.settings.archive)
        if self._place is None or not archiving.is_on:
            return None
        return Archiver(view, archiving, self._place, context, keeper, offload)

    def _trimmer(self, view: AppView, delivery: _AppDelivery) -> Trimmer | FleetTrimmer:
        context = self._context
        bus, clock, settings = context.world.bus, context.clock, context.settings
        if view.fleet is None:
            return Trimmer(view.log, bus, clock, settings, delivery.delivered)
        revisions = context.world.store.revisions
        return FleetTrimmer(view, bus, revisions, clock, settings, context.log, delivery.delivered)

    async def _end(self, delivery: _AppDelivery) -> None:
        for name in delivery.task_names:
            await self._context.tasks.stop(name)
        await delivery.keeper.release()
        self._context.metrics.forget_all("lockstep_publisher_", app=delivery.view.name)


def _receivers_of(context: Context, watch: HeartbeatWatch) -> Receivers:
    """All have been heard of when each process that lives had the time to say so."""
    settings, clock = context.settings.coordinator, context.clock
    heard_ms = clock.monotonic_ms() + settings.heartbeat_interval_ms * settings.heartbeat_max_retry
    return Receivers(
        lambda: [beat.node for beat in watch.alive("receiver")],
        lambda: clock.monotonic_ms() >= heard_ms,
    )


def wire(context: Context) -> Service:
    """The publisher."""
    close_own_files(context.settings)
    return Publisher(context)
