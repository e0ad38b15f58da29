"""Three brokers lose one after the other, with the leaders of partitions on it: nothing is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lockstep.bus import Accepted, LogGoneError
from lockstep.events import OutputRecord
from tests.contract.bus.carriers import KafkaCarriers, fresh_log, one_event, rows, with_limits
from tests.contract.patience import PATIENCE_S, read_on
from tests.kafka.broker import start_cluster
from tests.kafka.topics import leaderless

LIMITS = with_limits(publish_timeout_ms=60_000, connect_timeout_ms=60_000)
LOGS = 12


@pytest.mark.timeout(600)
async def test_every_broker_may_die_in_turn(tmp_path: Path) -> None:
    """Appends and reads go on over each loss; every acknowledged record is there once, in order."""
    brokers = await start_cluster(tmp_path)
    url = "kafka://" + ",".join(broker.url for broker in brokers)
    carriers = KafkaCarriers(url, replicas=3)
    bus = await carriers.connect(LIMITS)
    name = fresh_log()
    log, out = await bus.input_log(name), await bus.output_log(name)
    positions: list[int] = []

    async def load(count: int) -> None:
        for _ in range(count):
            number = len(positions)
            positions.append((await log.append(one_event(number), dedup_id=str(number))).position)
            outcome = await out.append(rows(1, number + 1), expected_sequence=number)
            assert outcome == Accepted(number + 1)

    try:
        for broker in brokers:
            loading = asyncio.create_task(load(60))
            await asyncio.sleep(0.05)  # in the midst of it, or not: both have to go well
            await broker.kill()
            await asyncio.wait_for(loading, 2 * PATIENCE_S)
            await broker.start()
            await load(10)
        entries = await read_on((await bus.input_log(name)).read, 0, len(positions))
        assert positions == list(range(1, len(positions) + 1))
        assert [each.record for each in entries] == [one_event(i) for i in range(len(positions))]
        published = await read_on(out.read, 0, len(positions))
        records = [entry.record for entry in published]
        assert all(isinstance(record, OutputRecord) for record in records)
        assert [entry.sequence for entry in published] == positions
        assert records == [rows(1, position) for position in positions]
    finally:
        await carriers.close()
        for broker in brokers:
            await broker.kill()


@pytest.mark.timeout(600)
async def test_a_log_whose_broker_is_away_is_not_taken_for_a_removed_one(tmp_path: Path) -> None:
    """Logs of one replica: while its broker is away nobody leads them, and yet they are there."""
    brokers = await start_cluster(tmp_path)
    others = ",".join(one.url for one in brokers[1:])
    carriers = KafkaCarriers(f"kafka://{others}", replicas=1)
    bus = await carriers.connect(LIMITS)
    names = [fresh_log() for _ in range(LOGS)]
    for name in names:
        log = await bus.output_log(name)
        await log.append(rows(1, 1), expected_sequence=0)
    try:
        await brokers[0].kill()
        async with asyncio.timeout(PATIENCE_S):
            while not await asyncio.to_thread(leaderless, others):
                await asyncio.sleep(0.2)
        for name in names:  # those that it led among them
            await bus.output_log(name, make=False)
        with pytest.raises(LogGoneError):
            await bus.output_log(fresh_log(), make=False)
        await brokers[0].start()
        for name in names:
            log = await bus.output_log(name, make=False)
            assert (await log.tail()).sequence == 1
    finally:
        await carriers.close()
        for broker in brokers:
            await broker.kill()
