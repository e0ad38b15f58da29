"""A sink that is paused, away or in trouble: what is under way ends, what failed waits, nothing is
given up, and who asks for more is told."""

from __future__ import annotations

import asyncio

import pytest

from lockstep.control import ConnectorState
from lockstep.control.health import MAX_TEXT
from lockstep.events import LockstepError, UnavailableError
from lockstep.sinks import Message
from lockstep_services.publisher.aside import MAX_REASON
from lockstep_services.publisher.pump import Pump
from tests.fleets import row
from tests.unit.services.publisher.parts import Told
from tests.unit.services.publisher.test_fleets import World

LONG_MS = 600_000


def state_of(pump: Pump) -> tuple[ConnectorState, str]:
    """As heartbeats tell it."""
    health = pump.health()
    return health.state, health.reason


@pytest.mark.parametrize("is_cut", [False, True])
async def test_nothing_is_delivered_until_it_goes_on(*, is_cut: bool) -> None:
    """Of an app in one unit, and in several; also where it was paused before it began."""
    world = World()
    view = world.two if is_cut else world.single
    await world.begin(view, 0)
    settled = 40 if is_cut else 0
    async with world.delivering(view, paused=True) as pump:
        await world.units[0].publish([] if is_cut else [row(1)])
        await world.pass_ms(2_000, settled=settled)
        assert (world.delivered, state_of(pump)) == ([], (ConnectorState.PAUSED, ""))
        with pytest.raises(UnavailableError, match="the sink is paused"):
            await pump.again([row(1)])
        for unit in world.units:
            await unit.publish([row(50)])
        pump.pause(paused=False)
        await world.pass_ms(14_000, settled=60 if is_cut else 0)
        assert world.delivered == (["50.0", "50.1"] if is_cut else ["1.0", "50.0"])
        assert state_of(pump) == (ConnectorState.RUNNING, "")
        pump.pause(paused=True)
        for unit in world.units:
            await unit.publish([row(70)])
        await world.pass_ms(14_000, settled=80 if is_cut else 0)
        assert len(world.delivered) == 2


async def test_what_failed_waits_for_the_end_of_the_pause_and_is_not_given_up() -> None:
    """However long it takes; then it has all of its tries again."""
    world = World()
    await world.begin(world.single, 0)
    world.told.is_away = True
    async with world.delivering(world.single) as pump:
        await world.units[0].publish([row(1), row(2)])
        await world.pass_ms(200)
        assert state_of(pump) == (ConnectorState.RETRYING, "away")
        assert pump.status(1).trouble == "away"
        pump.pause(paused=True)
        assert state_of(pump) == (ConnectorState.PAUSED, "")
        assert pump.status(1).trouble is None
        await world.clock.advance_ms(LONG_MS)
        assert await world.bus.dead_letters.read("A") == []
        assert pump.health().last_error == "away"
        world.told.is_away = False
        pump.pause(paused=False)
        await world.pass_ms(500)
        assert world.delivered == ["1.0", "2.0"]
        assert state_of(pump) == (ConnectorState.RUNNING, "")
        assert pump.health().last_error == "away"


async def test_rows_of_the_error_store_do_not_wait_for_a_batch_that_is_tried_again() -> None:
    """It may be tried for ever. Who asks is told why, and nothing is delivered later after all."""
    world = World()
    await world.begin(world.single, 0)
    world.told.is_away = True
    async with world.delivering(world.single) as pump:
        await world.units[0].publish([row(1)])
        await world.pass_ms(200)
        asked = asyncio.create_task(pump.again([row(90)]))
        await world.pass_ms(100)
        assert asked.done()
        with pytest.raises(UnavailableError, match="the sink is away: away"):
            await asked
        pump.pause(paused=True)
        await world.pass_ms(100)
        asked = asyncio.create_task(pump.again([row(90)]))
        await world.pass_ms(100)
        assert asked.done()
        with pytest.raises(UnavailableError, match="the sink is paused"):
            await asked
        world.told.is_away = False
        pump.pause(paused=False)
        await world.pass_ms(10_000)
        assert world.delivered == ["1.0"]
        await pump.again([row(90)])
        assert world.delivered == ["1.0", "90.0"]


class Slow(Told):
    """Says nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def send(self, message: Message) -> None:
        """Takes its time."""
        self.asked.set()
        await self.may_answer.wait()
        await super().send(message)


@pytest.mark.parametrize("fails", [True, False])
async def test_rows_of_the_error_store_wait_for_a_batch_that_is_under_way(*, fails: bool) -> None:
    """Until it has arrived, or is to be tried again."""
    world = World()
    world.told = told = Slow()
    await world.begin(world.single, 0)
    async with world.delivering(world.single) as pump:
        await world.units[0].publish([row(1)])
        await world.pass_ms(200)
        await told.asked.wait()
        asked = asyncio.create_task(pump.again([row(90)]))
        await world.pass_ms(200)
        assert not asked.done()
        told.is_away = fails
        told.may_answer.set()
        await world.pass_ms(100)
        assert asked.done()
        if fails:
            with pytest.raises(UnavailableError, match="the sink is away: away"):
                await asked
        assert world.delivered == ([] if fails else ["1.0", "90.0"])


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (RuntimeError("a password"), "RuntimeError: the publisher's log has more of it"),
        (LockstepError("a mistake"), "a mistake"),
        (LockstepError("x" * 1_000_000), "x" * MAX_REASON),
    ],
)
async def test_whatever_ends_a_delivery_is_shown(error: Exception, shown: str) -> None:
    """Who runs the suite sees why nothing comes, though it is no row's fault; in so many characters
    as a heartbeat can hold."""

    class Broken(Told):
        """Takes nothing."""

        async def send(self, message: Message) -> None:
            """Fails."""
            raise error

    world = World()
    world.told = Broken()
    await world.begin(world.single, 0)
    await world.units[0].publish([row(1)])
    pump = world.pump(world.single)
    with pytest.raises(type(error)):
        await pump.run()
    assert pump.status(1).trouble == shown
    assert state_of(pump) == (ConnectorState.FAILED, shown[:MAX_TEXT])
