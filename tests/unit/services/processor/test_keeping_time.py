"""Timers that are long due, as after an outage: the leader lets the clock go on in steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.events import EventsRecord, LogEntry, TickRecord
from lockstep.execute.in_process import InProcessExecutor
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from lockstep.telemetry import get_logger
from lockstep_services.processor.fold.coming import (
    TICK_SPAN_MAX_MS,
    TICK_SPAN_MIN_MS,
    TICK_SPAN_MS,
    Coming,
)
from lockstep_services.processor.replica.leading import Lead

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
EVERY_MINUTE = """
@app:name('A') define trigger T at every 1 min;
@info(name='q') from T select count() as n insert into O;
"""


class App:
    """An app whose leader is alone with its log. A row takes so much of the machine's time."""

    def __init__(self, text: str, *, takes_ms: float = 0) -> None:
        self.clock = VirtualClock(0)
        self.executor = InProcessExecutor(plan_of(text), start_ms=0)
        self.next_due_ms: int | None = None
        self.takes_ms = takes_ms
        self.position = 0
        self.has_started = False
        self.ticks: list[int] = []
        self.slices: list[list[tuple[int, Any]]] = []
        lead = Lead(permit=object())  # type: ignore[arg-type]  # any will do
        site: Any = SimpleNamespace(
            settings=load_settings({}), clock=self.clock, input=self, log=get_logger()
        )
        running: Any = SimpleNamespace(engine=self)
        nothing: Any = None
        self.coming = Coming(site, running, lead, nothing)

    async def append(self, record: TickRecord | EventsRecord, *, dedup_id: str) -> None:
        """What comes into the log is folded at once."""
        self.position += 1
        self.has_started = True
        assert isinstance(record, TickRecord)
        self.ticks.append(record.clock_ms)
        result = self.executor.run_slice([LogEntry(self.position, record)])
        self.next_due_ms = result.next_due_ms
        rows = [(row.timestamp_ms, row.data) for row in result.rows]
        self.slices.append(rows)
        self.clock.set_ms(self.clock.now_ms() + int(len(rows) * self.takes_ms))

    async def catch_up(self, now_ms: int) -> None:
        """Until no timer is due any more."""
        self.clock.set_ms(now_ms)
        while True:
            known = len(self.ticks)
            await self.coming.keep_time()
            if len(self.ticks) == known:
                return


@pytest.mark.parametrize("away_ms", [1, TICK_SPAN_MS, HOUR_MS, 9 * DAY_MS, 40 * DAY_MS])
async def test_what_is_long_due_comes_in_steps(away_ms: int) -> None:
    """No tick is further from the one before than a span behind the timer that was due, there are
    few of them, and the rows are those of one tick."""
    app, at_once = App(EVERY_MINUTE), App(EVERY_MINUTE)
    for each in (app, at_once):
        await each.coming.keep_time()
        assert each.ticks == [0]
    await app.catch_up(away_ms)
    await at_once.append(TickRecord(away_ms), dedup_id="")
    assert app.next_due_ms is not None
    assert app.next_due_ms > away_ms
    assert [row for rows in app.slices for row in rows] == [
        row for rows in at_once.slices for row in rows
    ]
    gaps = [later - earlier for earlier, later in zip(app.ticks, app.ticks[1:], strict=False)]
    assert all(gap <= 60_000 + TICK_SPAN_MAX_MS for gap in gaps)
    assert max(map(len, app.slices)) <= 1 + TICK_SPAN_MAX_MS // 60_000
    assert len(app.ticks) <= 15 + away_ms // TICK_SPAN_MAX_MS


async def test_steps_are_as_wide_as_they_are_quick() -> None:
    """A timer of a millisecond that takes as long as the clock goes by would be one slice of all
    that is due."""
    app = App(EVERY_MINUTE.replace("1 min", "1 millisec"), takes_ms=0.1)
    await app.coming.keep_time()
    await app.catch_up(100_000)
    target_ms = app.coming._settings.slice_target_ms
    widest = max(map(len, app.slices))
    assert widest <= TICK_SPAN_MS + 1
    assert widest * app.takes_ms > target_ms  # at first
    assert max(map(len, app.slices[4:])) <= max(TICK_SPAN_MIN_MS, 4 * target_ms) + 10_001


async def test_a_quiet_year_is_few_ticks() -> None:
    """The clock goes on from timer to timer, and at once where none is due."""
    app = App("define trigger T at every 30 days; from T select count() as n insert into O;")
    await app.coming.keep_time()
    await app.catch_up(365 * DAY_MS)
    assert len(app.ticks) == 13
    assert app.ticks[:2] == [0, 30 * DAY_MS + TICK_SPAN_MS]


async def test_time_that_is_kept_well_is_not_cut() -> None:
    """A tick that is late by less than a span is at the time of the clock."""
    app = App(EVERY_MINUTE)
    await app.coming.keep_time()
    await app.catch_up(60_017)
    assert app.ticks == [0, 60_017]
