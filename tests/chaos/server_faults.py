"""Faults of the servers under the suite: killed, paused, emptied, full."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

from redis.asyncio import Redis

from lockstep.embedded.process import descendants
from lockstep.embedded.server import Server
from tests.chaos.app import APP
from tests.chaos.network import BUS_HOSTS
from tests.chaos.scene import Scene, fault

LOST_S = 60
STOPPED_S, RUNS_S = 0.15, 0.05
JUMP_MS = 60_000
BALLAST = "ballast"
BALLAST_BLOCK_BYTES = 4_194_304
SHOWN_CHARACTERS = 160


@fault("nats-node-killed", bus="nats")
@fault("kafka-broker-killed", bus="kafka")
async def bus_node_killed(scene: Scene) -> None:
    """SIGKILL for one server of the bus, of three."""
    await _kill_bus(scene, [_or_any(scene, None)])


@fault("nats-leader-killed", copies=2, bus="nats")
@fault("kafka-leader-killed", copies=2, bus="kafka")
async def bus_leader_killed(scene: Scene) -> None:
    """SIGKILL for the server of the bus that leads the output log."""
    await _kill_bus(scene, [_or_any(scene, await scene.site.bus.leader(scene.site.log))])


@fault("kafka-coordinator-killed", bus="kafka")
async def coordinator_killed(scene: Scene) -> None:
    """SIGKILL for the broker that keeps up to where each topic was trimmed."""
    await _kill_bus(scene, [_or_any(scene, await scene.site.bus.coordinator())])


@fault("nats-restarted", bus="nats")
@fault("kafka-restarted", bus="kafka")
async def bus_restarted(scene: Scene) -> None:
    """SIGKILL for all three servers of the bus at once; they come back on their data."""
    await _kill_bus(scene, list(range(len(BUS_HOSTS))))


@fault("nats-node-paused", bus="nats")
@fault("kafka-broker-paused", bus="kafka")
async def bus_node_paused(scene: Scene) -> None:
    """SIGSTOP for one server of the bus: cut off from clients and the other two, then back."""
    index = _or_any(scene, None)
    scene.site.bus.send(index, signal.SIGSTOP)
    try:
        seconds = await scene.hold(2, 10)
    finally:
        scene.site.bus.send(index, signal.SIGCONT)
    scene.note = f"n{index} for {seconds:.1f} s"


@fault("kafka-disk-slow", bus="kafka")
async def disk_slow(scene: Scene) -> None:
    """The broker that leads the output log runs in short spells: a disk that takes its time."""
    index = _or_any(scene, await scene.site.bus.leader(scene.site.log))
    spells = scene.random.randrange(20, 60)
    for _ in range(spells):
        scene.site.bus.send(index, signal.SIGSTOP)
        try:
            await asyncio.sleep(STOPPED_S)
        finally:
            scene.site.bus.send(index, signal.SIGCONT)
        await asyncio.sleep(RUNS_S)
    scene.note = f"n{index}, {spells} times {STOPPED_S * 1_000:.0f} ms"


@fault("redis-down")
async def redis_down(scene: Scene) -> None:
    """SIGKILL for Redis; it comes back on its data."""
    await _down(scene, scene.site.servers.redis, most_s=20)


@fault("redis-lost")
async def redis_lost(scene: Scene) -> None:
    """Redis is gone for a minute and comes back empty."""
    redis = scene.site.servers.redis
    assert redis is not None
    before = sum(one.rows for one in scene.archive.arrivals)
    await redis.kill()
    await asyncio.sleep(LOST_S)
    shutil.rmtree(redis.directory / "data")
    await redis.start()
    rows = sum(one.rows for one in scene.archive.arrivals) - before
    scene.note = f"{rows} rows were published in that minute"


@fault("redis-flushed")
async def redis_flushed(scene: Scene) -> None:
    """FLUSHALL: every lease is gone at once."""
    async with Redis.from_url(scene.site.servers.redis_url) as redis:
        await redis.flushall()


@fault("redis-paused")
async def redis_paused(scene: Scene) -> None:
    """SIGSTOP for Redis for some seconds, past every lease."""
    await _pause_server(scene, scene.site.servers.redis)


@fault("redis-clock")
async def redis_clock(scene: Scene) -> None:
    """Redis' clock jumps by a minute: forwards every lease ends, back each lives a minute more.

    Done to the keys, which is all that the clock of Redis decides here.
    """
    forwards = scene.random.random() < 0.5
    touched = 0
    async with Redis.from_url(scene.site.servers.redis_url) as redis:
        async for key in redis.scan_iter():
            left_ms = await redis.pttl(key)
            if left_ms > 0:
                touched += 1
                await redis.pexpire(key, 0 if forwards else left_ms + JUMP_MS)
    scene.note = f"{'forwards' if forwards else 'back'}, {touched} leases"


@fault("postgres-down")
async def postgres_down(scene: Scene) -> None:
    """SIGKILL for PostgreSQL; it recovers from its own log."""
    await _down(scene, scene.site.servers.postgres, most_s=15)


@fault("postgres-paused")
async def postgres_paused(scene: Scene) -> None:
    """SIGSTOP for PostgreSQL and all its backends: a disk that takes its time."""
    await _pause_server(scene, scene.site.servers.postgres)


@fault("disk-full")
async def disk_full(scene: Scene) -> None:
    """The disk below PostgreSQL, where the revisions are, is full while one is asked for."""
    disk, postgres = scene.site.disk, scene.site.servers.postgres
    assert postgres is not None
    if disk is None:
        scene.skipped.append("disk-full: needs root, to mount a small file system")
        return
    ballast = disk / BALLAST
    await asyncio.to_thread(fill, ballast)
    try:
        coordinator = scene.site.of("coordinator")[0].url
        url = f"{coordinator}/v1/apps/{APP}/snapshot"
        try:
            async with scene.site.session.post(url) as response:
                said = (await response.text())[:SHOWN_CHARACTERS]
                scene.note = f"a revision was answered with {response.status}: {said}"
        except (OSError, TimeoutError) as error:
            scene.note = f"a revision was answered with {type(error).__name__}"
        await scene.hold(2, 10)
    finally:
        ballast.unlink()
    await postgres.start()


@fault("crash-everything")
async def crash_everything(scene: Scene) -> None:
    """SIGKILL for every process and every server at once, under load; then everything starts."""
    site = scene.site
    redis, postgres = site.servers.redis, site.servers.postgres
    assert redis is not None
    assert postgres is not None
    everyone = range(len(BUS_HOSTS))
    killing = (site.bus.kill(*everyone), redis.kill(), postgres.kill())
    await asyncio.gather(*killing, site.kill(*site.processes))
    await scene.hold(0, 3)
    await asyncio.gather(site.bus.start(*everyone), redis.start(), postgres.start())
    site.start(*site.processes)


def _or_any(scene: Scene, index: int | None) -> int:
    return scene.random.randrange(len(BUS_HOSTS)) if index is None else index


async def _kill_bus(scene: Scene, indices: list[int]) -> None:
    await scene.site.bus.kill(*indices)
    seconds = await scene.hold(1, 8)
    await scene.site.bus.start(*indices)
    scene.note = f"{', '.join(f'n{index}' for index in indices)} for {seconds:.1f} s"


async def _down(scene: Scene, server: Server | None, *, most_s: int) -> None:
    assert server is not None
    await server.kill()
    seconds = await scene.hold(1, most_s)
    await server.start()
    scene.note = f"for {seconds:.1f} s"


async def _pause_server(scene: Scene, server: Server | None) -> None:
    assert server is not None
    assert server.pid is not None
    pids = [server.pid, *descendants(server.pid)]
    _signal(pids, signal.SIGSTOP)
    try:
        seconds = await scene.hold(2, 10)
    finally:
        _signal(pids, signal.SIGCONT)
    scene.note = f"for {seconds:.1f} s"


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def fill(path: Path) -> None:
    """Takes all the space there is, again when there is some anew."""
    block = bytes(BALLAST_BLOCK_BYTES)
    with path.open("ab", buffering=0) as file:
        while True:
            try:
                file.write(block)
            except OSError:
                if len(block) == 1:
                    return
                block = block[: len(block) // 2]
