"""Builds the coordinator from its context."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from lockstep.archive.place import place_of_settings
from lockstep.control import Beating, Heartbeat, HeartbeatWatch
from lockstep.frame import Context, LeaseKeeper, Service
from lockstep.functions.geo import addresses
from lockstep_services.coordinator.api import Api, ask_leader
from lockstep_services.coordinator.app_logs import AppLogs
from lockstep_services.coordinator.archive_routes import ArchiveRoutes
from lockstep_services.coordinator.asyncapi_route import AsyncApiRoute
from lockstep_services.coordinator.audit import AuditRoutes
from lockstep_services.coordinator.batch_described import BATCH
from lockstep_services.coordinator.batch_routes import BatchRoutes
from lockstep_services.coordinator.calling_off import CallingOff
from lockstep_services.coordinator.connector_routes import CONNECTORS, ConnectorRoutes
from lockstep_services.coordinator.connectors import Connectors
from lockstep_services.coordinator.dashboards import Dashboards
from lockstep_services.coordinator.described import OWN
from lockstep_services.coordinator.desired import DesiredState, Epoch
from lockstep_services.coordinator.draining import Drains
from lockstep_services.coordinator.error_store import ErrorStore
from lockstep_services.coordinator.figure_routes import FigureRoutes
from lockstep_services.coordinator.figures_described import FIGURES
from lockstep_services.coordinator.flow.described import FLOW
from lockstep_services.coordinator.flow.route import FlowRoute
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.going_back import GoingBack
from lockstep_services.coordinator.granting import Granting
from lockstep_services.coordinator.handing import HandOvers
from lockstep_services.coordinator.layouts import Layouts
from lockstep_services.coordinator.led_units import LedUnits
from lockstep_services.coordinator.levels import Levels
from lockstep_services.coordinator.logins import Logins
from lockstep_services.coordinator.node_logs import NodeLogs
from lockstep_services.coordinator.node_routes import NodeRoutes
from lockstep_services.coordinator.obstacles import Obstacles
from lockstep_services.coordinator.older_cluster import OlderCluster
from lockstep_services.coordinator.older_described import OLDER
from lockstep_services.coordinator.older_statistics import OlderStatistics
from lockstep_services.coordinator.past_routes import PastRoutes
from lockstep_services.coordinator.pasts import Pasts
from lockstep_services.coordinator.people import People
from lockstep_services.coordinator.people_described import PEOPLE
from lockstep_services.coordinator.recording import Recording
from lockstep_services.coordinator.restoring import Restoring
from lockstep_services.coordinator.revisions import RevisionRoutes
from lockstep_services.coordinator.scim.described import SCIM
from lockstep_services.coordinator.scim.routes import add_scim
from lockstep_services.coordinator.siddhi_apps import SiddhiApps
from lockstep_services.coordinator.sinks import Sinks
from lockstep_services.coordinator.surveying import Survey
from lockstep_services.coordinator.sweeping import Sweeper
from lockstep_services.coordinator.takeovers import Takeovers
from lockstep_services.coordinator.templates import Templates
from lockstep_services.coordinator.templates_described import TEMPLATES
from lockstep_services.coordinator.troubles import Troubles
from lockstep_services.coordinator.versions import VersionRoutes
from lockstep_services.coordinator.watchman import Watchman

LEAD_RESOURCE = "coordinator"
START_POLL_MS = 10
DESCRIBED = (*OWN, *CONNECTORS, *FIGURES, *FLOW, *BATCH, *TEMPLATES, *PEOPLE, *SCIM, *OLDER)
"""All routes, for the OpenAPI document."""


class Coordinator:
    """Routes for everybody, the watchman for the one that leads."""

    needs: ClassVar = frozenset({"bus", "store"})

    def __init__(self, context: Context) -> None:
        settings, world = context.settings.coordinator, context.world
        clock, log = context.clock, context.log
        self._context = context
        self._watch, takeovers = _listening(context)
        self._keeper = LeaseKeeper(
            context.leases, context.holders, LEAD_RESOURCE, clock, context.settings.leader,
            context.metrics, log,
        )  # fmt: skip
        epoch = Epoch()
        self._recording = Recording(
            world.store, self._watch, takeovers, self._keeper, epoch, clock, settings,
            context.offload, context.metrics, log,
        )  # fmt: skip
        logs = AppLogs(
            world.store, world.bus, clock, log, lambda app: bool(self._watch.groups(app))
        )
        self._sweeper = Sweeper(
            logs, self._keeper, clock, log, interval_ms=settings.sweep_interval_ms
        )
        pasts = _pasts(context, self._watch)
        desired = _desired(context, epoch, logs, pasts, self._watch)
        calling_off = CallingOff(
            desired, pasts, world.store, epoch, clock, log, versions_keep=settings.versions_keep
        )
        drains = Drains(world.store, epoch, log)
        survey = Survey(
            desired, drains, self._watch, settings, Troubles(clock, log), clock, world.bus.healthy
        )
        hand_overs = HandOvers(
            partial(ask_leader, world.bus), context.metrics, log, max_moves=settings.max_moves
        )
        levels = Levels(world.store, desired, epoch, log)
        self._watchman = Watchman(
            desired, survey, calling_off, hand_overs, LedUnits(levels, context.metrics),
            self._keeper, epoch, clock, settings, context.metrics, log,
        )  # fmt: skip
        self._forwarder = Forwarder(self._keeper, self._watch, context.settings.client.tls)
        self._beating = Beating(context, leading=lambda: self._keeper.held)
        _looks_at_apps(context, desired, self._watch)
        connectors = Connectors(world.store, desired, self._watch, epoch, clock, log)
        _apps(context, desired, self._watch, survey, self._forwarder, connectors)
        NodeRoutes(desired, drains, self._watch, survey, self._watchman, self._forwarder).add_to(
            context.router
        )
        self._node_logs = NodeLogs(context, self._watch)
        self._node_logs.add_to(context.router)
        restoring = _restoring(context, desired, pasts, self._watch)
        RevisionRoutes(restoring, self._forwarder).add_to(context.router)
        PastRoutes(calling_off, self._forwarder).add_to(context.router)
        VersionRoutes(world.store).add_to(context.router)
        FigureRoutes(world.store, clock, settings, context.offload).add_to(context.router)
        _documents(context, desired, self._forwarder)
        ErrorStore(world.bus, desired).add_to(context.router)
        self._archive = ArchiveRoutes(context, desired)
        self._archive.add_to(context.router)
        BatchRoutes(world.store.batch, clock, context.settings, log).add_to(context.router)
        self._audit = _people(context)
        context.describe(DESCRIBED)
        # In front of those with a name in their place.
        statistics = OlderStatistics(desired, survey, levels, self._watch, self._forwarder, clock)
        statistics.add_to(context.router)
        OlderCluster(desired, survey, self._watch, self._keeper, context.node).add_to(
            context.router
        )
        older = SiddhiApps(desired, survey, self._watch, self._forwarder, restoring)
        older.add_to(context.router)

    async def start(self) -> None:
        """Listens, and leads when nobody else does."""
        tasks = self._context.tasks
        tasks.supervise("heartbeats", self._watch.run)
        tasks.supervise("lease", self._keeper.run)
        tasks.supervise("watchman", self._watchman.run)
        tasks.supervise("audit", self._audit.run)
        tasks.supervise("sweep", self._sweeper.run)
        tasks.supervise("figures", self._recording.run)
        tasks.supervise("heartbeat", self._beating.run)
        await self._somebody_leads()

    async def _somebody_leads(self) -> None:
        """Waits for a leader for as long as a lost one's lease may last: then writes succeed."""
        clock = self._context.clock
        deadline_ms = clock.monotonic_ms() + self._context.settings.leader.lease_ttl_ms
        while clock.monotonic_ms() < deadline_ms:
            if self._keeper.held or any(b.leading for b in self._watch.alive("coordinator")):
                return
            await clock.sleep_ms(START_POLL_MS)

    async def drain(self) -> None:
        """Requests under way end by themselves."""

    async def stop(self) -> None:
        """The next coordinator leads at once."""
        await self._keeper.release()
        await self._beating.farewell()
        await self._forwarder.close()
        await self._node_logs.close()
        self._archive.close()


def _listening(context: Context) -> tuple[HeartbeatWatch, Takeovers]:
    """All that is heard, and what it tells of who leads."""
    settings, clock = context.settings.coordinator, context.clock
    takeovers = Takeovers(
        settle_ms=settings.heartbeat_interval_ms * (settings.heartbeat_max_retry + 1),
        max_waiting=settings.figures_max_waiting_rows,
    )

    def hear(beat: Heartbeat) -> None:
        takeovers.hear(beat, clock.now_ms(), clock.monotonic_ms())

    topics, retry = context.world.bus.topics, settings.heartbeat_max_retry
    watch = HeartbeatWatch(topics, clock, context.log, max_retry=retry, on_beat=hear)
    return watch, takeovers


def _pasts(context: Context, watch: HeartbeatWatch) -> Pasts:
    place = place_of_settings(context.settings.archive)
    world = context.world
    return Pasts(place, context.offload, world.bus, world.store.revisions, watch)


def _people(context: Context) -> AuditRoutes:
    """Who may come in, and what they did."""
    rights, router = context.settings.rights, context.router
    logins = Logins(
        context.accounts, context.callers, context.clock, context.randomness, rights,
        context.offload, context.settings.oidc,
    )  # fmt: skip
    logins.add_to(router)
    audit = AuditRoutes(context.world.store.audit, context.clock, rights, context.log)
    audit.add_to(router)
    People(context.accounts, logins, rights).add_to(router)
    Granting(context.accounts, logins, rights).add_to(router)
    add_scim(router, context.accounts, logins, context.randomness, context.url)
    return audit


def _apps(
    context: Context,
    desired: DesiredState,
    watch: HeartbeatWatch,
    survey: Survey,
    forwarder: Forwarder,
    connectors: Connectors,
) -> None:
    """Apps, and what they are connected to."""
    router = context.router
    Api(desired, watch, survey, forwarder, context.world.bus, connectors).add_to(router)
    ConnectorRoutes(connectors, desired, forwarder).add_to(router)


def _documents(context: Context, desired: DesiredState, forwarder: Forwarder) -> None:
    """What people made for pages."""
    documents, router = context.world.store.documents, context.router
    Dashboards(documents).add_to(router)
    Templates(documents, desired, forwarder, context.offload).add_to(router)


def _looks_at_apps(context: Context, desired: DesiredState, watch: HeartbeatWatch) -> None:
    """What an app is made of, and what passes through it."""
    AsyncApiRoute(desired, watch, context.settings.bus).add_to(context.router)
    FlowRoute(desired, watch, context.world.bus.topics, context.clock).add_to(context.router)


def _restoring(
    context: Context, desired: DesiredState, pasts: Pasts, watch: HeartbeatWatch
) -> Restoring:
    place, world = place_of_settings(context.settings.archive), context.world
    revisions = world.store.revisions
    back = GoingBack(place, context.offload, world.bus, revisions, context.plans)
    return Restoring(desired, back, pasts, watch, world.store, world.bus, context.clock)


def _desired(
    context: Context, epoch: Epoch, logs: AppLogs, pasts: Pasts, watch: HeartbeatWatch
) -> DesiredState:
    world, clock, log = context.world, context.clock, context.log
    settings = context.settings.coordinator
    obstacles = Obstacles(world.bus, watch, world.store, min_processors=settings.min_processors)
    layouts = Layouts(
        world.bus, context.offload, context.plans, obstacles, world.store.revisions, clock, log
    )
    return DesiredState(
        world.store, world.bus, clock, settings, epoch, log, context.offload, context.plans,
        logs, layouts, pasts, Sinks(context.offload, context.plans, watch),
    )  # fmt: skip


def wire(context: Context) -> Service:
    """The coordinator. It starts apps once without events before they are deployed."""
    addresses.put_in_force(context.settings.places.folder)
    return Coordinator(context)
