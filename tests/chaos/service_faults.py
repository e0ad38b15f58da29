"""Faults of the suite's own processes: killed, paused, stopped, told a wrong time, handed over."""

from __future__ import annotations

import asyncio
import signal

import aiohttp

from lockstep.clock import SystemClock
from tests.chaos.app import APP
from tests.chaos.scene import Scene, fault
from tests.chaos.service import set_offset

CLOCK = SystemClock()
SKEW_MS = 60_000
ASKED_AGAIN_S = 0.2
"""After so long, for a hand-over that says "try again"."""


@fault("kill-active", copies=6)
async def kill_active(scene: Scene) -> None:
    """SIGKILL for the leading processor; how long until the next one's rows is the failover. It
    waits for a bus that is still choosing its leaders, or the failover would be that of both."""
    await scene.is_steady()
    active = await scene.active()
    epoch, killed_ms = scene.archive.epoch, CLOCK.monotonic_ms()
    await scene.site.kill(active)
    took_ms = await scene.next_leader(epoch, killed_ms)
    scene.failovers_ms.append(took_ms)
    scene.note = f"{active}, failover {took_ms} ms"
    await scene.hold(0, 3)
    scene.site.start(active)


@fault("kill-standby", copies=2)
async def kill_standby(scene: Scene) -> None:
    """SIGKILL for the standby."""
    await _kill(scene, await scene.standby())


@fault("kill-publisher")
async def kill_publisher(scene: Scene) -> None:
    """SIGKILL for a publisher."""
    await _kill(scene, scene.one_of("publisher"))


@fault("kill-receiver")
async def kill_receiver(scene: Scene) -> None:
    """SIGKILL for a receiver; its clients go to the other one."""
    await _kill(scene, scene.one_of("receiver"))


@fault("kill-presenter")
async def kill_presenter(scene: Scene) -> None:
    """SIGKILL for the presenter."""
    await _kill(scene, scene.one_of("presenter"))


@fault("kill-coordinator")
async def kill_coordinator(scene: Scene) -> None:
    """SIGKILL for a coordinator."""
    await _kill(scene, scene.one_of("coordinator"))


@fault("pause-active", copies=2)
async def pause_active(scene: Scene) -> None:
    """SIGSTOP for the leading processor, past its lease, then SIGCONT: it finds itself fenced."""
    await _pause(scene, await scene.active(), 2, 8)


@fault("pause-standby")
async def pause_standby(scene: Scene) -> None:
    """SIGSTOP for the standby for some seconds."""
    await _pause(scene, await scene.standby(), 2, 8)


@fault("pause-any")
async def pause_any(scene: Scene) -> None:
    """SIGSTOP for a receiver, publisher, presenter or coordinator for some seconds."""
    service = scene.random.choice(("receiver", "publisher", "presenter", "coordinator"))
    await _pause(scene, scene.one_of(service), 1, 6)


@fault("stop-active")
async def stop_active(scene: Scene) -> None:
    """SIGTERM for the leading processor: it hands its lead over and leaves."""
    active = await scene.active()
    scene.note = active
    scene.site.down.add(active)
    await scene.site.processes[active].stop()
    await scene.hold(0, 2)
    scene.site.start(active)


@fault("handover", copies=4)
async def hand_over(scene: Scene) -> None:
    """The lead is handed to the standby as planned. The silence between the two counts where rows
    came without pauses before; else it would be one pause of many."""
    url = f"{scene.site.of('coordinator')[0].url}/v1/apps/{APP}/handover"
    timeout = aiohttp.ClientTimeout(total=30)
    limit_ms = CLOCK.monotonic_ms() + 1_000 * scene.limit_s
    while True:
        await scene.standby()
        is_steady = await scene.is_steady()
        epoch = scene.archive.epoch
        asked_ms = CLOCK.monotonic_ms()
        async with scene.site.session.post(url, timeout=timeout) as response:
            if response.status == 200:
                break
            # Another one may lead just then, or the standby have fallen behind: it says so.
            if response.status != 503 or asked_ms > limit_ms:
                raise AssertionError(f"no handover: {response.status} {await response.text()}")
        await asyncio.sleep(ASKED_AGAIN_S)
    await scene.next_leader(epoch, asked_ms)
    arrivals = scene.archive.arrivals
    first = next(i for i, one in enumerate(arrivals) if one.epoch > epoch)
    gap_ms = arrivals[first].at_ms - arrivals[first - 1].at_ms
    scene.note = f"gap {gap_ms} ms"
    if is_steady:
        scene.handovers_ms.append(gap_ms)
    else:
        scene.note += ", not counted: rows came with pauses before it, too"


@fault("clock-skew", copies=2)
async def clock_skew(scene: Scene) -> None:
    """One host's wall clock jumps by a minute, forwards or back, and later returns."""
    node = scene.random.choice(sorted(scene.site.processes))
    offset_ms = scene.random.choice((SKEW_MS, -SKEW_MS))
    scene.note = f"{node} {offset_ms:+} ms"
    set_offset(scene.site.clock_of(node), offset_ms)
    await scene.hold(3, 10)
    set_offset(scene.site.clock_of(node), 0)


async def _kill(scene: Scene, node: str) -> None:
    scene.note = node
    await scene.site.kill(node)
    await scene.hold(0, 5)
    scene.site.start(node)


async def _pause(scene: Scene, node: str, low_s: float, high_s: float) -> None:
    process = scene.site.processes[node]
    process.send(signal.SIGSTOP)
    try:
        seconds = await scene.hold(low_s, high_s)
    finally:
        process.send(signal.SIGCONT)
    scene.note = f"{node} for {seconds:.1f} s"
