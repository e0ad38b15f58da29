"""Figures that are old enough become coarser, and go when they are older still.

Coarse figures are made of the fine ones that the store has, whoever sampled them. So a change of
coordinators in the middle of a span costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lockstep.clock import Clock
from lockstep.frame.offload import Offload
from lockstep.settings import CoordinatorSettings
from lockstep.store import FigureRow, Grain, Stale, Store
from lockstep.store.figures import packed, together, unpacked
from lockstep_services.coordinator.desired import Epoch


class Coarsening:
    """Of all apps, a span after the other."""

    def __init__(
        self, store: Store, clock: Clock, settings: CoordinatorSettings, offload: Offload
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._offload = offload
        self._done_to_ms: int | None = None

    def begin_anew(self) -> None:
        """Somebody else may have gone on meanwhile."""
        self._done_to_ms = None

    async def round(self, epoch: Epoch) -> Sequence[str] | None:
        """Makes the spans coarse that are over; UnavailableError. Where there was one, or a term
        begins, it looks after what is too old, and gives the apps that are deployed."""
        length_ms = self._settings.figures_coarse_every_ms
        over_ms = self._clock.now_ms() // length_ms * length_ms
        if self._done_to_ms == over_ms:
            return None
        if self._done_to_ms is None:
            self._done_to_ms = await self._reached(over_ms)
        # Where the clock was ahead and is set right, spans that were made too early are made again.
        self._done_to_ms = min(self._done_to_ms, over_ms)
        while self._done_to_ms < over_ms:
            outcome = await self._make(self._done_to_ms, epoch.number)
            if isinstance(outcome, Stale):
                epoch.pass_over(outcome.current)
                return None
            self._done_to_ms += length_ms
        return await self._trim()

    async def _reached(self, over_ms: int) -> int:
        """Where the next coarse span begins. The newest one is made again: it may lack apps."""
        fine, coarse = [await self._store.figures.ends(grain) for grain in Grain]
        if fine is None:
            return over_ms
        length_ms = self._settings.figures_coarse_every_ms
        first_ms = fine[0] // length_ms * length_ms
        return min(over_ms, first_ms if coarse is None else max(first_ms, coarse[1]))

    async def _make(self, from_ms: int, epoch: int) -> object:
        to_ms = from_ms + self._settings.figures_coarse_every_ms
        rows = await self._store.figures.read(Grain.FINE, None, from_ms, to_ms)
        coarse = await self._offload.run(partial(coarser, rows, from_ms))
        return await self._store.figures.add(Grain.COARSE, coarse, epoch=epoch) if coarse else None

    async def _trim(self) -> Sequence[str]:
        now_ms, settings, store = self._clock.now_ms(), self._settings, self._store
        await store.figures.trim(Grain.FINE, now_ms - settings.figures_keep_ms)
        await store.figures.trim(Grain.COARSE, now_ms - settings.figures_coarse_keep_ms)
        layouts = {one.app: one.layout for one in await store.deployments.list()}
        await store.failovers.trim(now_ms - settings.failovers_keep_ms, layouts)
        return list(layouts)


def coarser(rows: Sequence[FigureRow], at_ms: int) -> list[FigureRow]:
    """Of each app the means and the greatest of its rows. Pure."""
    by_app: dict[str, list[FigureRow]] = {}
    for row in rows:
        by_app.setdefault(row.app, []).append(row)
    return [
        FigureRow(app, at_ms, packed(together([unpacked(row.span) for row in found])))
        for app, found in by_app.items()
    ]
