"""Output logs in Kafka of which only the last record is left, as trimming leaves them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lockstep.bus import OutputLog
from lockstep.bus.errors import TailLostError
from lockstep.bus.kafka.output_log import KafkaOutputLog
from tests.contract.bus.carriers import KafkaCarriers, fresh_log, rows, with_limits
from tests.contract.patience import PATIENCE_S, read_on
from tests.kafka.broker import start_broker, start_cluster

LIMITS = with_limits(publish_timeout_ms=60_000, connect_timeout_ms=60_000)
LOGS = 12
RECORDS = 4


async def _trimmed(out: OutputLog) -> OutputLog:
    for number in range(RECORDS):
        await out.append(rows(1, number + 1), expected_sequence=number)
    await out.trim(RECORDS)
    return out


@pytest.mark.timeout(600)
async def test_a_new_leader_that_knows_little_does_not_lose_a_log(tmp_path: Path) -> None:
    """It tells an end that is too early until it has heard from the others. The log's end is
    looked at all the while, with each broker dying in turn, and so is what stands there."""
    brokers = await start_cluster(tmp_path)
    carriers = KafkaCarriers("kafka://" + ",".join(one.url for one in brokers), replicas=3)
    bus = await carriers.connect(LIMITS)
    logs = [await _trimmed(await bus.output_log(fresh_log())) for _ in range(LOGS)]
    over = asyncio.Event()

    async def look() -> int:
        looks = 0
        while not over.is_set():
            tails = await asyncio.gather(*(log.tail() for log in logs))
            assert [tail.sequence for tail in tails] == [RECORDS] * LOGS
            looks += 1
        return looks

    looking = asyncio.create_task(look())
    try:
        for broker in brokers:
            await broker.kill()
            await asyncio.sleep(1.0)  # some leaders are elected meanwhile, others are not
            await broker.start()
        over.set()
        assert await asyncio.wait_for(looking, 4 * PATIENCE_S) > 0
        for log in logs:
            (entry,) = await read_on(log.read, RECORDS - 1, 1)
            assert entry.record == rows(1, RECORDS)
    finally:
        looking.cancel()
        await carriers.close()
        for broker in brokers:
            await broker.kill()


async def test_a_log_whose_last_record_was_deleted_says_so(tmp_path: Path) -> None:
    """Whoever appended now could not know what was published. A hint says what to do."""
    broker = await start_broker(tmp_path)
    carriers = KafkaCarriers(f"kafka://{broker.url}")
    bus = await carriers.connect(with_limits(publish_timeout_ms=2_000))
    try:
        out = await _trimmed(await bus.output_log(fresh_log()))
        assert isinstance(out, KafkaOutputLog)
        await out._broker.drop(out._topic, RECORDS)
        with pytest.raises(TailLostError, match="was deleted") as told:
            await out.tail()
        assert "restore" in str(told.value.hint)
    finally:
        await carriers.close()
        await broker.kill()
