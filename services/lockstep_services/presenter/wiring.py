"""Builds the presenter from its context."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from lockstep.control import Beating, Catalogue, HeartbeatWatch, answer_flows
from lockstep.frame import Context, LeaseKeeper, Service
from lockstep_services.presenter.api import Api, Lookup
from lockstep_services.presenter.described import ROUTES
from lockstep_services.presenter.feed import Feed
from lockstep_services.presenter.grafana import Grafana
from lockstep_services.presenter.listeners import Listeners
from lockstep_services.presenter.page import Page
from lockstep_services.presenter.questions import Questions
from lockstep_services.presenter.sockets import Sockets
from lockstep_services.presenter.sse import EventStreams

TOPICS_RESOURCE = "presenter/topics"


class Presenter:
    """Feed, routes, event streams and the page."""

    needs: ClassVar = frozenset({"bus"})

    def __init__(self, context: Context) -> None:
        settings, bus = context.settings, context.world.bus
        clock, metrics = context.clock, context.metrics
        self._context = context
        self._catalogue = Catalogue.of(context)
        self._watch = HeartbeatWatch(
            bus.topics, clock, context.log, max_retry=settings.coordinator.heartbeat_max_retry
        )
        self._keeper = LeaseKeeper(
            context.leases, context.holders, TOPICS_RESOURCE, clock, settings.leader, metrics,
            context.log,
        )  # fmt: skip
        presenter = settings.presenter
        self._listeners = listeners = Listeners(
            presenter.max_listeners, presenter.sse_queue_events, metrics
        )
        self._feed = Feed(
            bus, self._catalogue, listeners, self._keeper, context.tasks, clock, presenter, metrics,
            context.traces,
        )  # fmt: skip
        self._beating = Beating(context)
        lookup = Lookup(self._feed)
        streams = EventStreams(self._feed, lookup, listeners, self._watch, clock, presenter)
        context.describe(ROUTES)
        Api(lookup, listeners, clock, presenter.history_rows).add_to(context.router)
        questions = Questions(lookup, bus.topics, clock, context.randomness, settings.archive)
        questions.add_to(context.router)
        streams.add_to(context.router)
        Sockets(self._feed, lookup, listeners, clock, presenter).add_to(context.router)
        Grafana(self._feed, self._catalogue, questions, presenter).add_to(context.router)
        Page(self._feed, lookup, self._catalogue, self._watch, clock).add_to(context.router)

    async def start(self) -> None:
        """Knows the apps, then follows their outputs."""
        await self._catalogue.refresh()
        await self._feed.follow_catalogue()
        tasks = self._context.tasks
        self._catalogue.start(tasks)
        tasks.supervise("heartbeats", self._watch.run)
        tasks.supervise("heartbeat", self._beating.run)
        tasks.supervise("topics-lease", self._keeper.run)
        tasks.supervise("feed", self._feed.run)
        topics, node = self._context.world.bus.topics, self._context.node
        telling = partial(answer_flows, topics, self._context.service, node, self._feed.flow)
        tasks.supervise("flows", telling)

    async def drain(self) -> None:
        """Listeners are sent away; they resume elsewhere by their last identity."""
        self._listeners.close()

    async def stop(self) -> None:
        """The next presenter takes over the topics at once."""
        await self._keeper.release()
        await self._beating.farewell()


def wire(context: Context) -> Service:
    """The presenter."""
    return Presenter(context)
