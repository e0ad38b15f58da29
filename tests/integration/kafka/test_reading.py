"""How many clients reading takes, on a real broker: one for all logs; none when nobody reads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from lockstep.bus import BusLimits, InputLog
from tests.contract.bus.carriers import KafkaCarriers, fresh_log, one_event, with_limits
from tests.contract.patience import eventually, read_on
from tests.kafka.broker import KafkaBroker

LOGS = 20
RECORDS = 30
FAR = 3
SMALL = with_limits(read_ahead_bytes=2_048, readers_per_log=2, quiet_after_ms=300)


async def _filled(carriers: KafkaCarriers, limits: BusLimits, count: int) -> list[InputLog]:
    """Logs with records, opened anew by a process that has read nothing."""
    names = [fresh_log() for _ in range(count)]
    writer, reader = await carriers.connect(), await carriers.connect(limits)
    for name in names:
        log = await writer.input_log(name)
        for number in range(RECORDS):
            await log.append(one_event(number))
    return [await reader.input_log(name) for name in names]


def _threads(kind: str = "kafka-read") -> int:
    return sum(thread.name == kind for thread in threading.enumerate())


async def _whole(log: InputLog) -> Sequence[object]:
    return [entry.record for entry in await read_on(log.read, 0, RECORDS)]


async def test_all_logs_are_read_with_one_client(kafka: KafkaBroker) -> None:
    """Twenty logs that are read at once take one thread; it ends when nobody reads any more."""
    carriers = KafkaCarriers(f"kafka://{kafka.url}")
    before = _threads()
    try:
        logs = await _filled(carriers, SMALL, LOGS)
        found = await asyncio.gather(*(_whole(log) for log in logs))
        assert found == [[one_event(number) for number in range(RECORDS)]] * LOGS
        assert _threads() == before + 1

        async def ended() -> bool:
            return _threads() == before

        await eventually(ended)
        assert await _whole(logs[0]) == found[0]
    finally:
        await carriers.close()


async def test_readers_far_apart_take_turns(kafka: KafkaBroker) -> None:
    """Three readers in three places of one log that does not fit into one window get all of it,
    with the two clients that they are allowed."""
    carriers = KafkaCarriers(f"kafka://{kafka.url}")
    before = _threads()
    try:
        bus = await carriers.connect(SMALL)
        name = fresh_log()
        writer = await bus.input_log(name)
        for number in range(RECORDS):
            await writer.append(one_event("x" * 1_000 + str(number)))
        readers = [await bus.input_log(name) for _ in range(FAR)]
        places = [number * RECORDS // FAR for number in range(FAR)]
        found: list[list[int]] = [[] for _ in readers]
        most = 0
        while any(place < RECORDS for place in places):
            for number, reader in enumerate(readers):
                entries = await reader.read(
                    places[number], max_records=5, max_bytes=10_000, wait_ms=2_000
                )
                found[number] += [entry.position for entry in entries]
                places[number] = entries[-1].position if entries else places[number]
            most = max(most, _threads() - before)
        first = [number * RECORDS // FAR for number in range(FAR)]
        assert found == [list(range(one + 1, RECORDS + 1)) for one in first]
        assert most == SMALL.readers_per_log
    finally:
        await carriers.close()
