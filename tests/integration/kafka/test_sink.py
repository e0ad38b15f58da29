"""The Kafka sink on a real broker: each row once for those who read what is committed."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest
from confluent_kafka import Producer

from lockstep.clock import SystemClock
from lockstep.events import (
    Attribute,
    AttributeType,
    FencedError,
    OutputId,
    OutputRow,
    StreamSchema,
    UnavailableError,
)
from lockstep.siddhiql import ast, parse
from lockstep.store.memory import MemoryStore
from lockstep_services.publisher.contract import (
    Batch,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)
from lockstep_services.publisher.sinks.kafka import KafkaSink
from tests.kafka.broker import KafkaBroker
from tests.kafka.topics import committed, create, fresh_topic

pytestmark = pytest.mark.servers
PATIENCE_MS = 60_000

SCHEMA = StreamSchema(
    "Out", (Attribute("room", AttributeType.STRING), Attribute("value", AttributeType.INT))
)


def _binding() -> SinkBinding:
    return SinkBinding(f"App-{uuid.uuid4().hex}", SCHEMA, "Out.0.kafka")


def _sink(
    binding: SinkBinding, address: str, topic: str, *, timeout_ms: int = PATIENCE_MS, **options: str
) -> KafkaSink:
    named = {"type": "kafka", "bootstrap.servers": address, "topic": topic}
    named |= {name.replace("_", "."): value for name, value in options.items()}
    elements = tuple(ast.Element(name, value) for name, value in named.items())
    annotation = ast.Annotation("sink", elements)
    return KafkaSink(binding, annotation, MemoryStore().cursors, timeout_ms=timeout_ms)


def _annotated(binding: SinkBinding, text: str) -> KafkaSink:
    app = parse(f"{text} define stream Out (room string, value int);")
    definition = app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    (annotation,) = definition.annotations
    return KafkaSink(binding, annotation, MemoryStore().cursors, timeout_ms=PATIENCE_MS)


def _batch(up_to: int, *values: Any, room: str = "attic") -> Batch:
    rows = [
        OutputRow(OutputId(up_to, ordinal), "Out", 1_000 + ordinal, (room, value))
        for ordinal, value in enumerate(values)
    ]
    return Batch(up_to, rows)


def _values(address: str, topic: str) -> list[int]:
    return [json.loads(each.value)["event"]["value"] for each in committed(address, topic)]


async def test_rows_arrive_in_order_with_their_ids_and_the_cursor_stays(kafka: KafkaBroker) -> None:
    """Who opens the sink next goes on behind what was delivered."""
    binding, topic = _binding(), fresh_topic()
    sink = _sink(binding, kafka.url, topic, key="{{room}}")
    assert await sink.open() == 0
    await sink.deliver(_batch(3, 1, 2))
    await sink.deliver(_batch(5))
    await sink.deliver(_batch(7, 3))
    await sink.close()
    found = await asyncio.to_thread(committed, kafka.url, topic)
    assert [json.loads(each.value)["event"]["value"] for each in found] == [1, 2, 3]
    assert [each.id for each in found] == [
        f"{binding.app}/main/0/{end}" for end in ("3.0", "3.1", "7.0")
    ]
    assert {each.key for each in found} == {"attic"}
    again = _sink(binding, kafka.url, topic)
    assert await again.open() == 7
    await again.deliver(_batch(7, 3))
    assert await asyncio.to_thread(_values, kafka.url, topic) == [1, 2, 3]
    await again.close()


async def test_who_was_replaced_is_shut_out(kafka: KafkaBroker) -> None:
    """Its rows do not become visible, the successor's do."""
    binding, topic = _binding(), fresh_topic()
    old, new = _sink(binding, kafka.url, topic), _sink(binding, kafka.url, topic)
    await old.open()
    await old.deliver(_batch(1, 1))
    assert await new.open() == 1
    with pytest.raises(FencedError):
        await old.deliver(_batch(2, 2))
    await new.deliver(_batch(2, 2))
    assert await asyncio.to_thread(_values, kafka.url, topic) == [1, 2]
    await new.close()


async def test_who_comes_back_sends_nothing_that_another_one_has_delivered(
    kafka: KafkaBroker,
) -> None:
    """Its connection was lost, and another publisher has delivered a part of its batch, or more."""
    binding, topic = _binding(), fresh_topic()
    old, new = _sink(binding, kafka.url, topic), _sink(binding, kafka.url, topic)
    await old.open()
    await old.deliver(_batch(1, 1))
    await old.close()
    await new.open()
    await new.deliver(_batch(2, 2))
    with pytest.raises(FencedError, match="another publisher has delivered"):
        await old.deliver(Batch(4, [*_batch(2, 2).rows, *_batch(4, 3).rows]))
    assert await old.open() == 2
    await old.deliver(_batch(4, 3))
    await old.close()
    await new.open()
    await new.deliver(_batch(6, 4))
    with pytest.raises(FencedError, match="another publisher has delivered"):
        await old.deliver(_batch(5, 9))
    assert await asyncio.to_thread(_values, kafka.url, topic) == [1, 2, 3, 4]
    await old.close()
    await new.close()


async def test_a_transaction_left_open_leaves_nothing(kafka: KafkaBroker) -> None:
    """A publisher that died in the middle: its records are aborted by the next who opens."""
    binding, topic = _binding(), fresh_topic()
    sink = _sink(binding, kafka.url, topic)
    await sink.open()
    await sink.deliver(_batch(1, 1))
    await sink.close()
    dying = Producer(
        {"bootstrap.servers": kafka.url, "transactional.id": f"lockstep/{binding.key}"}
    )
    await asyncio.to_thread(dying.init_transactions, 20)
    dying.begin_transaction()
    dying.produce(topic, json.dumps({"event": {"room": "x", "value": 99}}).encode(), partition=0)
    assert await asyncio.to_thread(dying.flush, 20) == 0
    successor = _sink(binding, kafka.url, topic)
    assert await successor.open() == 1
    await successor.deliver(_batch(2, 2))
    assert await asyncio.to_thread(_values, kafka.url, topic) == [1, 2]
    await successor.close()


async def test_a_broker_that_dies_holds_the_sink_up_and_loses_nothing(mortal: KafkaBroker) -> None:
    """UnavailableError while it is away; the same batch tried again is there once."""
    binding, topic = _binding(), fresh_topic()
    sink = _sink(binding, mortal.url, topic, timeout_ms=5_000)

    async def delivered(batch: Batch) -> None:
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                try:
                    return await sink.deliver(batch)
                except UnavailableError:
                    await asyncio.sleep(0.2)

    await delivered(_batch(1, 1))
    await mortal.kill()
    with pytest.raises(UnavailableError):
        await sink.deliver(_batch(2, 2))
    await mortal.start()
    await delivered(_batch(2, 2))
    assert await asyncio.to_thread(_values, mortal.url, topic) == [1, 2]
    await sink.close()


async def test_a_row_that_kafka_refuses_is_named_and_the_others_go(kafka: KafkaBroker) -> None:
    """Too large for the topic: that row alone, nothing of the batch is visible until without it."""
    binding, topic = _binding(), fresh_topic()
    await asyncio.to_thread(create, kafka.url, topic, 1, max_message_bytes="2000")
    sink = _sink(binding, kafka.url, topic)
    await sink.open()
    good, large = _batch(1, 1).rows[0], _batch(1, 2, room="x" * 5_000).rows[0]
    with pytest.raises(RowsRefusedError) as caught:
        await sink.deliver(Batch(1, [large]))
    assert [each.row for each in caught.value.refused] == [large]
    await sink.deliver(Batch(1, [good]))
    assert await asyncio.to_thread(_values, kafka.url, topic) == [1]
    await sink.close()


async def test_topic_and_partition_may_come_from_the_row(kafka: KafkaBroker) -> None:
    """What is no partition or no topic refuses the row; numbers of `sequence.id` rise."""
    binding, base = _binding(), fresh_topic()
    topic = f"{base}-attic"
    await asyncio.to_thread(create, kafka.url, topic, 3)
    sink = _sink(
        binding, kafka.url, f"{base}-{{{{room}}}}", partition_no="{{value}}", sequence_id="s"
    )
    await sink.open()
    await sink.deliver(_batch(4, 2, 0))
    for partition in (-1, 2**31, 2**70):
        with pytest.raises(RowsRefusedError, match="no number of a partition"):
            await sink.deliver(_batch(5, partition))
    for room in ("a/b", "*", "x" * 250, "ß"):
        bad, good = _batch(6, 1, room=room).rows[0], _batch(6, 1).rows[0]
        with pytest.raises(RowsRefusedError) as caught:
            await sink.deliver(Batch(6, [good, bad]))
        assert [each.row for each in caught.value.refused] == [bad]
    found = await asyncio.to_thread(committed, kafka.url, topic, 3)
    assert [each.partition for each in found] == [0, 2]
    assert [each.value.partition("~")[0] for each in found] == ["s:4000001", "s:4000000"]
    await sink.close()


async def test_records_bear_the_time_of_writing(kafka: KafkaBroker) -> None:
    """Not that of their rows: brokers delete records by it, and rows may be of long ago."""
    binding, topic = _binding(), fresh_topic()
    await asyncio.to_thread(create, kafka.url, topic, 1)
    begun_ms = SystemClock().now_ms()
    sink = _sink(binding, kafka.url, topic)
    await sink.open()
    await sink.deliver(_batch(1, 7))
    (found,) = await asyncio.to_thread(committed, kafka.url, topic)
    assert begun_ms <= found.written_ms <= SystemClock().now_ms()
    await sink.close()


async def test_a_distributed_sink_writes_to_its_partitions_in_one_transaction(
    kafka: KafkaBroker,
) -> None:
    """By the key's text, as the older product divides."""
    binding, topic = _binding(), fresh_topic()
    await asyncio.to_thread(create, kafka.url, topic, 2)
    common = f"@sink(type='kafka', bootstrap.servers='{kafka.url}', topic='{topic}', "
    spread = "@distribution(strategy='partitioned', partitionKey='value', "
    places = "@destination(partition.no='0'), @destination(partition.no='1')))"
    sink = _annotated(binding, common + spread + places)
    await sink.open()
    await sink.deliver(_batch(1, 1, 2, 3, 4))
    found = await asyncio.to_thread(committed, kafka.url, topic, 2)
    by_partition = [(each.partition, json.loads(each.value)["event"]["value"]) for each in found]
    assert by_partition == [(0, 2), (0, 4), (1, 1), (1, 3)]
    await sink.close()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"optional_configuration": "colour:red"}, "colour"),
        ({"topic": "{{colour}}"}, "names no attribute"),
    ],
)
async def test_what_cannot_work_is_told(
    kafka: KafkaBroker, options: dict[str, str], told: str
) -> None:
    """As a mistake of the app, not as a broker that is away; the client alone knows its names."""
    given: dict[str, Any] = {"topic": fresh_topic(), **options}
    with pytest.raises(SinkSetupError, match=told):
        await _sink(_binding(), kafka.url, **given).open()
