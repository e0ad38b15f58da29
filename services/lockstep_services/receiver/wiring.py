"""Builds the receiver from its context."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from msgspec import structs

from lockstep.bus import BusLimits, ForeignServers
from lockstep.control import (
    Beating,
    Catalogue,
    FlowTold,
    HeartbeatWatch,
    answer_flows,
    take_answers,
)
from lockstep.databases import read_datasources
from lockstep.events.columns import load_arrow
from lockstep.frame import Context, LeaseKeeper, Service
from lockstep.frame.closing import close_own_files
from lockstep.frame.web import check_sources_host
from lockstep.schemas.registry import SchemaRegistry
from lockstep.secrets import Vault
from lockstep.tls import serving
from lockstep_services.receiver.accept import Acceptor
from lockstep_services.receiver.changes import ChangeSources
from lockstep_services.receiver.copies import CopyFeeds
from lockstep_services.receiver.datasources import DatasourceRoutes
from lockstep_services.receiver.described import ROUTES
from lockstep_services.receiver.feeds import SourceFeeds
from lockstep_services.receiver.filled import FilledStores
from lockstep_services.receiver.gate import Gate
from lockstep_services.receiver.grpc_calls import CallTaker
from lockstep_services.receiver.grpc_ports import GrpcPorts, Listening
from lockstep_services.receiver.ingress import IngressReader
from lockstep_services.receiver.intakes import Intakes
from lockstep_services.receiver.lag import LagWatch
from lockstep_services.receiver.leases import ReaderLeases
from lockstep_services.receiver.lookups import Lookups
from lockstep_services.receiver.messages import Transfer
from lockstep_services.receiver.routes import Routes
from lockstep_services.receiver.schemas import SchemaFetcher, SourceSchemas
from lockstep_services.receiver.service import Services

DRAIN_POLL_MS = 20
DRAIN_CALLS_MS = 1_000
"""In which calls of gRPC end whose answers are known."""


class Receiver:
    """HTTP door, ingress reader and intakes."""

    needs: ClassVar = frozenset({"bus"})

    def __init__(self, context: Context) -> None:
        settings = context.settings
        bus = context.world.bus
        self._context = context
        self._catalogue = Catalogue.of(context, heeds_pauses=True)
        self._watch = HeartbeatWatch(
            bus.topics, context.clock, context.log,
            max_retry=settings.coordinator.heartbeat_max_retry,
        )  # fmt: skip
        self._intakes = Intakes(
            bus, self._catalogue.get, context.tasks, context.clock, context.randomness, settings,
            context.traces,
        )  # fmt: skip
        known = read_datasources(settings.datasources.file)
        default_dsn = settings.store.postgres_dsn.get_secret_value()
        vault = Vault(settings.secrets.folder)
        self._stores = stores = FilledStores(vault, known, default_dsn, context.log)
        self._lookups = Lookups(context.clock, stores.datasource, context.metrics)
        self._schemas = SchemaRegistry(context.clock, context.log)
        self._source_schemas = SourceSchemas(self._schemas, vault)
        self._acceptor = Acceptor(
            bus, self._catalogue, self._intakes, self._lookups, context.clock,
            context.randomness, settings, context.metrics, context.node, context.traces,
            schemas=self._source_schemas,
        )  # fmt: skip
        health = self._acceptor.health
        self._beating = Beating(context, connectors=health.told)
        check_sources_host(settings.receiver.sources_host, settings.server)
        self._lags = processors = LagWatch(self._watch, self._intakes.last_position)
        gate = Gate(settings.receiver, processors, context.metrics, context.log)
        take = Transfer(self._acceptor, context.log)
        self._ingress = IngressReader(
            bus, take, gate, context.tasks, context.clock, settings.receiver, context.log
        )
        changes = ChangeSources(
            self._catalogue, known, context.world.store.cursors, context.clock, context.log
        )
        self._feeds = SourceFeeds(
            bus, self._catalogue, self._acceptor.sources, take, gate, context.tasks, context.clock,
            self._leases_of("source"), vault, health, settings.receiver.sources_host,
            serving(settings.server.tls) if settings.receiver.sources_tls else None,
            changes,
            context.world.store.cursors,
            foreign=ForeignServers(BusLimits.of(settings), context.randomness, context.node),
        )  # fmt: skip
        self._copies = CopyFeeds(
            self._catalogue, self._intakes, gate, context.tasks, context.clock,
            context.world.store.cursors, self._leases_of("copy"),
            stores.datasource, processors.led_life,
            context.metrics, context.log,
        )  # fmt: skip
        context.describe(ROUTES)
        DatasourceRoutes(known, max_rows=settings.datasources.max_rows).add_to(context.router)
        self._services = Services(
            settings.receiver, context.clock, context.randomness, context.metrics
        )
        self._grpc = self._grpc_ports(gate)
        health.at_ports = self._grpc.troubles
        Routes(self._acceptor, gate, self._services, settings.receiver).add_to(context.router)

    def _grpc_ports(self, gate: Gate) -> GrpcPorts:
        context, settings = self._context, self._context.settings
        receiver = settings.receiver
        listening = Listening(
            receiver.sources_host,
            settings.server.tls if receiver.sources_tls else None,
            receiver.max_body_bytes,
            receiver.max_inflight_requests + receiver.max_waiting_requests,
        )
        taker = CallTaker(self._acceptor, gate, self._services, context.clock, context.log)
        return GrpcPorts(self._catalogue, self._acceptor.sources, taker, listening, context.log)

    def _leases_of(self, kind: str) -> ReaderLeases:
        context = self._context
        return ReaderLeases(
            kind, self._keeper_of, context.tasks, context.log,
            lease_ttl_ms=context.settings.leader.lease_ttl_ms,
        )  # fmt: skip

    def _keeper_of(self, resource: str) -> LeaseKeeper:
        context = self._context
        return LeaseKeeper(
            context.leases, context.holders, resource, context.clock, context.settings.leader,
            context.metrics, context.log,
        )  # fmt: skip

    async def start(self) -> None:
        """Knows the apps, then takes events."""
        await self._context.offload.run(load_arrow)
        await self._catalogue.refresh()
        tasks = self._context.tasks
        self._catalogue.start(tasks)
        tasks.supervise("undeployed", partial(self._catalogue.follow, self._keep_deployed))
        tasks.supervise("heartbeats", self._watch.run)
        tasks.supervise("heartbeat", self._beating.run)
        tasks.supervise("ingress", self._ingress.run)
        topics, node = self._context.world.bus.topics, self._context.node
        telling = partial(answer_flows, topics, self._context.service, node, self._flow)
        tasks.supervise("flows", telling)
        tasks.supervise("answers", partial(take_answers, topics, node, self._services.waiting.take))
        fetcher = SchemaFetcher(
            self._acceptor.sources, self._source_schemas, self._context.clock, self._context.log
        )
        tasks.supervise("schemas", fetcher.run)
        await self._feeds.follow_catalogue()
        tasks.supervise("sources", self._feeds.run)
        await self._grpc.follow_catalogue()
        tasks.supervise("grpc", self._grpc.run)
        await self._copies.follow_catalogue()
        tasks.supervise("copies", self._copies.run)

    async def _keep_deployed(self) -> None:
        """What is kept of an app goes with it."""
        apps = {view.name for view in self._catalogue.views}
        self._intakes.keep(apps)
        self._acceptor.keep(apps)
        self._lags.keep(apps)
        self._stores.keep(apps)
        await self._lookups.keep(apps)

    async def _flow(self, app: str) -> FlowTold:
        """What came in, and what is in the way."""
        told = await self._acceptor.flow(app)
        troubles = {**self._feeds.troubles(app), **self._grpc.troubles(app)}
        return structs.replace(told, troubles=troubles)

    async def drain(self) -> None:
        """What was taken becomes durable, and who waits for an app's answer gets it, if it comes in
        half of the time that there is: other services of this process drain, too."""
        self._grpc.end()
        await self._feeds.stop()
        await self._copies.stop()
        await self._ingress.drain()
        clock, waiting = self._context.clock, self._services.waiting
        until_ms = clock.monotonic_ms() + self._context.settings.server.drain_timeout_ms // 2
        while waiting.count and clock.monotonic_ms() < until_ms:
            await clock.sleep_ms(DRAIN_POLL_MS)
        waiting.close()
        await self._grpc.stop(DRAIN_CALLS_MS)
        while not self._intakes.is_idle:
            await clock.sleep_ms(DRAIN_POLL_MS)

    async def stop(self) -> None:
        """Refuses the rest."""
        self._intakes.close()
        self._services.waiting.close()
        await self._lookups.close()
        await self._schemas.close()
        await self._beating.farewell()


def wire(context: Context) -> Service:
    """The receiver."""
    close_own_files(context.settings)
    return Receiver(context)
