"""A processor that stops waits for its units together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import log_of
from lockstep.events.codec import EventsHeader
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import Context, Process, Service, ThreadOffload, Wire, World, open_world
from lockstep.leader.roll import LeaseRoll
from lockstep.settings import load_settings
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.processor import wiring
from lockstep_services.processor.fold.folding import FoldLoop
from lockstep_services.processor.wiring import Processor
from lockstep_services.receiver.wiring import wire as receiver

APPS = ("One", "Two", "Three")
TEXT = "@app:name('{}') define stream In (v long); from In select v insert into Out;"
SETTINGS = {
    "LOCKSTEP_BUS__KIND": "memory",
    "LOCKSTEP_LEADER__KIND": "memory",
    "LOCKSTEP_STORE__KIND": "memory",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "50",
    "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "100",
}
LIMIT_S = 60


class Slices:
    """Those of all apps: none ends before all apps' are waited for."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Event()
        self._waited_for = 0

    def wait_for(self) -> None:
        """One more is waited for."""
        self._waited_for += 1
        if self._waited_for == len(APPS):
            self.may_end.set()

    def wire(self, context: Context) -> Service:
        """A processor of such apps."""
        slices = self

        class Slow(ReferenceExecutor):
            """Its slices end when they may."""

            def run_encoded(self, entries: Any) -> Any:
                if any(isinstance(each.header, EventsHeader) for each in entries):
                    slices.begun.release()
                    slices.may_end.wait(LIMIT_S)
                return super().run_encoded(entries)

        return Processor(context, lambda plan, _: Slow(plan), ThreadOffload)


async def _call(url: str, method: str, body: object) -> None:
    async with aiohttp.ClientSession() as session, session.request(method, url, json=body) as said:
        assert said.status < 300, await said.text()


@asynccontextmanager
async def running(processor: Wire) -> AsyncIterator[tuple[World, Process]]:
    """A suite in memory whose processor folds an event of each app."""
    clock, randomness, settings = SystemClock(), SystemRandomness(), load_settings(SETTINGS)
    world = await open_world(settings, clock, randomness)
    process = Process(settings, world, clock, randomness)
    wires = ("coordinator", coordinator), ("receiver", receiver), ("processor", processor)
    for name, wire in wires:
        process.add(name, wire)
    await process.start()
    for app in APPS:
        url = f"{process.running.url}/v1/apps"
        await _call(url, "PUT", {"text": TEXT.format(app)})
        await _call(f"{url}/{app}/streams/In/events", "POST", [{"v": 1}])
    try:
        yield world, process
    finally:
        await process.stop()
        await world.close()


async def test_units_whose_slices_are_long_are_waited_for_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One after the other, each would be given away in the middle of its slice when its time is up.
    While it is waited for, a unit keeps no other one from giving its lead away."""
    slices, rest = Slices(), FoldLoop.at_rest

    async def at_rest(fold: FoldLoop) -> None:
        slices.wait_for()
        await rest(fold)

    monkeypatch.setattr(wiring, "GIVE_AT_A_TIME", 1)
    with capture_logs() as told:
        async with running(slices.wire) as (world, process):
            for _ in APPS:
                assert await asyncio.to_thread(slices.begun.acquire, timeout=LIMIT_S)
            monkeypatch.setattr(FoldLoop, "at_rest", at_rest)
            await process.stop()
            for app in APPS:
                deployment = await world.store.deployments.get(app)
                assert deployment is not None
                output = await world.bus.output_log(log_of(deployment))
                assert (await output.tail()).last_id is not None
    assert not [one for one in told if one["event"] == "given away in the middle of a slice"]


async def test_units_of_a_processor_that_is_cut_off_stop_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each may wait for a lease server that does not answer: all of them wait at the same time."""
    processors: list[Processor] = []
    given_back: list[str] = []
    all_wait = asyncio.Barrier(len(APPS))
    forget = LeaseRoll.forget

    def wired(context: Context) -> Service:
        processors.append(
            Processor(context, lambda plan, _: ReferenceExecutor(plan), ThreadOffload)
        )
        return processors[-1]

    async def slowly(roll: LeaseRoll, resource: str) -> None:
        await asyncio.wait_for(all_wait.wait(), LIMIT_S)
        await forget(roll, resource)
        given_back.append(resource)

    async with running(wired):
        async with asyncio.timeout(LIMIT_S):
            while [one.role for one in processors[0]._statuses()] != ["active"] * len(APPS):
                await asyncio.sleep(0.02)
        monkeypatch.setattr(LeaseRoll, "forget", slowly)
        await asyncio.wait_for(processors[0]._let_go(), LIMIT_S)
        monkeypatch.setattr(LeaseRoll, "forget", forget)
        assert len(given_back) == len(APPS)
