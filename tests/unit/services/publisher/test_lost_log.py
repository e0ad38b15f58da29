"""An output log that the bus has lost: nobody who reads or trims it makes it anew, whoever delivers
says so, and nothing is delivered twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lockstep.bus import LogGoneError, LogName, TailLostError
from lockstep.control import AppView, ConnectorState
from lockstep_services.publisher.fleet_log import FLEET_CURSORS
from lockstep_services.publisher.trimming import Trimmer
from tests.fleets import Unit, row
from tests.unit.services.publisher.test_fleets import SETTINGS, World, published, trimmer

OWN = LogName("A")


async def delivered_once(world: World, view: AppView) -> None:
    """Two rows have arrived, as the sink's cursor says."""
    async with world.delivering(view):
        await world.pass_ms(1_000)
    assert world.delivered == ["1.0", "2.0"]


def since(view: AppView, since_ms: int) -> AppView:
    """The app in logs of that time."""
    deployment = view.deployment
    origin = replace(deployment.origin, logs_since_ms=since_ms)
    return replace(view, deployment=replace(deployment, origin=origin))


async def test_a_sink_that_has_more_than_the_log_delivers_nothing_again() -> None:
    """Somebody has made the log anew, and its sequences count from 1: the sink stays in trouble
    until somebody decides."""
    world = World()
    view = since(world.single, 7)
    unit = Unit(world.bus, view.log)
    await unit.begin(0, 0)
    await unit.publish([row(1)])
    await unit.publish([row(2)])
    await delivered_once(world, view)
    await world.bus.remove_logs(view.log)
    again = Unit(world.bus, view.log)
    await again.begin(0, 0)
    await again.publish([row(1)])
    pump = world.pump(view)
    task = asyncio.create_task(pump.run())
    await world.pass_ms(2_000)
    assert task.done()
    with pytest.raises(TailLostError, match="the output log ends at 2") as found:
        await task
    assert world.delivered == ["1.0", "2.0"]
    health = pump.health()
    assert (health.state, health.reason) == (ConnectorState.FAILED, str(found.value))


async def test_a_log_of_which_nobody_noted_since_when_it_is_there_may_begin_again() -> None:
    """It is older than that, and an earlier release has purged it: its rows are others."""
    world = World()
    await world.begin(world.single, 0)
    await world.units[0].publish([row(1)])
    await world.units[0].publish([row(2)])
    await delivered_once(world, world.single)
    await world.bus.remove_logs(OWN)
    await world.begin(world.single, 0)
    await world.units[0].publish([row(3)])
    async with world.delivering(world.single):
        await world.pass_ms(1_000)
    assert world.delivered == ["1.0", "2.0", "3.0"]


async def test_who_trims_does_not_make_a_log() -> None:
    """Be it gone before, or lost while it is trimmed."""
    world = World()
    one = Trimmer(OWN, world.bus, world.clock, SETTINGS, tuple)
    for was_there in (False, True):
        if was_there:
            await world.bus.output_log(OWN)
        task = asyncio.create_task(one.run())
        await world.pass_ms(100)
        await world.bus.remove_logs(OWN)
        await world.pass_ms(2 * SETTINGS.publisher.trim_interval_ms)
        assert task.done()
        with pytest.raises(LogGoneError):
            await task
    assert list(await world.bus.logs("A")) == []


async def test_who_trims_a_fleet_does_not_make_a_log() -> None:
    """Neither one of the present layout nor one that goes while it is looked at."""
    world = World()
    await world.begin(world.two, 0)
    await published(world, range(1, 11))
    lost = world.units[1].name
    await world.bus.remove_logs(lost)
    one = trimmer(world, world.two, [FLEET_CURSORS + 10], 5)
    with pytest.raises(LogGoneError):
        await one.trim()
    with pytest.raises(LogGoneError):
        await one._forget(lost, 5)
    assert lost not in await world.bus.logs("A")


async def test_a_sink_of_a_fleet_does_not_make_the_log_from_before_it_was_one() -> None:
    """It has not got all of that yet."""
    world = World()
    await world.begin(world.two, 0)
    await world.bus.remove_logs(OWN)
    await world.bus.input_log(OWN)
    pump = world.pump(world.two)
    task = asyncio.create_task(pump.run())
    await world.pass_ms(2_000)
    assert task.done()
    with pytest.raises(LogGoneError):
        await task
    assert pump.health().state is ConnectorState.RETRYING
    with pytest.raises(LogGoneError):
        await world.bus.output_log(OWN, make=False)
