"""What the feed shows at once, and what it tells the presenter topics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.events import OutputId, OutputRecord, OutputRow, UnavailableError
from tests.fleets import fleet_view, row, single_view, units_of
from tests.unit.services.presenter.feeds import TEXT, running, view


async def test_topics_carry_what_comes_once_the_app_is_followed_and_nothing_older() -> None:
    """However soon behind that it comes."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        subscription = await world.bus.topics.subscribe("presenter.A.*")
        await world.publish(log, "One")
        models = await world.feed.find("A")
        assert models is not None
        await world.clock.advance_ms(0)
        assert models.history_end == 1
        await world.publish(log, "One")
        await world.publish(log, "One")
        await world.clock.advance_ms(10)
        await subscription.close()
        told = [json.loads(payload)["event"]["v"] async for _, payload in subscription]
        assert told == [2, 3]
        assert models.streams["One"].total == 3


async def test_who_follows_an_app_does_not_make_its_log() -> None:
    """One that is missing was lost: what a new one holds is nothing that pages may show."""
    async with running() as world:
        await world.feed.find("A")
        await world.clock.advance_ms(2_000)
        assert list(await world.bus.logs("A")) == []


async def test_an_app_is_found_before_the_catalogue_has_looked() -> None:
    """Whoever deploys it may ask for it at once; what is not deployed is not there."""
    async with running() as world:
        assert world.feed.models("A") is None
        assert await world.feed.find("B") is None
        assert await world.feed.find("A") is world.feed.models("A") is not None


async def test_listeners_miss_nothing_when_a_topic_cannot_be_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All streams' rows of a reading reach those who listen, whatever becomes of the topics."""

    async def away(*_: Any, **__: Any) -> None:
        raise UnavailableError("away")

    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        models = await world.feed.find("A")
        assert models is not None
        await world.clock.advance_ms(0)
        listener = world.listeners.add("A", "Two", "sse")
        monkeypatch.setattr(type(world.bus.topics), "publish", away)
        await world.publish(log, "One", "Two")
        await world.clock.advance_ms(1_000)
        assert [row.data for row in listener.take()] == [(1,)]
        assert models.streams["One"].total == 1


async def test_another_version_tells_nobody_again_what_the_one_before_has_told() -> None:
    """It reads the log from its beginning; rows of another shape are not shown."""
    wider = TEXT.replace("select v insert into One", "select v, v as w insert into One")
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        await world.feed.find("A")
        await world.clock.advance_ms(0)
        listeners = [world.listeners.add("A", name, "sse") for name in ("One", "Two")]
        subscription = await world.bus.topics.subscribe("presenter.A.*")
        await world.publish(log, "One", "Two")
        await world.clock.advance_ms(10)
        world.apps.stored["A"] = view(wider)
        world.apps.views = [world.apps.stored["A"]]
        await world.feed.follow_catalogue()
        rows = (
            OutputRow(OutputId(9, 0), "One", 1, (9, 9)), OutputRow(OutputId(9, 1), "Two", 1, (9,)),
        )  # fmt: skip
        await log.append(OutputRecord(1, rows), expected_sequence=1)
        await world.clock.advance_ms(10)
        heard = [[row.data for row in listener.take()] for listener in listeners]
        assert heard == [[(1,), (9, 9)], [(1,), (9,)]]
        await subscription.close()
        told = [json.loads(payload)["event"] async for _, payload in subscription]
        assert told == [{"v": 1}, {"v": 1}, {"v": 9, "w": 9}, {"v": 9}]
        models = world.feed.models("A")
        assert models is not None
        assert [row.data for row in models.streams["One"].latest(10)] == [(9, 9)]
        assert [row.data for row in models.streams["Two"].latest(10)] == [(9,), (1,)]


async def test_an_app_with_new_logs_tells_them_from_their_first_row() -> None:
    """Purged and deployed anew: its sequences begin again."""
    async with running() as world:
        log = await world.bus.output_log(LogName("A"))
        models = await world.feed.find("A")
        assert models is not None
        await world.publish(log, "One")
        await world.clock.advance_ms(10)
        world.apps.views = [view(created_ms=1)]
        await world.feed.follow_catalogue()
        again = world.feed.models("A")
        assert again is not None
        assert (again is models, again.told, again.history_end) == (False, None, None)


async def test_a_fleet_is_shown_as_one_app_and_nobody_is_told_a_row_twice() -> None:
    """One unit, then two, then three: listeners hear each row once, topics what is new, and pages
    look back on all of it. Channels between units are not shown."""
    async with running() as world:
        single = single_view()
        two = fleet_view({"up": 1, "down": 1}, 2, single)
        three = fleet_view({"up": 1, "down": 2}, 3, two)
        listener = world.listeners.add("A", "One", "sse")
        subscription = await world.bus.topics.subscribe("presenter.A.*")
        for view, begin in ((single, 0), (two, 2), (three, 4)):
            units = units_of(world.bus, view)
            for unit in units:
                await unit.begin(view.deployment.layout or 1, begin)
            world.apps.stored["A"] = view
            world.apps.views = [view]
            await world.feed.follow_catalogue()
            await world.clock.advance_ms(1_000)
            await units[-1].publish([row(begin + 1, 0, "One", begin + 1)])
            later = [row(begin + 2, 0, "One", begin + 2)]
            if view is not single:
                later = [row(begin + 2, 0, "Mid"), row(begin + 2, 1, "One", begin + 2)]
            await units[0].publish(later)
            for _ in range(20):
                for unit in units:
                    await unit.settle(begin + 2)
                await world.clock.advance_ms(100)
        heard = [row.data for row in listener.take()]
        assert heard == [(value,) for value in range(1, 7)]
        models = world.feed.models("A")
        assert models is not None
        assert set(models.streams) == {"One", "Two"}
        assert [str(row.id.position) for row in models.streams["One"].latest(9)] == list("654321")
        assert {row.id.ordinal for row in models.streams["One"].latest(4)} == {0}
        await subscription.close()
        told = [json.loads(payload)["event"]["v"] async for _, payload in subscription]
        assert told == sorted(set(told))
        assert set(told) >= {3, 4, 5, 6}
