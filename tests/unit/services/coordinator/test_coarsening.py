"""Coarse figures while the coordinator's clock is ahead and is set right again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.clock import SystemClock
from lockstep.settings import load_settings
from lockstep.store import FigureRow, Figures, Grain, Span
from lockstep.store.figures import packed
from lockstep.store.memory import MemoryStore
from lockstep_services.coordinator.coarsening import Coarsening
from lockstep_services.coordinator.desired import Epoch

MINUTE_MS = 60_000
BEGIN_MS = 1_796_000_100_000


class Wall(SystemClock):
    """As it is set."""

    set_ms = BEGIN_MS

    def now_ms(self) -> int:
        """See Clock."""
        return self.set_ms


class Inline:
    """Work at once."""

    async def run(self, work: Callable[[], Any]) -> Any:
        """The result."""
        return work()

    def close(self) -> None:
        """Nothing runs."""


async def test_spans_behind_a_clock_that_was_set_back_are_made() -> None:
    """And what is too old is looked for once a span, not at every round."""
    clock, store, settings = Wall(), MemoryStore(), load_settings({}).coordinator
    coarsening, epoch = Coarsening(store, clock, settings, Inline()), Epoch()
    real_ms, looked = BEGIN_MS, list[bool]()

    async def passed(minutes: int, *, ahead_minutes: int) -> None:
        nonlocal real_ms
        for _ in range(minutes):
            real_ms += MINUTE_MS
            clock.set_ms = real_ms + ahead_minutes * MINUTE_MS
            row = FigureRow("A", clock.set_ms, packed(Span(Figures(events_per_s=5))))
            await store.figures.add(Grain.FINE, [row], epoch=epoch.number)
            looked.append(await coarsening.round(epoch) is not None)

    await passed(30, ahead_minutes=0)
    await passed(10, ahead_minutes=120)
    looked.clear()
    await passed(60, ahead_minutes=0)
    assert sum(looked) <= 1 + 60 * MINUTE_MS // settings.figures_coarse_every_ms
    rows = await store.figures.read(Grain.COARSE, None, BEGIN_MS + 45 * MINUTE_MS, 2**62)
    spans = {row.at_ms for row in rows if row.at_ms < real_ms}
    assert len(spans) >= 10
