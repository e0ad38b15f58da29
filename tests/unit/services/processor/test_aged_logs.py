"""An input log forgets by age, also while its app does not run or nothing happens to it: who begins
again then finds a revision behind which nothing is missing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from lockstep.bus import LogName
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import log_of
from lockstep.frame import Process, World, open_world
from lockstep.settings import Settings, load_settings
from lockstep.store import Revision
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.processor import runner
from lockstep_services.processor.revise.revisions import RevisionLoop
from lockstep_services.processor.wiring import wire as processor
from lockstep_services.receiver.wiring import wire as receiver

TEXT = "@app:name('App') define stream In (v int); from In select count() as n insert into Out;"
SETTINGS = {
    "LOCKSTEP_BUS__KIND": "memory",
    "LOCKSTEP_LEADER__KIND": "memory",
    "LOCKSTEP_STORE__KIND": "memory",
    "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "600000",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "50",
    "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "100",
}
OFTEN = {**SETTINGS, "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "100"}
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


async def _call(method: str, url: str, body: object = None) -> Any:
    async with aiohttp.ClientSession() as session, session.request(method, url, json=body) as said:
        assert said.status < 300, await said.text()
        return await said.json()


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await holds():
            await asyncio.sleep(0.02)


async def _leads_at(url: str, position: int) -> None:
    """It has come so far, or further."""

    async def leads() -> bool:
        found = (await _call("GET", f"{url}/App/status"))["replicas"]
        return any(one["role"] == "active" and one["position"] >= position for one in found)

    await _until(leads)


async def _deploy(url: str) -> None:
    await _call("PUT", url, {"text": TEXT})


async def _send(url: str) -> None:
    await _call("POST", f"{url}/App/streams/In/events", [{"v": 1}])


async def _name(world: World) -> LogName:
    there = [*await world.store.deployments.list()]
    there += [one.deployment for one in await world.store.deployments.removed()]
    return log_of(there[0])


async def _revisions(world: World) -> list[Revision]:
    """Those that count, the newest first."""
    found = await world.store.revisions.list(*(await _name(world)).key)
    return [one for one in found if one.verified]


async def _age(world: World) -> int:
    """All that the log holds is over age; gives its end."""
    log = await world.bus.input_log(await _name(world), make=False)
    _, end = await log.bounds()
    await log.trim(end)
    return end


async def test_a_stop_in_good_order_leaves_a_revision_of_what_came_last() -> None:
    """The log may be empty by the time the app begins again."""
    settings = load_settings(SETTINGS)
    async with _world(settings) as world:
        async with _running(world, settings) as url:
            await _deploy(url)
            await _leads_at(url, 0)
            for _ in range(3):
                await _send(url)
            await _leads_at(url, 3)
        end = await _age(world)
        assert (await _revisions(world))[0].position == end
        async with _running(world, settings) as url:
            await _leads_at(url, end)
            taken = await _revisions(world)
        assert [one.id for one in await _revisions(world)] == [one.id for one in taken]


async def test_processors_that_stop_together_leave_one_too() -> None:
    """Each hears of the other, and neither goes on."""
    settings = load_settings(SETTINGS)
    async with _world(settings) as world:
        other = Process(settings, world, SystemClock(), SystemRandomness())
        other.add("processor", processor)
        await other.start()
        stopping: asyncio.Task[None] | None = None
        async with _running(world, settings) as url:
            await _deploy(url)
            for _ in range(3):
                await _send(url)
            await _leads_at(url, 3)

            async def both_are_there() -> bool:
                found = (await _call("GET", f"{url}/App/status"))["replicas"]
                return len(found) == 2 and all(one["position"] >= 3 for one in found)

            await _until(both_are_there)
            stopping = asyncio.create_task(other.stop())
        await stopping
        end = await _age(world)
        assert (await _revisions(world))[0].position == end


async def test_an_app_that_only_began_begins_again() -> None:
    """Its log has lost the first tick: nothing else was ever in it."""
    settings = load_settings(SETTINGS)
    async with _world(settings) as world:
        async with _running(world, settings) as url:
            await _deploy(url)
            await _leads_at(url, 1)
        end = await _age(world)
        async with _running(world, settings) as url:
            await _leads_at(url, end)


async def test_undeploying_leaves_a_revision_of_what_came_last() -> None:
    """The same app goes on from it, however late it is deployed again."""
    settings = load_settings(SETTINGS)
    async with _world(settings) as world, _running(world, settings) as url:
        await _deploy(url)
        for _ in range(3):
            await _send(url)
        await _leads_at(url, 3)
        await _call("DELETE", f"{url}/App")

        async def gone() -> bool:
            kept, (_, end) = await _revisions(world), await log.bounds()
            return kept[0].position == end

        log = await world.bus.input_log(await _name(world), make=False)
        await _until(gone)
        end = await _age(world)
        await _deploy(url)
        await _leads_at(url, end)


async def test_a_quiet_app_has_a_revision_before_its_log_forgets() -> None:
    """Where it is aborted later on, the log has nothing left of what it folded."""
    settings = load_settings(
        {
            **OFTEN,
            "LOCKSTEP_BUS__MAX_LOG_AGE_MS": "4000",
            "LOCKSTEP_RECEIVER__DEDUP_WINDOW_MS": "1000",
        }
    )
    async with _world(settings) as world, _running(world, settings) as url:
        await _deploy(url)
        await _leads_at(url, 1)
        assert [one.position for one in await _revisions(world)] == [0]

        async def taken() -> bool:
            return (await _revisions(world))[0].position == 1

        await _until(taken)
        await asyncio.sleep(1.5)
        assert len(await _revisions(world)) == 2


async def test_no_stop_waits_long_for_a_last_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer holds up nobody: the log is folded again."""
    settings = load_settings(SETTINGS)

    async def never(_: RevisionLoop) -> str:
        await asyncio.Event().wait()
        raise AssertionError

    async with _world(settings) as world:
        async with _running(world, settings) as url:
            await _deploy(url)
            await _send(url)
            await _leads_at(url, 1)
            monkeypatch.setattr(runner, "LAST_REVISION_LIMIT_MS", 200)
            monkeypatch.setattr(RevisionLoop, "take", never)
            began_s = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - began_s < 10
        monkeypatch.undo()
        async with _running(world, settings) as url:
            await _leads_at(url, 1)
