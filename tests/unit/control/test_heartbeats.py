"""What heartbeats tell: how far a state is settled."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from lockstep import __version__
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SeededRandomness, SystemClock, VirtualClock
from lockstep.control import Beating, GroupStatus, Heartbeat, HeartbeatWatch, send_heartbeat
from lockstep.control.heartbeats import Heard
from lockstep.control.messages import HEARTBEATS
from lockstep.events import Generation, Life
from lockstep.frame.footprint import Footprint
from lockstep.settings import load_settings
from lockstep.telemetry import get_logger


def status(settled: int, state: Generation) -> GroupStatus:
    """Of a replica that folds this state."""
    return GroupStatus(
        "App", "main", 0, "v1", state.life.deployed_ms, "passive", settled, settled,
        settled=settled, generation=state.life.number, begins_behind=state.position,
    )  # fmt: skip


async def test_what_is_settled_is_told_of_the_same_state_alone() -> None:
    """A replica that folds on what was there before a restore has no rows where its successor has
    some; the furthest word of the same state counts."""
    bus, now = MemoryBus(MemoryCarrier(SystemClock())), Generation(Life(100, 3), 103)
    watch = HeartbeatWatch(bus.topics, SystemClock(), get_logger(), max_retry=3)
    listening = asyncio.create_task(watch.run())
    states = (
        Generation(Life(100, 1), 0),
        Generation(Life(90, 3), 103),
        Generation(Life(100, 3), 101),
        now,
        now,
    )
    try:
        await asyncio.sleep(0)
        for number, (settled, state) in enumerate(
            zip((109, 108, 107, 104, 105), states, strict=True)
        ):
            beat = Heartbeat(
                f"n{number}", "processor", "", 0, 60_000, groups=(status(settled, state),)
            )
            await send_heartbeat(bus.topics, beat)
        async with asyncio.timeout(30):
            while len(watch.alive("processor")) < len(states):
                await asyncio.sleep(0.01)
        assert watch.settled("App", "main", 0, now) == 105
        assert watch.settled("App", "main", 1, now) == 0
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def context_on(bus: MemoryBus, clock: VirtualClock) -> Any:
    """Of a processor."""
    return SimpleNamespace(
        service="processor", node="n", url=lambda: "", clock=clock, log=get_logger(),
        world=SimpleNamespace(bus=bus), settings=load_settings({}), randomness=SeededRandomness(1),
        footprint=lambda: Footprint(150, 7),
    )  # fmt: skip


async def test_what_a_process_has_said_itself_it_does_not_read_again() -> None:
    """It is the same heartbeat as for everybody else, and it counts when the bus brings it."""
    clock = VirtualClock()
    bus, now = MemoryBus(MemoryCarrier(clock)), Generation(Life(100, 3), 103)
    groups = [status(7, now)]
    beating = Beating(context_on(bus, clock), groups=lambda: tuple(groups))
    own, other = (
        HeartbeatWatch(bus.topics, clock, get_logger(), max_retry=3, said=said)
        for said in (beating.said, lambda _: None)
    )
    tasks = [asyncio.create_task(one.run()) for one in (own, other)]
    await clock.advance_ms(1)
    for settled in (7, 8):
        groups[0] = status(settled, now)
        await clock.advance_ms(2_000)
        await beating.say()
        await clock.advance_ms(1)
        (mine,), (theirs,) = own.alive("processor"), other.alive("processor")
        assert mine == theirs
        assert own.settled("App", "main", 0, now) == settled
        assert own.groups("App")[0][1] is groups[0]
        assert other.groups("App")[0][1] is not groups[0]
    assert beating.said(b"{}") is None
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_groups_are_found_by_app_whatever_the_heartbeat_before_told() -> None:
    """Where to find them is kept as long as the same apps come in the same order."""
    state = Generation(Life(1, 1), 0)

    def beat(*apps: str) -> Heartbeat:
        groups = (replace(status(place, state), app=app) for place, app in enumerate(apps))
        return Heartbeat("n", "processor", "", 0, 1_000, groups=tuple(groups))

    heard: Heard | None = None
    for apps in (("A", "B", "A"), ("A", "B", "A"), ("B", "A"), (), ("C",)):
        before, heard = heard, Heard.of(beat(*apps), 0, heard)
        for app in "ABC":
            settled = [place for place, one in enumerate(apps) if one == app]
            assert [group.settled for group in heard.groups(app)] == settled
        is_alike = before is not None and before.apps == heard.apps
        assert (before is not None and before.places is heard.places) == is_alike


def test_heartbeats_of_earlier_releases_are_read() -> None:
    """They say nothing of hosts, processes and load; what a later one adds is passed over."""
    told = b'{"node":"n","service":"processor","url":"","sent_ms":1,"interval_ms":2,"new":[1]}'
    beat = msgspec.json.decode(told, type=Heartbeat)
    assert (beat.incarnation, beat.host, beat.zone, beat.cpu_percent) == ("", "", "", 0)
    assert (beat.version, beat.process_cpu_percent, beat.resident_bytes) == ("", None, None)
    group = (
        b'{"app":"A","group":"main","partition":0,"version":"v","deployed_ms":1,"role":"active",'
        b'"position":1,"log_end":1}'
    )
    found = msgspec.json.decode(group, type=GroupStatus)
    assert (found.events_per_s, found.busy_permille) == (0, 0)


@pytest.mark.parametrize(("groups", "fewest", "most"), [(1, 10, 22), (1_000, 1, 3)])
async def test_large_heartbeats_out_of_turn_are_seldom(groups: int, fewest: int, most: int) -> None:
    """A thousand apps that find a leader one after the other say so in a few messages a second."""
    clock = VirtualClock()
    bus, heard = MemoryBus(MemoryCarrier(clock)), []
    carried = tuple(status(1, Generation(Life(1, 1), 0)) for _ in range(groups))
    beating = Beating(context_on(bus, clock), groups=lambda: carried)
    subscription = await bus.topics.subscribe(HEARTBEATS)

    async def listen() -> None:
        async for _, payload in subscription:
            heard.append(payload)

    tasks = [asyncio.create_task(listen()), asyncio.create_task(beating.run())]
    for _ in range(100):
        await clock.advance_ms(10)
        await beating.say()
    assert fewest <= len(heard) <= most
    beat = msgspec.json.decode(heard[-1], type=Heartbeat)
    assert (beat.version, beat.process_cpu_percent, beat.resident_bytes) == (__version__, 150, 7)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
