"""A cluster of three loses one server after another, its leaders among them: nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lockstep.bus import Accepted, Coded
from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemRandomness
from lockstep.events import ClaimRecord, OutputRecord, UnavailableError
from lockstep.events.codec import encode_record
from tests.contract.bus.carriers import fresh_log, one_event, rows, with_limits
from tests.contract.bus.cluster import Cluster
from tests.contract.patience import PATIENCE_S, read_on

pytestmark = pytest.mark.servers

LIMITS = with_limits(replicas=3, publish_timeout_ms=30_000, connect_timeout_ms=20_000)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """Three servers, up and with a leader."""
    async with Cluster(tmp_path) as started:
        for index in range(3):
            await started.reachable(index)
        yield started


async def _connect(cluster: Cluster) -> NatsBus:
    async with asyncio.timeout(60):
        while True:
            try:
                return await NatsBus.connect(cluster.url, LIMITS, SystemRandomness())
            except UnavailableError:  # the cluster has yet to choose its leader
                await asyncio.sleep(0.2)


async def test_every_server_may_die_in_turn(cluster: Cluster) -> None:
    """Appends and reads go on over each loss; every acknowledged record is there once, in order."""
    bus = await _connect(cluster)
    name = fresh_log()
    log, reader, out = (
        await bus.input_log(name),
        await bus.input_log(name),
        await bus.output_log(name),
    )
    assert await out.append(ClaimRecord(1, "a", 1), expected_sequence=0) == Accepted(1)
    positions: list[int] = []
    sequence = 1

    async def load(count: int) -> None:
        nonlocal sequence
        for _ in range(count):
            number = len(positions)
            if number % 3:
                records = [(await log.append(one_event(number), dedup_id=str(number)))]
            else:
                both = [Coded(encode_record(one_event(n)), str(n)) for n in (number, number + 1)]
                records = list(await log.append_together(both))
            for record in records:
                positions.append(record.position)
                outcome = await out.append(rows(1, len(positions)), expected_sequence=sequence)
                assert isinstance(outcome, Accepted)
                sequence = outcome.sequence

    for index in range(3):
        loading = asyncio.create_task(load(60))
        await asyncio.sleep(0.02)
        cluster.kill(index)
        await asyncio.wait_for(loading, 2 * PATIENCE_S)
        cluster.start(index)
        await cluster.healthy(index)
        await load(10)
    entries = await read_on(reader.read, 0, len(positions))
    assert positions == list(range(1, len(positions) + 1))
    assert [entry.record for entry in entries] == [one_event(i) for i in range(len(positions))]
    published = await read_on(out.read, 0, sequence)
    places = [
        row.id.position
        for entry in published
        if isinstance(entry.record, OutputRecord)
        for row in entry.record.rows
    ]
    assert places == positions
    await bus.close()
