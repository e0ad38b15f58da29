"""A bus that does not answer in time while the lead changes."""

from __future__ import annotations

import asyncio

import pytest

from lockstep.bus import OutputTail
from lockstep.bus.nats.output_log import NatsOutputLog
from lockstep.events import UnavailableError
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
