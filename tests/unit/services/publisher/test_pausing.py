"""A sink that is paused: what is under way ends, what failed waits, nothing is given up."""

from __future__ import annotations

import pytest

from lockstep.control import ConnectorState
from lockstep.events import UnavailableError
from lockstep_services.publisher.pump import Pump
from tests.fleets import row
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
