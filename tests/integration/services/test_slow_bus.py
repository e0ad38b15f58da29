"""A bus that does not answer in time while the lead changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.bus import OutputTail
from lockstep.bus.nats.input_log import NatsInputLog
from lockstep.bus.nats.output_log import NatsOutputLog
from lockstep.events import UnavailableError
from lockstep.events.codec import EncodedEntry
from lockstep_services.processor import runner
from lockstep_services.processor.revise.beginning import begin
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.test_processor import COUNT, expected, feed

SOON_S = 15.0
"""Who is told of nothing looks after 30 s."""


async def test_a_standby_whose_first_look_at_the_log_fails_looks_again_soon(
    cluster_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was at rest until its leader died."""
    look, refused, is_slow = NatsOutputLog.tail, 0, False

    async def tail(log: NatsOutputLog) -> OutputTail:
        nonlocal refused
        if is_slow:
            refused += 1
            raise UnavailableError("the bus did not answer")
        return await look(log)

    async def was_asked() -> bool:
        return refused > 0

    monkeypatch.setattr(NatsOutputLog, "tail", tail)
    async with cluster_of("coordinator", "receiver", "processor-1", "processor-2") as cluster:
        app = await cluster.deploy(COUNT.format(name="Patient"), replicas=2)
        await feed(cluster, app, 0, 5)
        await cluster.published_count(app, 5)
        leader = await cluster.active(app)
        await cluster.settled(app, 2)
        is_slow = True
        await cluster.crash(leader)
        await until(was_asked, "the standby to look at the log's end")
        is_slow = False
        async with asyncio.timeout(SOON_S):
            await feed(cluster, app, 5, 5)
            rows = await cluster.published_count(app, 10)
    assert [row.data for row in rows] == expected(10)


async def test_a_bus_that_cannot_be_read_for_a_while_costs_no_replica_its_state(
    cluster_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each goes on from where it was. Otherwise all fold from their revisions on at a time, and
    nobody stands by until they have caught up."""
    read = NatsInputLog.read_encoded
    refused, begun, is_away = 0, 0, False

    async def read_encoded(log: NatsInputLog, after: int, **wish: int) -> Sequence[EncodedEntry]:
        nonlocal refused
        if is_away:
            refused += 1
            raise UnavailableError("the bus cannot be reached")
        found = await read(log, after, **wish)
        if is_away:
            raise UnavailableError("the bus cannot be reached")
        return found

    async def counted(*around: Any) -> Any:
        nonlocal begun
        begun += 1
        return await begin(*around)

    async def was_asked() -> bool:
        return refused > 3

    monkeypatch.setattr(NatsInputLog, "read_encoded", read_encoded)
    monkeypatch.setattr(runner, "begin", counted)
    async with cluster_of("coordinator", "receiver", "processor-1", "processor-2") as cluster:
        app = await cluster.deploy(COUNT.format(name="Kept"), replicas=2)
        await feed(cluster, app, 0, 5)
        await cluster.published_count(app, 5)
        await cluster.settled(app, 2)
        assert begun == 2
        is_away = True
        await feed(cluster, app, 5, 5)
        await until(was_asked, "replicas to ask again")
        is_away = False
        rows = await cluster.published_count(app, 10)
        assert begun == 2
    assert [row.data for row in rows] == expected(10)
