"""Sinks and trimming of an app whose rows stand in the logs of several units and layouts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus import BusLimits, LogFullError, LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.control import AppView
from lockstep.events import Generation, Life, OutputRecord, TickRecord, UnavailableError
from lockstep.mapping import MessageWriter, build_distribution, destinations
from lockstep.settings import load_settings
from lockstep.siddhiql import ast
from lockstep.store import Revision, revision_id
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.publisher.contract import SinkBinding
from lockstep_services.publisher.fleet_log import FLEET_CURSORS
from lockstep_services.publisher.fleet_trimming import FleetTrimmer
from lockstep_services.publisher.pump import Pump
from lockstep_services.publisher.sharing import SharedReads
from lockstep_services.publisher.sinks.cursor import StoredCursorSink
from lockstep_services.publisher.sinks.lanes import MessageLane
from tests.fleets import Unit, announce, fleet_view, row, single_view, units_of
from tests.unit.services.publisher.parts import Cursors, Told

SINK = "@sink(type='log', @map(type='json'))"
SETTINGS = load_settings({})


class World:
    """An app that becomes a fleet, is cut otherwise, and the destination of its sink."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.bus = MemoryBus(MemoryCarrier(self.clock))
        self.store = MemoryStore()
        self.cursors = Cursors()
        self.told = Told()
        self.single = single_view(SINK)
        self.two = fleet_view({"all": 2}, 2, self.single, SINK)
        self.three = fleet_view({"up": 1, "all": 3}, 3, self.two, SINK)
        self.units: list[Unit] = []
        self.end = 0

    def pump(self, view: AppView) -> Pump:
        """As a publisher that has just started makes it."""
        definition = view.definition("One")
        assert isinstance(definition, ast.StreamDefinition)
        annotation, schema = definition.annotations[0], view.plan.schemas["One"]
        binding = SinkBinding("A", schema, "One.0.log", view.log.since_ms)
        (place,) = destinations(annotation)
        lane = MessageLane(binding, MessageWriter(schema, place), self.told)
        sink = StoredCursorSink(
            binding, self.cursors, build_distribution(schema, annotation), [lane]
        )
        opens = partial(self.bus.output_log, view.log, make=False)
        shared = SharedReads(opens, self.clock)
        return Pump(
            sink, self.bus, self._keeper(), self.clock, SETTINGS.publisher, Metrics(),
            get_logger(), "node", shared if view.fleet is None else view,
        )  # fmt: skip

    def _keeper(self) -> Any:
        async def held(_: int) -> bool:
            return True

        return SimpleNamespace(held=True, wait_held=held)

    @asynccontextmanager
    async def delivering(self, view: AppView, *, paused: bool = False) -> AsyncIterator[Pump]:
        """For as long as the block lasts."""
        pump = self.pump(view)
        pump.pause(paused=paused)
        task = asyncio.create_task(pump.run())
        try:
            yield pump
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def begin(self, view: AppView, position: int) -> None:
        """The units of a layout go on behind a position."""
        self.units = units_of(self.bus, view)
        log = await self.bus.input_log(LogName("A"))
        await self.bus.output_log(LogName("A"))
        for _ in range(self.end, 100):
            await log.append(TickRecord(1))
        self.end = 100
        for unit in self.units:
            await unit.begin(view.deployment.layout, position)

    async def pass_ms(self, duration_ms: int, settled: int = 0) -> None:
        """Leaders repeat their marks meanwhile."""
        for _ in range(duration_ms // 100):
            for unit in self.units if settled else ():
                await unit.settle(settled)
            await self.clock.advance_ms(100)

    async def revise(self, view: AppView, position: int, state: Generation | None = None) -> None:
        """Every unit has a verified revision there; of which state, if that is to be known."""
        for unit in view.units:
            app, group, partition = unit.log.key
            name = f"{group}.{partition}.{position}"
            if state is not None:
                name = revision_id(unit.key, state, position, "once")
            one = Revision(
                name, app, group, partition, "v", position, 1, 1, verified=False, epoch=1
            )
            await self.store.revisions.save(one, b"")
            await self.store.revisions.mark_verified(one.id)

    @property
    def delivered(self) -> list[str]:
        """The identities of the messages, in order."""
        return [(message.id or "").rpartition("/")[2] for message in self.told.taken]

    async def held(self, name: LogName) -> int:
        """How many records a log holds."""
        return (await (await self.bus.output_log(name)).held()).records


async def test_a_sink_goes_on_from_one_unit_to_many_and_from_layout_to_layout() -> None:
    """Each row once and in order, whoever delivers next, and wherever the one before stopped: in
    the app's own log, between the logs, in a former layout."""
    world = World()
    await world.begin(world.single, 0)
    await world.units[0].publish([row(1), row(2), row(2, 1, "Two")])
    async with world.delivering(world.single):
        await world.pass_ms(2_000)
    assert world.delivered == ["1.0", "2.0"]
    await world.units[0].publish([row(2, 2), row(3), row(3, 1)])
    await world.begin(world.two, 5)
    async with world.delivering(world.two):
        await world.pass_ms(500)
    assert world.delivered == ["1.0", "2.0", "2.2", "3.0", "3.1"]
    await world.units[1].publish([row(6), row(7)])
    await world.units[0].publish([row(6), row(7, 0, "Mid"), row(7, 1, "Two")])
    async with world.delivering(world.two) as pump:
        await world.pass_ms(5_000, settled=6)
        assert pump.status(9).sequence == 6
    assert world.delivered[5:] == ["6.0", "6.1"]
    await world.begin(world.three, 9)
    await world.units[3].publish([row(10)])
    async with world.delivering(world.three):
        await world.pass_ms(5_000, settled=10)
    assert world.delivered[7:] == ["7.1", "10.0"]
    async with world.delivering(world.three):
        await world.pass_ms(12_000, settled=40)
    assert len(world.delivered) == 9
    assert world.cursors.kept["A/One.0.log"] == FLEET_CURSORS + 40


async def test_a_sink_of_a_fleet_says_how_much_it_takes_and_how_late() -> None:
    """From the door to the sink, through the units' logs; and nothing more when nothing comes."""
    world = World()
    await world.begin(world.two, 0)
    async with world.delivering(world.two) as pump:
        await world.pass_ms(1_000, settled=1)
        now_ms = world.clock.now_ms()
        await world.units[0].publish([row(6), row(7)], door_ms=now_ms - 40)
        await world.units[1].publish([row(6)], door_ms=now_ms - 90)
        await world.pass_ms(2_000, settled=8)
        status = pump.status(9)
        assert len(world.delivered) == 3
        assert status.rows_per_s == 1.0
        assert 80 <= status.latency_p50_ms == status.latency_p99_ms <= 190
        await world.pass_ms(11_000, settled=8)
        assert pump.status(9).rows_per_s == 0.0


async def test_a_publisher_that_has_not_heard_of_the_fleet_delivers_nothing_twice() -> None:
    """It sees the cursor of a fleet, and waits until it knows better."""
    world = World()
    await world.begin(world.single, 0)
    await world.units[0].publish([row(1)])
    await world.cursors.put("A/One.0.log", FLEET_CURSORS + 3)
    with pytest.raises(UnavailableError, match="fleet"):
        await world.pump(world.single).run()
    assert world.delivered == []


def trimmer(world: World, view: AppView, cursors: Sequence[int] | None, keep: int) -> FleetTrimmer:
    """Keeps so many records for pages."""
    settings = load_settings({"LOCKSTEP_PUBLISHER__KEEP_RECORDS": str(keep)})
    return FleetTrimmer(
        view, world.bus, world.store.revisions, world.clock, settings, get_logger(),
        lambda: cursors,
    )  # fmt: skip


async def published(world: World, positions: range) -> None:
    """A record of each unit at each position."""
    for position in positions:
        for unit in world.units:
            await unit.publish([row(position)])


async def test_logs_forget_what_sinks_have_and_pages_need_no_more() -> None:
    """By position, in all logs alike."""
    world = World()
    await world.begin(world.two, 0)
    await published(world, range(1, 41))
    names = [unit.name for unit in world.units]
    await trimmer(world, world.two, None, 5).trim()
    assert [await world.held(name) for name in names] == [41, 41]
    await trimmer(world, world.two, [3, FLEET_CURSORS + 20], 5).trim()
    assert [await world.held(name) for name in names] == [41, 41]
    await trimmer(world, world.two, [FLEET_CURSORS + 20], 5).trim()
    assert [await world.held(name) for name in names] == [21, 21]
    one = trimmer(world, world.two, [FLEET_CURSORS + 90], 5)
    await one.trim()
    assert [await world.held(name) for name in names] == [6, 6]
    await published(world, range(41, 51))
    await one.trim()
    await published(world, range(51, 61))
    await one.trim()
    assert [await world.held(name) for name in names] == [10, 10]
    assert one.log_end == 100


async def test_a_channel_keeps_what_a_reader_may_fold_again() -> None:
    """Up to the oldest verified revision of those who read it; logs that nobody reads do not."""
    world = World()
    await world.begin(world.three, 0)
    await published(world, range(1, 41))
    up, *readers = [unit.name for unit in world.units]
    one = trimmer(world, world.three, [FLEET_CURSORS + 90], 5)
    await one.trim()
    assert [await world.held(name) for name in (up, *readers)] == [41, 6, 6, 6]
    await world.revise(world.three, 20)
    await one.trim()
    assert await world.held(up) == 21
    await world.revise(world.three, 30)
    await one.trim()
    assert await world.held(up) == 21


SMALL = {"LOCKSTEP_BUS__MAX_LOG_BYTES": "60000", "LOCKSTEP_BUS__MAX_MESSAGE_BYTES": "20000"}


async def test_a_channel_that_is_full_keeps_what_its_readers_begin_with() -> None:
    """Its readers get nothing new, so no newer revisions come in the place of the oldest ones:
    what only those need goes. Not for a reader of whose state nothing is kept that counts."""
    world, settings = World(), load_settings(SMALL)
    world.bus = MemoryBus(MemoryCarrier(world.clock, BusLimits.of(settings)))
    await world.begin(world.three, 0)
    up, *readers = world.units
    cursors = [FLEET_CURSORS + 90]
    one = FleetTrimmer(
        world.three, world.bus, world.store.revisions, world.clock, settings, get_logger(),
        lambda: cursors,
    )  # fmt: skip
    state = Generation(Life(1, 3), 0)
    await world.revise(world.three, 1, state)
    end = 0
    with contextlib.suppress(LogFullError):
        while end < 90:
            rows = [row(end + 1, at, "Mid", at) for at in range(200)]
            await up.publish(rows)
            end += 1
    assert 5 < end < 90
    before = await world.held(up.name)
    await one.trim()
    assert await world.held(up.name) >= before - 1
    # It would begin elsewhere, and never has.
    await world.revise(world.three, end, Generation(Life(1, 4), end))
    await one.trim()
    assert await world.held(up.name) >= before - 1
    await world.revise(world.three, end - 1, state)
    await one.trim()
    assert await world.held(up.name) < before // 2
    await up.publish(rows)
    log = await world.bus.output_log(up.name)
    kept = await log.read(0, max_records=1_000, max_bytes=1_000_000, wait_ms=0)
    records = [one.record for one in kept if isinstance(one.record, OutputRecord)]
    assert {one.rows[0].id.position for one in records} >= {end, end + 1}
    assert len(await world.store.revisions.list(*readers[0].name.key)) == 3


async def test_logs_of_a_former_layout_go_when_nobody_needs_them() -> None:
    """Every sink is behind it, pages have enough, and all units of the next one could begin again
    without it. The app's own log is emptied and stays: the input log bears its name."""
    world = World()
    await world.begin(world.single, 0)
    (own,) = [unit.name for unit in world.units]
    await published(world, range(1, 11))
    await world.begin(world.two, 10)
    former = [unit.name for unit in world.units]
    await published(world, range(11, 21))
    await world.begin(world.three, 20)
    await published(world, range(21, 41))
    behind = FLEET_CURSORS + 40
    late = trimmer(world, world.three, [7, behind], 5)
    await late.trim()
    assert (await world.held(own), set(former) <= set(await world.bus.logs("A"))) == (4, True)
    one = trimmer(world, world.three, [behind], 5)
    await one.trim()
    assert set(former) <= set(await world.bus.logs("A"))
    await world.revise(world.three, 40)
    await one.trim()
    logs = await world.bus.logs("A")
    assert logs == sorted([own, *(unit.name for unit in world.units)])
    assert await world.held(own) == 1
    async with world.delivering(world.three):
        await world.pass_ms(5_000, settled=40)
    assert world.delivered[0] == "10.0"
    assert await world.bus.logs("A") == logs


async def test_what_a_laggard_makes_anew_of_a_former_layout_goes_again() -> None:
    """One log or all of them, of the layout before or an earlier one; as long as the present one
    has not begun, nothing goes."""
    world = World()
    await world.begin(world.two, 0)
    former = [unit.name for unit in world.units]
    await published(world, range(1, 21))
    laggards = [former[:1], former[1:], former, [replace(former[0], group="main~1")]]
    one = trimmer(world, world.three, [FLEET_CURSORS + 40], 5)
    await announce(world.bus, world.three)
    await world.bus.output_log(laggards[3][0])
    await one.trim()
    assert {*former, *laggards[3]} <= set(await world.bus.logs("A"))
    await world.begin(world.three, 20)
    await published(world, range(21, 41))
    await world.revise(world.three, 40)
    await one.trim()
    logs = await world.bus.logs("A")
    assert logs == sorted([LogName("A"), *(unit.name for unit in world.units)])
    for made_anew in laggards:
        for name in made_anew:
            await world.bus.output_log(name)
        await one.trim()
        assert await world.bus.logs("A") == logs
