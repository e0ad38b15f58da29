"""What somebody hears who comes back: each row once, or a word that some are gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.bus.memory.output_log import MemoryOutputLog
from lockstep.events import Operation, OutputId, OutputRecord, OutputRow, UnavailableError
from lockstep.frame import Problem
from lockstep_services.presenter import following
from lockstep_services.presenter.api import HISTORY_WAIT_MS, Lookup
from lockstep_services.presenter.feed import READING, AppModels
from lockstep_services.presenter.following import Ended, Gap, Heard, follow
from lockstep_services.presenter.models import TRIMMED
from lockstep_services.presenter.resuming import ResumePoint
from tests.fleets import fleet_view, row, units_of
from tests.unit.services.presenter.feeds import TEXT, World, running, view

WIDER = TEXT.replace("select v insert into One", "select v, v as w insert into One")
TABLE = (
    "@app:name('A') define stream In (k string, v int);"
    " @store(type='rdbms') @primaryKey('k') define table T (k string, v int);"
    " from In select k, v update or insert into T on T.k == k;"
    " from In select v insert into One;"
)


@asynccontextmanager
async def heard(
    world: World, models: AppModels, seen: OutputId | None, stream: str = "One"
) -> AsyncIterator[list[Any]]:
    """What a listener hears while the block runs: rows' values, a gap, an end."""
    listener = world.listeners.add("A", stream, "sse")
    found: list[Any] = []

    def note(one: Heard) -> None:
        if isinstance(one, Gap | Ended):
            found.append(one)
        else:
            found.extend(row.data[0] for row in one or ())

    async def listen() -> None:
        async for one in follow(
            world.feed, models, models.streams[stream], ResumePoint(seen), listener,
            world.listeners.closing, world.clock,
        ):  # fmt: skip
            note(one)

    listening = asyncio.ensure_future(listen())
    try:
        await world.clock.advance_ms(0)
        yield found
    finally:
        listening.cancel()
        world.listeners.remove("A", stream, listener)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes reading logs take a moment, as over a network; called with the world's clock."""
    read = MemoryOutputLog.read

    def start(world: World) -> None:
        async def slow(log: MemoryOutputLog, after: int, **how: Any) -> Any:
            await world.clock.sleep_ms(20)
            return await read(log, after, **how)

        monkeypatch.setattr(MemoryOutputLog, "read", slow)

    return start


async def test_who_comes_while_history_is_read_hears_it_whole(slowly: Any) -> None:
    """With `after` all behind that; without it what comes from now on; and history is no rate."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        for _ in range(4):
            await world.publish(log, "One")
        slowly(world)
        models = await world.found()
        async with (
            heard(world, models, OutputId(1, 0)) as back,
            heard(world, models, None) as new,
        ):
            assert (back, new) == ([], [])
            await world.clock.advance_ms(50)
            assert (back, new) == ([2, 3, 4], [])
            assert models.streams["One"].rate_per_s(world.clock.monotonic_ms()) == 0
            await world.publish(log, "One")
            await world.clock.advance_ms(100)
            assert (back, new) == ([2, 3, 4, 5], [5])
            assert models.streams["One"].rate_per_s(world.clock.monotonic_ms()) == 0.1


async def test_who_comes_back_to_another_version_misses_nothing(slowly: Any) -> None:
    """What it shows alike it has at once; what it shows otherwise is read first."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        before = await world.found()
        for _ in range(4):
            await world.publish(log, "One", "Two")
        await world.clock.advance_ms(10)
        slowly(world)
        alike = await world.upgrade(view(TEXT + " from In select v insert into Three;"))
        assert alike.streams["One"] is before.streams["One"]
        async with heard(world, alike, OutputId(1, 0)) as back:
            await world.clock.advance_ms(50)
            assert back == [2, 3, 4]
        other = await world.upgrade(view(WIDER))
        assert other.streams["One"] is not before.streams["One"]
        async with heard(world, other, OutputId(1, 1), "Two") as back:
            await world.clock.advance_ms(50)
            assert back == [2, 3, 4]
            await world.publish(log, "Two")
            await world.clock.advance_ms(50)
            assert back == [2, 3, 4, 5]


async def test_a_version_that_shows_all_alike_reads_on_where_the_other_was() -> None:
    """Though the log has forgotten what it shows."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        before = await world.found()
        for _ in range(4):
            await world.publish(log, "One")
        await world.clock.advance_ms(10)
        await log.trim(3)
        models = await world.upgrade(view(TEXT + " -- another text"))
        assert (models.sequence, models.caught_up.is_set()) == (before.sequence, True)
        await world.publish(log, "One")
        async with heard(world, models, OutputId(1, 0)) as back:
            await world.clock.advance_ms(10)
            assert back == [2, 3, 4, 5]


async def test_who_was_away_longer_than_the_log_keeps_is_told() -> None:
    """By a presenter that has not seen what is gone, of every stream; not where nothing is."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        for streams in (("One",), ("One",), ("Two",), ("One",), ("One",)):
            await world.publish(log, *streams)
        await log.trim(3)
        models = await world.found()
        await world.clock.advance_ms(10)
        gap = Gap(OutputId(1, 0), "history is gone")
        async with (
            heard(world, models, OutputId(1, 0)) as long_away,
            heard(world, models, OutputId(1, 0), "Two") as rare,
            heard(world, models, OutputId(4, 0)) as back,
        ):
            await world.clock.advance_ms(10)
            assert (long_away, rare, back) == ([gap, 4, 5], [gap], [5])


async def test_a_fleets_presenter_says_what_its_logs_have_forgotten() -> None:
    """Its positions have holes of their own, which are no gaps."""
    for trimmed_to, expected in ((0, []), (3, [Gap(OutputId(2, 0), "history is gone")])):
        async with running() as world:
            fleet = fleet_view({"up": 1, "down": 1}, 2)
            up, down = units_of(world.bus, fleet)
            for unit in (up, down):
                await unit.begin(2, 0)
            for position in (2, 4, 6):
                await up.publish([row(position, 0, "One", position)])
            log = await world.bus.output_log(up.name)
            await log.trim(trimmed_to)
            models = await world.upgrade(fleet)
            async with heard(world, models, OutputId(2, 0)) as back:
                for _ in range(20):
                    for unit in (up, down):
                        await unit.settle(6)
                    await world.clock.advance_ms(100)
                assert back == [*expected, *([6] if trimmed_to else [4, 6])]


async def test_a_unit_that_is_away_holds_up_its_own_rows_alone() -> None:
    """Those behind what all units have settled are told when it is back."""
    async with running() as world:
        fleet = fleet_view({"up": 1, "down": 1}, 2)
        up, down = units_of(world.bus, fleet)
        for unit in (up, down):
            await unit.begin(2, 0)
        await up.publish([row(1, 0, "One", 1)])
        await down.publish([row(1, 0, "Two", 1)])
        await up.publish([row(3, 0, "One", 3)])
        models = await world.upgrade(fleet)
        async with heard(world, models, OutputId(0, 0)) as back:
            for _ in range(60):
                await up.settle(3)
                await down.settle(1)
                await world.clock.advance_ms(100)
            assert back == [1]
            for _ in range(20):
                await down.settle(3)
                await world.clock.advance_ms(100)
            assert back == [1, 3]


async def test_history_that_cannot_be_read_ends_it_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another presenter may have it."""

    async def away(*_: Any, **__: Any) -> Sequence[Any]:
        raise UnavailableError("away")

    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        await world.publish(log, "One")
        monkeypatch.setattr(MemoryOutputLog, "read", away)
        models = await world.found()
        reading = asyncio.ensure_future(world.feed.has_read(models, 500))
        await world.clock.advance_ms(1_000)
        assert await reading is False
        request: Any = SimpleNamespace(match_info={"app": "A", "stream": "One"})
        polling = asyncio.ensure_future(Lookup(world.feed).read(request))
        await world.clock.advance_ms(HISTORY_WAIT_MS)
        with pytest.raises(Problem, match="still being read") as refused:
            await polling
        assert refused.value.status == 503
        async with heard(world, models, OutputId(0, 0)) as back:
            for _ in range(following.HISTORY_LOOKS + 1):
                await world.clock.advance_ms(following.HISTORY_LOOK_MS)
            assert back == [Ended.READING]


async def test_a_presenter_that_stops_while_it_reads_gives_no_part_of_history(
    slowly: Any,
) -> None:
    """Its client goes on elsewhere."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        await world.publish(log, "One")
        slowly(world)
        models = await world.found()
        async with heard(world, models, OutputId(0, 0)) as back:
            world.listeners.close()
            await world.clock.advance_ms(2_000)
            assert back == [Ended.LEAVING]


async def test_a_table_says_why_rows_may_be_missing() -> None:
    """The next version keeps its rows; a presenter that starts behind trimmed changes cannot."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        world.apps.stored["A"] = view(TABLE)
        models = await world.found()
        for at, key in enumerate("abc", 1):
            change = OutputRow(OutputId(at, 0), "T", 1, (key, at), Operation.UPSERT)
            await log.append(OutputRecord(1, (change,)), expected_sequence=at - 1)
        await world.clock.advance_ms(10)
        await log.trim(2)
        models = await world.upgrade(view(TABLE + " from In select k insert into Third;"))
        await world.clock.advance_ms(10)
        table = models.tables["T"]
        assert (len(table), models.missing(table)) == (3, None)
        await world.upgrade(view(created_ms=0))
        models = await world.upgrade(view(TABLE))
        table = models.tables["T"]
        assert models.missing(table) == READING
        await world.clock.advance_ms(10)
        assert (len(table), models.missing(table)) == (1, table.missing)
        assert TRIMMED in (table.missing or "")
