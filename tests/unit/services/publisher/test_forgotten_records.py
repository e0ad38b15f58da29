"""A sink that was taken out, and comes back when the log has forgotten what it had not got: it goes
on with what is there, and says what it misses."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from lockstep.bus import LogName
from lockstep.control import ConnectorState
from tests.fleets import row
from tests.unit.services.publisher.test_fleets import World

OWN = LogName("A")
RECORDS = 12


async def delivered(world: World, *, cursor: int, forgotten: int) -> str:
    """What heartbeats then say as the last error. The first record is a leader's claim, each other
    one has a row."""
    await world.begin(world.single, 0)
    for position in range(1, RECORDS):
        await world.units[0].publish([row(position)])
    log = await world.bus.output_log(OWN)
    await log.trim(forgotten)
    if cursor:
        await world.cursors.put("A/One.0.log", cursor)
    async with world.delivering(world.single) as pump:
        await world.pass_ms(1_000)
        first = max(cursor, forgotten)
        assert world.delivered == [f"{n}.0" for n in range(first, RECORDS)]
        await world.units[0].publish([row(RECORDS)])
        await world.pass_ms(1_000)
        health = pump.health()
    assert world.delivered[-1] == f"{RECORDS}.0"
    assert health.state is ConnectorState.RUNNING
    return health.last_error


async def test_what_it_misses_is_told() -> None:
    """Once, in the log and in its health."""
    with capture_logs() as told:
        error = await delivered(World(), cursor=3, forgotten=8)
    assert error == "5 records of the output log were forgotten before this sink had got them"
    (gap,) = [one for one in told if one["log_level"] == "error"]
    assert (gap["records"], gap["cursor"], gap["sink"]) == (5, 3, "One.0.log")


@pytest.mark.parametrize(("cursor", "forgotten"), [(8, 8), (9, 8), (0, 8), (3, 0)])
async def test_who_misses_nothing_says_nothing(cursor: int, forgotten: int) -> None:
    """Nor does a new sink, which begins with what the log still has."""
    with capture_logs() as told:
        assert await delivered(World(), cursor=cursor, forgotten=forgotten) == ""
    assert [one for one in told if one["log_level"] == "error"] == []


async def test_the_step_from_one_unit_to_a_fleet_is_no_gap() -> None:
    """Though the cursor jumps there."""
    world = World()
    await world.begin(world.single, 0)
    await world.units[0].publish([row(1)])
    await world.cursors.put("A/One.0.log", 1)
    await world.begin(world.two, 5)
    with capture_logs() as told:
        async with world.delivering(world.two) as pump:
            await world.pass_ms(14_000, settled=6)
            assert pump.status(9).sequence == 6
            assert pump.health().last_error == ""
    assert world.delivered == ["1.0"]
    assert [one for one in told if one["log_level"] == "error"] == []
