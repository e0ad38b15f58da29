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
from tests.chaos.network import NATS_HOSTS
from tests.chaos.scene import Scene, fault

LOST_S = 60
JUMP_MS = 60_000
BALLAST = "ballast"
BALLAST_BLOCK_BYTES = 4_194_304
SHOWN_CHARACTERS = 160


@fault("nats-node-killed")
async def nats_node_killed(scene: Scene) -> None:
    """SIGKILL for one NATS server of three."""
    await _kill_nats(scene, [scene.random.randrange(len(NATS_HOSTS))])


@fault("nats-leader-killed", copies=2)
async def nats_leader_killed(scene: Scene) -> None:
    """SIGKILL for the NATS server that leads the output log."""
    leader = await scene.site.log_leader()
    await _kill_nats(scene, [scene.random.randrange(len(NATS_HOSTS)) if leader is None else leader])


@fault("nats-restarted")
async def nats_restarted(scene: Scene) -> None:
    """SIGKILL for all three NATS servers at once; they come back on their data."""
    await _kill_nats(scene, list(range(len(NATS_HOSTS))))


@fault("nats-node-paused")
async def nats_node_paused(scene: Scene) -> None:
    """SIGSTOP for one NATS server: cut off from clients and the other two, then back."""
    index = scene.random.randrange(len(NATS_HOSTS))
    scene.site.cluster.send(index, signal.SIGSTOP)
    try:
        seconds = await scene.hold(2, 10)
    finally:
        scene.site.cluster.send(index, signal.SIGCONT)
    scene.note = f"n{index} for {seconds:.1f} s"


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
    await asyncio.to_thread(_fill, ballast)
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
    for index in site.cluster.running:
        site.cluster.kill(index)
    await asyncio.gather(redis.kill(), postgres.kill(), site.kill(*site.processes))
    await scene.hold(0, 3)
    for index in range(len(NATS_HOSTS)):
        site.cluster.start(index)
    await asyncio.gather(redis.start(), postgres.start())
    site.start(*site.processes)


async def _kill_nats(scene: Scene, indices: list[int]) -> None:
    for index in indices:
        scene.site.cluster.kill(index)
    seconds = await scene.hold(1, 8)
    for index in indices:
        scene.site.cluster.start(index)
    for index in indices:
        await scene.site.cluster.reachable(index)
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


def _fill(path: Path) -> None:
    """Takes all the space there is."""
    block = bytes(BALLAST_BLOCK_BYTES)
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(block)
            except OSError:
                if len(block) == 1:
                    return
                block = block[: len(block) // 2]
