"""Intakes of apps: one that is deployed anew has one of its own, and the one before ends, as does
that of an app that is undeployed."""

from __future__ import annotations

import asyncio

import pytest

from lockstep.bus import Appended, InputLog
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemRandomness, VirtualClock
from lockstep.control import AppView
from lockstep.events import Attribute, AttributeType, Life, StreamSchema, UnavailableError
from lockstep.frame import Tasks
from lockstep.plan import build
from lockstep.settings import load_settings
from lockstep.siddhiql import check
from lockstep.store import Deployment
from lockstep.telemetry import get_logger
from lockstep_services.receiver.intakes import Intakes
from lockstep_services.receiver.runs import Run
from lockstep_services.receiver.values import RawEvent

TEXT = "@app:name('A') define stream In (v int); from In select v insert into Out;"
PLAN = build(check(TEXT))
SCHEMA = StreamSchema("In", (Attribute("v", AttributeType.INT),))
RUN = Run(SCHEMA, [(RawEvent((1,), None),)], 10)


def view_of(deployed_ms: int) -> AppView:
    """The app as it was deployed then."""
    return AppView(Deployment("A", TEXT, "1", Life(deployed_ms, 1), 1, 0), PLAN)


class Receiver:
    """The intakes of a receiver, and what is deployed."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.tasks = Tasks(self.clock, get_logger())
        self.bus = MemoryBus(MemoryCarrier(self.clock))
        self.deployed: dict[str, AppView] = {}
        self.intakes = Intakes(
            self.bus, self.deployed.get, self.tasks, self.clock, SystemRandomness(),
            load_settings({}),
        )  # fmt: skip

    async def deploy(self, deployed_ms: int) -> AppView:
        """The app at that time, instead of the one before."""
        view = self.deployed["A"] = view_of(deployed_ms)
        await self.bus.input_log(view.log)
        return view


async def test_an_app_that_is_deployed_anew_has_another_intake() -> None:
    """What waited in the one before becomes durable. Who still means that app is told to come
    again, and disturbs nobody."""
    receiver = Receiver()
    intakes = receiver.intakes
    first = intakes.of(await receiver.deploy(1))
    waits = first.submit([RUN], None)
    second = intakes.of(await receiver.deploy(2))
    assert [intakes.is_idle] == [False]
    with pytest.raises(UnavailableError, match="deployed anew"):
        intakes.of(view_of(1))
    with pytest.raises(UnavailableError, match="deployed anew"):
        await first.submit([RUN], None)
    assert intakes.of(view_of(2)) is second
    assert (await waits).duplicate is False
    assert (await second.submit([RUN], "key", in_order=False)).duplicate is False
    await receiver.clock.advance_ms(1)
    assert receiver.tasks.names == {"intake-A-2"}
    assert intakes.is_idle
    await receiver.tasks.stop_all()


async def test_an_app_that_is_undeployed_keeps_no_intake() -> None:
    """What waited becomes durable. Who still means that app is told to come again, and does not
    bring it back."""
    receiver = Receiver()
    view = await receiver.deploy(1)
    waits = receiver.intakes.of(view).submit([RUN], None)
    receiver.deployed.clear()
    receiver.intakes.keep(receiver.deployed)
    with pytest.raises(UnavailableError, match="undeployed"):
        receiver.intakes.of(view)
    assert not receiver.intakes.is_idle
    assert (await waits).duplicate is False
    await receiver.clock.advance_ms(1)
    assert not receiver.tasks.names
    assert receiver.intakes.last_position("A") == 0
    receiver.intakes.keep(receiver.deployed)
    assert not receiver.intakes._ending


class Held:
    """An input log that answers when it is told to."""

    def __init__(self, log: InputLog) -> None:
        self._log = log
        self.goes_on = asyncio.Event()

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        """As that of a busy bus."""
        await self.goes_on.wait()
        return await self._log.append_encoded(payload, dedup_id=dedup_id)


async def held_log(receiver: Receiver, view: AppView, monkeypatch: pytest.MonkeyPatch) -> Held:
    """What the receiver has of that app from now on."""
    held = Held(await receiver.bus.input_log(view.log))

    async def opened(*_: object, **__: object) -> Held:
        return held

    monkeypatch.setattr(receiver.bus, "input_log", opened)
    return held


async def test_an_app_that_was_missed_for_a_moment_has_an_intake_that_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one before it still appends meanwhile: what it took stands in front, and what comes now
    does not wait for ever."""
    receiver = Receiver()
    intakes, view = receiver.intakes, await receiver.deploy(1)
    held = await held_log(receiver, view, monkeypatch)
    first = intakes.of(view).submit([RUN], "k1")
    await receiver.clock.advance_ms(1)
    intakes.keep([])
    second = intakes.of(view).submit([RUN], "k2")
    assert intakes.of(view) is intakes.of(view)
    await receiver.clock.advance_ms(100)
    assert receiver.tasks.names == {"intake-A-1", "intake-A-1-2"}
    held.goes_on.set()
    await receiver.clock.advance_ms(100)
    assert [first.done(), second.done()] == [True, True]
    assert first.result().last < second.result().first
    assert receiver.tasks.names == {"intake-A-1-2"}
    await receiver.tasks.stop_all()


async def test_who_waits_for_an_intake_that_is_gone_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody is there who would append it: to be sent again."""
    receiver = Receiver()
    view = await receiver.deploy(1)
    await held_log(receiver, view, monkeypatch)
    intake = receiver.intakes.of(view)
    intake.submit([RUN], None)
    await receiver.clock.advance_ms(1)  # it is under way, and the next one waits
    waits = intake.submit([RUN], None)
    await receiver.tasks.stop_all()
    for asked in (waits, intake.submit([RUN], None)):
        with pytest.raises(UnavailableError, match="stopping") as told:
            await asyncio.wait_for(asked, 5)
        assert told.value.retryable


async def test_a_receiver_that_ends_takes_nothing_more() -> None:
    """Neither for an app that it took events for, nor for one that nobody has sent to yet: the
    tasks that would append them have ended."""
    receiver = Receiver()
    view = await receiver.deploy(1)
    first = receiver.intakes.of(view)
    await receiver.tasks.stop_all()
    receiver.intakes.close()
    with pytest.raises(UnavailableError, match="stopping"):
        await first.submit([RUN], None)
    for asked in (view, await receiver.deploy(2)):
        with pytest.raises(UnavailableError, match="stopping"):
            receiver.intakes.of(asked)
    assert not receiver.tasks.names
