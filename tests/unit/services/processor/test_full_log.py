"""An input log that is full takes nothing, so nothing moves: room is made all the same."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from lockstep.archive.naming import INPUT
from lockstep.archive.place import sink_name
from lockstep.bus.memory.input_log import MemoryInputLog
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import log_of
from lockstep.frame import Process, World, open_world
from lockstep.settings import Settings, load_settings
from lockstep.store import cursor_name
from lockstep.store.memory import MemoryStore
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.processor.wiring import wire as processor
from lockstep_services.receiver.wiring import wire as receiver

TEXT = "@app:name('App') define stream In (s string); from In select count() as n insert into Out;"
INTERVAL_MS = 400
SETTINGS = {
    "LOCKSTEP_BUS__KIND": "memory",
    "LOCKSTEP_LEADER__KIND": "memory",
    "LOCKSTEP_STORE__KIND": "memory",
    "LOCKSTEP_BUS__MAX_LOG_BYTES": "200000",
    "LOCKSTEP_BUS__MAX_MESSAGE_BYTES": "20000",
    "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": str(INTERVAL_MS),
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "50",
    "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "100",
}
BODY = [{"s": "x" * 10_000}]
LIMIT_S = 30


@asynccontextmanager
async def _world(settings: Settings) -> AsyncIterator[World]:
    world = await open_world(settings, SystemClock(), SystemRandomness())
    yield world
    await world.close()


@asynccontextmanager
async def _running(world: World, settings: Settings) -> AsyncIterator[str]:
    """A suite in memory, and where its apps are."""
    process = Process(settings, world, SystemClock(), SystemRandomness())
    wires = ("coordinator", coordinator), ("receiver", receiver), ("processor", processor)
    for name, wire in wires:
        process.add(name, wire)
    await process.start()
    try:
        yield f"{process.running.url}/v1/apps"
    finally:
        await process.stop()


async def _call(method: str, url: str, body: object = None) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.request(method, url, json=body) as said:
        return said.status, await said.json()


async def _send(url: str) -> int:
    return (await _call("POST", f"{url}/App/streams/In/events", BODY))[0]


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await holds():
            await asyncio.sleep(0.02)


async def _taken(url: str) -> bool:
    return await _send(url) < 300


async def _fill(url: str) -> None:
    """Until the log takes no more, and no newer revision makes room either."""
    await _until(lambda: _taken(url))
    async with asyncio.timeout(LIMIT_S):
        while await _send(url) < 300:
            pass


async def _deploy(url: str, text: str = TEXT) -> None:
    assert (await _call("PUT", url, {"text": text}))[0] < 300


async def test_a_log_that_fills_before_its_second_revision_has_room_again() -> None:
    """The oldest of several revisions would keep all of it: the newest one decides. The others
    stay, to go back to."""
    settings = load_settings(SETTINGS)
    async with _world(settings) as world, _running(world, settings) as url:
        await _deploy(url)
        await _fill(url)
        async with asyncio.timeout(4 * INTERVAL_MS / 1000):
            await _until(lambda: _taken(url))
        await _fill(url)
        await _until(lambda: _taken(url))
        deployment = await world.store.deployments.get("App")
        assert deployment is not None
        assert len(await world.store.revisions.list(*log_of(deployment).key)) > 1


async def _archive_all(world: World, settings: Settings) -> None:
    """The archive has the input log."""
    deployment = await world.store.deployments.get("App")
    assert deployment is not None
    sink, since_ms = sink_name(settings.archive, INPUT), deployment.origin.logs_since_ms
    _, end = await (await world.bus.input_log(log_of(deployment), make=False)).bounds()
    await world.store.cursors.put(cursor_name("App", sink, since_ms), end)


def _with_archive(folder: Path) -> Mapping[str, str]:
    return {**SETTINGS, "LOCKSTEP_ARCHIVE__FOLDER": str(folder)}


ARCHIVED = TEXT.replace("define", "@app:archive(retention='9 days') define")


@pytest.mark.parametrize("restarts", [False, True])
async def test_an_archive_that_comes_late_makes_room(tmp_path: Path, *, restarts: bool) -> None:
    """All is folded and nothing moves meanwhile, also where the process has begun since and has not
    seen what the log holds. Until then the app says what it waits for."""
    settings = load_settings(_with_archive(tmp_path))
    async with _world(settings) as world:
        async with _running(world, settings) as url:
            await _deploy(url, ARCHIVED)
            await _fill(url)
            await _until(lambda: _says(url, "the archive has it up to position 0 only"))
            assert await _send(url) == 503
            if not restarts:
                await _archive_all(world, settings)
                await _until(lambda: _taken(url))
                await _until(lambda: _says(url, None))
                return
        async with _running(world, settings) as url:
            await asyncio.sleep(8 * INTERVAL_MS / 1000)
            assert await _send(url) == 503
            await _archive_all(world, settings)
            await _until(lambda: _taken(url))


async def _says(url: str, trouble: str | None) -> bool:
    found = await _call("GET", f"{url}/App/status")
    told = [one["trouble"] for one in found[1]["replicas"] if one["role"] == "active"]
    if trouble is None:
        return told == [None]
    return bool(told) and trouble in str(told[0])


async def test_where_nothing_is_full_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand apps to which nothing happens would each ask at each interval."""
    settings = load_settings({**SETTINGS, "LOCKSTEP_BUS__MAX_LOG_BYTES": "2000000000"})
    asked: Counter[str] = Counter()
    async with _world(settings) as world, _running(world, settings) as url:
        await _deploy(url)
        assert await _send(url) < 300
        revisions = world.store.revisions
        assert isinstance(world.store, MemoryStore)

        async def taken() -> bool:
            deployment = await world.store.deployments.get("App")
            assert deployment is not None
            found = await revisions.list(*log_of(deployment).key)
            return len(found) > 1 and found[0].verified

        await _until(taken)
        await asyncio.sleep(INTERVAL_MS / 1000)  # what a revision makes needless goes behind it
        for of, name in ((type(revisions), "list"), (MemoryInputLog, "bounds")):
            monkeypatch.setattr(of, name, _counted(getattr(of, name), name, asked))
        await asyncio.sleep(4 * INTERVAL_MS / 1000)
        assert asked["bounds"] <= 1  # the look behind what was folded
        assert asked["list"] == 0


def _counted(ask: Any, name: str, asked: Counter[str]) -> Any:
    async def counted(*given: Any, **named: Any) -> Any:
        asked[name] += 1
        return await ask(*given, **named)

    return counted
