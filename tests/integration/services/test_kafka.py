"""Kafka at both ends of the suite: records in by a source, records out by a sink, each once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.integration.services.cluster import STEADY, until
from tests.integration.services.conftest import Start
from tests.kafka.broker import KafkaBroker
from tests.kafka.topics import Found, committed, create, fresh_topic, put

NODES = ("coordinator", "processor-1", "receiver-1", "receiver-2", "publisher-1")
PARTITIONS = 2
SENT = 200


def _app(address: str, source: str, sink: str) -> str:
    return (
        f"@app:name('Through') @source(type='kafka', bootstrap.servers='{address}',"
        f" topic.list='{source}', group.id='{source}', threading.option='single.thread',"
        " optional.configuration='session.timeout.ms:6000',"
        " seq.enabled='true', @map(type='json', @attributes(n='$.n', part='trp:partition')))"
        " define stream In (n int, part int);"
        f" @sink(type='kafka', bootstrap.servers='{address}', topic='{sink}', @map(type='json'))"
        " define stream Out (n int, part int);"
        " from In select n, part insert into Out;"
    )


async def test_each_record_goes_through_once(cluster_of: Start, kafka: KafkaBroker) -> None:
    """Two receivers share the topic; one and the publisher die; a bad record is put aside, and a
    number that its sender repeats is one event."""
    source, sink = fresh_topic(), fresh_topic()
    await asyncio.to_thread(create, kafka.url, source, PARTITIONS)
    await asyncio.to_thread(create, kafka.url, sink, 1)
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(_app(kafka.url, source, sink))

        async def send(first: int, last: int) -> None:
            for partition in range(PARTITIONS):
                mine = [n for n in range(first, last) if n % PARTITIONS == partition]
                values = [f's:{n}~{{"n": {n}}}' for n in mine]
                await asyncio.to_thread(put, kafka.url, source, values, partition=partition)

        async def published(count: int) -> list[Found]:
            async def enough() -> list[Found] | None:
                found = await asyncio.to_thread(committed, kafka.url, sink)
                return found if len(found) >= count else None

            found: list[Found] = await until(enough, f"{count} records in the sink's topic")
            return found

        await send(0, SENT // 2)
        await published(1)
        await cluster.crash("receiver-1")
        await cluster.crash("publisher-1")
        await cluster.start("publisher-2")
        await asyncio.to_thread(put, kafka.url, source, ['s:9999~{"n": "x"}', 's:0~{"n": 0}'])
        await send(SENT // 2, SENT)
        found = [json.loads(each.value)["event"] for each in await published(SENT)]
        assert sorted(each["n"] for each in found) == list(range(SENT))
        assert all(each["part"] == each["n"] % PARTITIONS for each in found)
        for partition in range(PARTITIONS):
            mine = [each["n"] for each in found if each["part"] == partition]
            assert mine == sorted(mine)

        async def put_aside() -> Any:
            return await cluster.watcher.bus.dead_letters.read(app)

        (letter,) = await until(put_aside, "the dead letter")
        assert letter.letter.payload == b'{"n": "x"}'


async def test_named_partitions_are_read_by_one_receiver_at_a_time(
    cluster_of: Start, kafka: KafkaBroker
) -> None:
    """By lease: the next one goes on where it stopped, whether it dies or is stopped properly; each
    record is one event."""
    topic = fresh_topic()
    await asyncio.to_thread(create, kafka.url, topic, 3)
    text = (
        f"@app:name('Named') @source(type='kafka', bootstrap.servers='{kafka.url}',"
        f" topic.list='{topic}', group.id='{topic}', threading.option='partition.wise',"
        " partition.no.list='0,2', @map(type='json', @attributes(n='$.n')))"
        " define stream In (n int); from In select n insert into Out;"
    )
    nodes = ("coordinator", "processor-1", "receiver-1", "receiver-2", "receiver-3")
    async with cluster_of(*nodes, **STEADY) as cluster:
        app = await cluster.deploy(text)

        async def reader(gone: tuple[str, ...] = ()) -> str:
            async def held() -> str | None:
                holder = await cluster.watcher.leases.holder(f"source/{app}/In.0")
                return None if holder in gone else holder

            return str(await until(held, "a receiver that reads"))

        async def read(first: int, count: int) -> None:
            for partition in range(3):
                values = [f'{{"n": {first * 3 + i * 3 + partition}}}' for i in range(count)]
                await asyncio.to_thread(put, kafka.url, topic, values, partition=partition)

        async def taken(node: str) -> float:
            """Events that came to a receiver, new or known."""
            url = f"{cluster.nodes[node].url}/metrics"
            async with cluster.session.get(url) as response:
                lines = (await response.text()).splitlines()
            names = (
                "lockstep_receiver_events_accepted_total{",
                "lockstep_receiver_duplicates_total{",
            )
            return sum(float(line.split()[-1]) for line in lines if line.startswith(names))

        async def has_taken(node: str, count: int) -> None:
            async def counted() -> bool:
                return await taken(node) >= count  # a receiver counts what it knows to be durable

            await until(counted, f"{count} events that came to {node}")

        await read(0, 10)
        await cluster.published_count(app, 20)
        first = await reader()
        others = [name for name in nodes[2:] if name != first]
        await has_taken(first, 20)
        assert await taken(first) == 20
        assert [await taken(name) for name in others] == [0, 0]
        await cluster.crash(first)
        await read(10, 10)
        await cluster.published_count(app, 40)
        second = await reader((first,))
        (third,) = (name for name in others if name != second)
        await has_taken(second, 20)
        assert await taken(third) == 0
        await cluster.stop(second)
        await read(20, 10)
        rows = [row.data[0] for row in await cluster.published_count(app, 60)]
        assert await reader((first, second)) == third
        assert sorted(rows) == [n for n in range(90) if n % 3 != 1]
        for partition in (0, 2):
            mine = [n for n in rows if n % 3 == partition]
            assert mine == sorted(mine)
