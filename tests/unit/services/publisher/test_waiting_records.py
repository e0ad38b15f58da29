"""How many records wait for a sink: also while it is away, and behind a log that had been quiet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.bus.contract import OutputLog
from lockstep.control import AppView
from lockstep.events import TickRecord
from lockstep_services.publisher.sharing import SharedReads
from lockstep_services.publisher.trimming import QUIET_INTERVALS, Trimmer
from lockstep_services.publisher.wiring import _AppDelivery
from tests.fleets import row
from tests.unit.services.publisher.test_fleets import SETTINGS, World, trimmer

INTERVAL_MS = SETTINGS.publisher.trim_interval_ms
HEARTBEAT_MS = SETTINGS.coordinator.heartbeat_interval_ms
QUIET_MS = 2 * INTERVAL_MS * QUIET_INTERVALS


class Looking(World):
    """Counts who asks an output log for its end."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def count(self, log: OutputLog) -> OutputLog:
        """One that does."""
        tail: Callable[[], Any] = log.tail

        async def counted() -> Any:
            self.looks += 1
            return await tail()

        log.tail = counted  # type: ignore[method-assign]
        return log

    @asynccontextmanager
    async def delivery(self, view: AppView, *, paused: bool = False) -> AsyncIterator[_AppDelivery]:
        """Of an app with one sink, as a publisher makes it."""
        keeper: Any = self._keeper()
        one = _AppDelivery(view, keeper, b"", 0)
        pump = self.pump(view)
        if view.fleet is None:
            one.reads = SharedReads(partial(self.bus.output_log, view.log, make=False), self.clock)
            pump._source = one.reads
            one.trimmer = Trimmer(view.log, self.bus, self.clock, SETTINGS, one.delivered)
        else:
            one.trimmer = trimmer(self, view, None, 5)
        one.pumps.append(pump)
        pump.pause(paused=paused)
        tasks = [asyncio.create_task(work.run()) for work in (pump, one.trimmer)]
        try:
            yield one
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def beat(self, one: _AppDelivery, duration_ms: int) -> int:
        """Heartbeats go on for so long; what the last one says that waits for the sink."""
        waiting = 0
        for _ in range(0, duration_ms, HEARTBEAT_MS):
            await self.clock.advance_ms(HEARTBEAT_MS)
            (status,) = one.statuses()
            waiting = status.log_end - status.sequence
        return waiting


async def _publish(world: World, positions: range) -> None:
    for position in positions:
        await world.units[0].publish([row(position)])


@pytest.mark.parametrize("paused", [False, True])
async def test_what_waits_for_a_sink_is_told_soon(paused: bool) -> None:
    """Though nothing had come for long: within an interval, and then as it grows."""
    world = Looking()
    await world.begin(world.single, 0)
    world.told.is_away = True
    async with world.delivery(world.single, paused=paused) as one:
        assert await world.beat(one, QUIET_MS) <= 1
        await _publish(world, range(1, 11))
        assert await world.beat(one, INTERVAL_MS) >= 10
        await _publish(world, range(11, 31))
        assert await world.beat(one, INTERVAL_MS + 2 * HEARTBEAT_MS) >= 30


async def test_of_a_fleet_too() -> None:
    """Its input log goes on, and its sink does not."""
    world = Looking()
    await world.begin(world.two, 0)
    world.told.is_away = True
    async with world.delivery(world.two) as one:
        await world.pass_ms(QUIET_MS, settled=1)
        for unit in world.units:
            await unit.publish([row(2)])
        await world.pass_ms(2_000, settled=2)
        log = await world.bus.input_log(LogName("A"))
        await log.append(TickRecord(1))
        for _ in range(0, INTERVAL_MS + HEARTBEAT_MS, HEARTBEAT_MS):
            (status,) = one.statuses()
            await world.pass_ms(HEARTBEAT_MS, settled=2)
        (status,) = one.statuses()
        assert status.trouble is not None
        assert status.log_end == 101


async def test_apps_that_rest_are_not_looked_at_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats cost them nothing; nor does one that is in trouble more than a busy one."""
    world = Looking()
    await world.begin(world.single, 0)
    opens = world.bus.output_log

    async def counting(*given: Any, **more: Any) -> Any:
        return world.count(await opens(*given, **more))

    monkeypatch.setattr(world.bus, "output_log", counting)
    async with world.delivery(world.single) as one:
        await world.beat(one, QUIET_MS)
        world.looks = 0
        await world.beat(one, 10 * QUIET_MS)
        assert world.looks <= 20
        world.told.is_away = True
        await _publish(world, range(1, 3))
        await world.beat(one, INTERVAL_MS)
        world.looks = 0
        await world.beat(one, 6 * INTERVAL_MS)
        assert one.pumps[0].status(0).trouble is not None
        assert 5 <= world.looks <= 7
