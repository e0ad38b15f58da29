"""An app's text is parsed and checked once per process, however many of its services need it."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

import aiohttp
import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import log_of
from lockstep.frame import Process, World, open_world
from lockstep.settings import load_settings
from lockstep.siddhiql import ast
from lockstep.siddhiql.syntax.parser import parse_app
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.presenter.wiring import wire as presenter
from lockstep_services.processor.wiring import wire as processor
from lockstep_services.publisher.wiring import wire as publisher
from lockstep_services.receiver.wiring import wire as receiver

TEXT = (
    "@app:name('Sums') define stream In (k string, v long);"
    " from In#window.length(3) select k, sum(v) as total group by k insert into Out;"
)
SETTINGS = {
    "LOCKSTEP_BUS__KIND": "memory",
    "LOCKSTEP_LEADER__KIND": "memory",
    "LOCKSTEP_STORE__KIND": "memory",
    "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "50",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "50",
    "LOCKSTEP_SERVER__CATALOGUE_POLL_MS": "100",
}
MOST_CHECKS: Final = 1
WIRES = {
    "coordinator": coordinator,
    "processor": processor,
    "receiver": receiver,
    "publisher": publisher,
    "presenter": presenter,
}


async def test_an_app_is_read_once_by_all_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deployed, begun as a verified revision, folded, published, and verified once more."""
    read: Counter[str] = Counter()

    def counted(text: str) -> ast.App:
        read[text] += 1
        return parse_app(text)

    monkeypatch.setattr("lockstep.siddhiql.checking.app.parse_app", counted)
    clock, randomness, settings = SystemClock(), SystemRandomness(), load_settings(SETTINGS)
    world = await open_world(settings, clock, randomness)
    process = Process(settings, world, clock, randomness)
    for name, wire in WIRES.items():
        process.add(name, wire)
    await process.start()
    try:
        await _call(f"{process.running.url}/v1/apps", "PUT", {"text": TEXT})
        await _call(f"{process.running.url}/v1/apps/Sums/streams/In/events", "POST", [["a", 1]])
        async with asyncio.timeout(60):
            while not await _has_revision_behind_a_row(world):
                await clock.sleep_ms(20)
    finally:
        await process.stop()
        await world.close()
    assert 0 < read[TEXT] <= MOST_CHECKS
    assert set(read.values()) == {1}


async def _call(url: str, method: str, body: object) -> None:
    async with aiohttp.ClientSession() as session, session.request(method, url, json=body) as said:
        assert said.status < 300, await said.text()


async def _has_revision_behind_a_row(world: World) -> bool:
    deployment = await world.store.deployments.get("Sums")
    assert deployment is not None
    log = log_of(deployment)
    last = (await (await world.bus.output_log(log)).tail()).last_id
    found = await world.store.revisions.list(*log.key)
    return last is not None and any(one.verified and one.position >= last.position for one in found)
