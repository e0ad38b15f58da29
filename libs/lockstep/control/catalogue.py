"""Which apps are deployed, checked and ready to look up: a view of the store kept fresh by polling,
and at once when a coordinator says on the bus that something changed.

While the store is away the last view stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.bus import Topics
from lockstep.clock import Clock
from lockstep.control.messages import DEPLOYMENTS_CHANGED
from lockstep.control.units import AppView, view_of
from lockstep.frame import Context, Offload, Tasks, wait_set
from lockstep.plan import AppPlan, Plans
from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.checking.app_annotations import statistics_of
from lockstep.store import Deployment, Deployments, Pause
from lockstep.telemetry import Level, Logger, Metrics

FOLLOW_LIMIT_MS: Final = 5_000
"""After so long followers look again, though nothing is known to have changed."""

FORGET_MS: Final = 60_000
"""For so long what ends of an undeployed app may still count something: that is forgotten, too."""

PAUSE_SHARE: Final = 3
"""Reading takes no more than one part in four of the time,"""
PAUSE_MAX_MS: Final = 500
"""unless it takes very long."""

ANY_APP: Final = "define stream S (a int); from S select a insert into T;"


def level_of(plan: AppPlan, put: Mapping[str, str]) -> Level:
    """How much an app's metrics tell: as was `put` for it, else as its text has it."""
    return Level(put.get(plan.name) or statistics_of(plan.checked.annotations) or Level.BASIC)


@dataclass(slots=True)
class _Reading:
    """One that has not begun when it is asked for."""

    task: asyncio.Task[None]
    waiting: int = 0


class _Readings:
    """One after the other. Who asks while one is running waits for the next, which all share who
    ask until it begins. They share its error, too: one by one, each would find out anew that the
    store is away. A reading that nobody waits for any more is given up."""

    def __init__(self, read: Callable[[], Awaitable[None]]) -> None:
        self._read = read
        self._running: asyncio.Task[None] | None = None
        self._next: _Reading | None = None

    async def next(self) -> None:
        """One that begins from now on."""
        if self._next is None:
            self._next = _Reading(asyncio.create_task(self._read_after(self._running)))
        mine = self._next
        mine.waiting += 1
        try:
            await asyncio.shield(mine.task)
        finally:
            mine.waiting -= 1
            if not mine.waiting and mine.task.cancel():
                if self._next is mine:
                    self._next = None
                await asyncio.wait([mine.task])  # who stops it may close the store next

    async def _read_after(self, earlier: asyncio.Task[None] | None) -> None:
        if earlier is not None:
            await asyncio.wait([earlier])
        self._running, self._next = asyncio.current_task(), None
        try:
            await self._read()
        finally:
            self._running = None


class Catalogue:
    """All deployed apps. `changes` counts changed views; wait for the next with `changed`."""

    def __init__(
        self,
        deployments: Deployments,
        topics: Topics,
        clock: Clock,
        log: Logger,
        offload: Offload,
        plans: Plans,
        *,
        poll_ms: int,
        metrics: Metrics | None = None,
        heeds_pauses: bool = False,
    ) -> None:
        """`heeds_pauses`: of sources and sinks, for who runs them."""
        self._heeds_pauses = heeds_pauses
        self._pauses: dict[tuple[str, str], Pause] = {}
        self._metrics = metrics
        self._offload = offload
        self._plans = plans
        self._deployments = deployments
        self._topics = topics
        self._clock = clock
        self._log = log
        self._poll_ms = poll_ms
        self._views: dict[str, AppView] = {}
        self._gone: dict[str, int] = {}
        self._found: Sequence[Deployment] | None = None
        self._put: Mapping[str, str] | None = None
        self._placements: dict[str, tuple[str, ...]] = {}
        self._refused: dict[str, str] = {}
        self._has_parser = False
        self._nudged = asyncio.Event()
        self._changed = asyncio.Event()
        self._readings = _Readings(self._refresh)
        self.changes = 0

    @classmethod
    def of(cls, context: Context, *, heeds_pauses: bool = False) -> Catalogue:
        """A service's catalogue."""
        return cls(
            context.world.store.deployments,
            context.world.bus.topics,
            context.clock,
            context.log,
            context.offload,
            context.plans,
            poll_ms=context.settings.server.catalogue_poll_ms,
            metrics=context.metrics,
            heeds_pauses=heeds_pauses,
        )

    def start(self, tasks: Tasks) -> None:
        """Keeps the view fresh in the background."""
        tasks.supervise("catalogue-poll", self._poll)
        tasks.supervise("catalogue-listen", self._listen)

    def get(self, app: str) -> AppView | None:
        """The app or None."""
        return self._views.get(app)

    @property
    def views(self) -> Sequence[AppView]:
        """All apps by name."""
        return [self._views[name] for name in sorted(self._views)]

    def nodes(self, unit: str) -> tuple[str, ...]:
        """The processors that shall carry a unit (`AppView.key`), the preferred leader first."""
        return self._placements.get(unit, ())

    def pause(self, app: str, element: str) -> Pause | None:
        """Of a source or sink, where somebody has paused it."""
        return self._pauses.get((app, element))

    async def find(self, app: str) -> AppView | None:
        """The app; looks into the store when it is not known yet."""
        view = self._views.get(app)
        if view is None:
            deployment = await self._deployments.get(app)
            if deployment is not None:
                await self.refresh()
                view = self._views.get(app)
        return view

    async def follow(self, work: Callable[[], Awaitable[None]]) -> None:
        """Calls at once, with every change, and at the latest after FOLLOW_LIMIT_MS; until
        cancelled."""
        seen = -1
        while True:
            if self.changes == seen:
                await wait_set(self._changed, self._clock, FOLLOW_LIMIT_MS)
            seen = self.changes
            await work()

    async def refresh(self) -> None:
        """Reads the store now; UnavailableError when it is away (the view stays).

        One at a time: of two side by side, the one that began first could end last, and put back
        what it had seen before the other.
        """
        await self._readings.next()

    async def _refresh(self) -> None:
        """The first time it also makes the parser, half a second that a first deployment would
        wait for."""
        if not self._has_parser:
            await self._offload.run(lambda: self._plans.of(ANY_APP))
            self._has_parser = True
        found = await self._deployments.list()
        # The store gives what it gave before where nothing has changed since.
        is_known = found is self._found
        views = self._views if is_known else await self._viewed(found)
        if self._metrics is not None:
            put = await self._deployments.levels()
            if not is_known or put != self._put:
                self._put = put
                levels = {app: level_of(view.plan, put) for app, view in views.items()}
                self._metrics.set_levels(levels)
            self._forget_gone(self._metrics, views)
        read = await self._deployments.placements()
        placements = {app: tuple(nodes) for app, nodes in read.items()}
        pauses = await self._read_pauses()
        self._found = found
        if (views, placements, pauses) != (self._views, self._placements, self._pauses):
            self._views, self._placements, self._pauses = views, placements, pauses
            self.changes += 1
            self._changed.set()
            self._changed = asyncio.Event()

    def _forget_gone(self, metrics: Metrics, views: Mapping[str, AppView]) -> None:
        """Series of apps that are undeployed are shown no more."""
        now_ms = self._clock.monotonic_ms()
        self._gone.update(dict.fromkeys(self._views.keys() - views.keys(), now_ms))
        for app, since_ms in list(self._gone.items()):
            if app in views or now_ms - since_ms > FORGET_MS:
                del self._gone[app]
            else:
                metrics.forget_app(app)

    async def _viewed(self, found: Sequence[Deployment]) -> dict[str, AppView]:
        views: dict[str, AppView] = {}
        for deployment in found:
            known = self._views.get(deployment.app)
            if known is not None and known.deployment == deployment:
                views[deployment.app] = known
            elif (view := await self._view(deployment)) is not None:
                views[deployment.app] = view
        return views

    async def _read_pauses(self) -> dict[tuple[str, str], Pause]:
        if not self._heeds_pauses:
            return {}
        return {(one.app, one.element): one for one in await self._deployments.pauses()}

    async def _view(self, deployment: Deployment) -> AppView | None:
        known = self._views.get(deployment.app)
        if known is not None and known.is_same_app(deployment) and not deployment.layout:
            return AppView(deployment, known.plan)
        if self._refused.get(deployment.app) == deployment.version:
            return None
        try:
            view = await self._offload.run(lambda: view_of(deployment, self._plans))
        except SiddhiQLError as error:
            # A coordinator of a newer release may have let it in; this one cannot carry it.
            self._refused[deployment.app] = deployment.version
            self._log.error(
                "a deployed app is not valid here", app=deployment.app, error=str(error)
            )
            return None
        if view.plan.checked.objection is not None:
            self._log.warning(
                "a deployed app runs on, but would be refused today",
                app=deployment.app, error=str(view.plan.checked.objection),
            )  # fmt: skip
        return view

    async def _poll(self) -> None:
        while True:
            self._nudged.clear()
            began_ms = self._clock.monotonic_ms()
            await self.refresh()
            # All apps are read: while a thousand are deployed, not anew after each of them.
            took_ms = self._clock.monotonic_ms() - began_ms
            await self._clock.sleep_ms(min(PAUSE_MAX_MS, PAUSE_SHARE * took_ms))
            await wait_set(self._nudged, self._clock, self._poll_ms)

    async def _listen(self) -> None:
        subscription = await self._topics.subscribe(DEPLOYMENTS_CHANGED)
        try:
            async for _ in subscription:
                self._nudged.set()
        finally:
            await subscription.close()
