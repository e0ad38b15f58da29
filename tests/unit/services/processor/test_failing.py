"""A replica that fails again and again says so, and why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import UnavailableError
from lockstep.frame import Process, open_world
from lockstep.settings import load_settings
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.processor import runner
from lockstep_services.processor.revise.revisions import RevisionLoop
from lockstep_services.processor.wiring import wire as processor
from lockstep_services.receiver.wiring import wire as receiver

TEXT = "@app:name('App') define stream In (v long); from In select v insert into Out;"
SETTINGS = {
    "LOCKSTEP_BUS__KIND": "memory",
    "LOCKSTEP_LEADER__KIND": "memory",
    "LOCKSTEP_STORE__KIND": "memory",
    "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "50",
    "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "100",
}
LIMIT_S = 60


@pytest_asyncio.fixture
async def url() -> AsyncIterator[str]:
    """Of a suite in memory."""
    clock, randomness, settings = SystemClock(), SystemRandomness(), load_settings(SETTINGS)
    world = await open_world(settings, clock, randomness)
    process = Process(settings, world, clock, randomness)
    process.add("coordinator", coordinator)
    process.add("receiver", receiver)
    process.add("processor", processor)
    await process.start()
    yield f"{process.running.url}/v1/apps"
    await process.stop()
    await world.close()


async def _call(method: str, url: str, body: object = None) -> Any:
    async with aiohttp.ClientSession() as session, session.request(method, url, json=body) as said:
        assert said.status < 300, await said.text()
        return await said.json()


async def _status(url: str, role: str, *, position: int = 0) -> Any:
    """As soon as the app's only replica has that role, and has come so far."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            found = await _call("GET", f"{url}/App/status")
            told = [(one["role"], one["position"]) for one in found["replicas"]]
            if told == [(role, position)]:
                return found
            await asyncio.sleep(0.02)


async def _refuses(*_: object) -> None:
    raise UnavailableError("the store refuses us")


async def test_the_status_says_of_what_a_replica_fails(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it runs."""
    with monkeypatch.context() as patch:
        patch.setattr(runner, "begin", _refuses)
        await _call("PUT", url, {"text": TEXT})
        failing = await _status(url, "failing")
    (told,) = failing["replicas"]
    assert "the store refuses us" in told["trouble"]
    assert not told["ready"]
    assert failing["status"] == "passive"
    (told,) = (await _status(url, "active"))["replicas"]
    assert told["trouble"] is None


async def test_one_that_ran_says_how_far_it_came(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Receivers go by that: what it has folded is no lag."""
    breaks = asyncio.Event()

    async def run(_: RevisionLoop) -> None:
        await breaks.wait()
        raise ValueError("a defect")

    monkeypatch.setattr(RevisionLoop, "run", run)
    await _call("PUT", url, {"text": TEXT})
    await _call("POST", f"{url}/App/streams/In/events", [{"v": 1}])
    (leading,) = (await _status(url, "active", position=1))["replicas"]
    monkeypatch.setattr(runner, "begin", _refuses)
    breaks.set()
    (failing,) = (await _status(url, "failing", position=1))["replicas"]
    assert failing["epoch"] == leading["epoch"]
    assert not failing["ready"]
