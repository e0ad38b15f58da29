"""The leading coordinator keeps how apps are doing: it samples them all from time to time, notes
who took a lead from whom, and makes what is older coarser.

Sampling never waits for the store. What the store does not take yet waits up to a limit; what goes
over it is lost, counted and said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from lockstep.clock import Clock
from lockstep.control import HeartbeatWatch
from lockstep.events import UnavailableError
from lockstep.frame import LeaseKeeper, run_side_by_side
from lockstep.frame.offload import Offload
from lockstep.settings import CoordinatorSettings
from lockstep.store import Failover, FigureRow, Grain, Span, Stale, Store
from lockstep.store.figures import last_of_each, packed
from lockstep.telemetry import Logger, Metrics
from lockstep_services.coordinator.coarsening import Coarsening
from lockstep_services.coordinator.desired import Epoch
from lockstep_services.coordinator.sampling import sampled
from lockstep_services.coordinator.takeovers import Takeovers, news

WRITE_MAX_ROWS: Final = 5_000
LOST: Final = "lockstep_coordinator_figures_lost_total"
WAITING: Final = "lockstep_coordinator_figures_waiting"


class Recording:
    """`run` in a supervised task."""

    def __init__(
        self,
        store: Store,
        watch: HeartbeatWatch,
        takeovers: Takeovers,
        keeper: LeaseKeeper,
        epoch: Epoch,
        clock: Clock,
        settings: CoordinatorSettings,
        offload: Offload,
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._store = store
        self._watch = watch
        self._takeovers = takeovers
        self._keeper = keeper
        self._epoch = epoch
        self._clock = clock
        self._settings = settings
        self._metrics = metrics
        self._log = log
        self._coarsening = Coarsening(store, clock, settings, offload)
        self._rows: deque[FigureRow] = deque()
        self._lost = 0
        self._is_away = False

    async def run(self) -> None:
        """Until cancelled."""
        await run_side_by_side(self._sample, self._keep)

    async def _sample(self) -> None:
        """At whole multiples of the interval, so that the next coordinator goes on in step. Not
        before every living service must have been heard."""
        settings, every_ms = self._settings, self._settings.figures_every_ms
        await self._clock.sleep_ms(
            settings.heartbeat_interval_ms * (settings.heartbeat_max_retry + 1)
        )
        while True:
            await self._clock.sleep_ms(every_ms - self._clock.now_ms() % every_ms)
            if self._keeper.held:
                now_ms = self._clock.now_ms()
                self._take(now_ms - now_ms % every_ms)

    def _take(self, at_ms: int) -> None:
        figures = sampled(self._watch.alive("processor"), self._watch.alive("publisher"))
        self._rows += [FigureRow(app, at_ms, packed(Span(one))) for app, one in figures.items()]
        over = max(0, len(self._rows) - self._settings.figures_max_waiting_rows)
        for _ in range(over):
            self._rows.popleft()
        self._count_lost(over, "figures")

    def _count_lost(self, count: int, kind: str) -> None:
        if count:
            if not self._lost:
                self._log.warning("the history of figures has a gap: too many wait for the store")
            self._lost += count
            self._metrics.count(LOST, count, kind=kind)

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep_ms(self._settings.heartbeat_interval_ms)
            over = self._takeovers.settle(self._clock.monotonic_ms())
            if not self._keeper.held:
                self._leave()
                continue
            self._count_lost(over, "failovers")
            try:
                await self._round()
                self._tell_back()
            except UnavailableError as error:
                self._tell_away(error)
            self._metrics.set(WAITING, len(self._rows))

    def _leave(self) -> None:
        """Whoever has the term now samples by itself. Takeovers stay: every coordinator knows them,
        and each may have to note them."""
        self._count_lost(len(self._rows), "figures")
        self._rows.clear()
        self._coarsening.begin_anew()
        self._metrics.set(WAITING, 0)

    async def _round(self) -> None:
        if not await self._note_takeovers():
            return
        while self._rows and self._keeper.held:
            rows = [self._rows[at] for at in range(min(WRITE_MAX_ROWS, len(self._rows)))]
            outcome = await self._store.figures.add(Grain.FINE, rows, epoch=self._epoch.number)
            if self._is_refused(outcome):
                return
            self._drop(rows)
        if self._keeper.held:
            apps = await self._coarsening.round(self._epoch)
            if apps is not None:
                self._takeovers.forget(apps)

    def _drop(self, rows: Sequence[FigureRow]) -> None:
        """They are kept; while they were written, the oldest may have gone for lack of room."""
        last = rows[-1]
        while self._rows and (self._rows[0].at_ms, self._rows[0].app) <= (last.at_ms, last.app):
            self._rows.popleft()

    async def _note_takeovers(self) -> bool:
        """False when the store has a newer epoch."""
        found = list(self._takeovers.waiting)
        if not found:
            return True
        last = last_of_each(await self._store.failovers.last())
        new = news(found, last)
        if new:
            outcome = await self._store.failovers.note(new, epoch=self._epoch.number)
            if self._is_refused(outcome):
                return False
            for one in new:
                known = last.get(one.unit)
                if one.from_node and (known is None or known.term < one.term):
                    self._tell(one)
        self._takeovers.noted(len(found))
        return True

    def _tell(self, one: Failover) -> None:
        self._log.info(
            "another leader", app=one.app, group=one.group, partition=str(one.partition),
            node=one.to_node, before=one.from_node, epoch=one.epoch, why=one.why,
            gap_ms=one.gap_ms,
        )  # fmt: skip

    def _is_refused(self, outcome: object) -> bool:
        """Whoever has the lease goes beyond an epoch that it meets, and tries again."""
        if isinstance(outcome, Stale):
            self._epoch.pass_over(outcome.current)
            return True
        return False

    def _tell_away(self, error: UnavailableError) -> None:
        if not self._is_away:
            self._is_away = True
            self._log.warning("figures are kept later", error=str(error))

    def _tell_back(self) -> None:
        if self._is_away and not self._rows:
            self._is_away = False
            self._log.info("figures are kept again", lost=self._lost)
        if not self._rows:
            self._lost = 0
