"""What stands in a topic, as those see it who read what is committed; and putting it there."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Found:
    """One record."""

    partition: int
    key: str | None
    value: str
    id: str | None


def fresh_topic() -> str:
    """A name nobody else uses."""
    return f"t-{uuid.uuid4().hex}"


def create(address: str, topic: str, partitions: int, **config: str) -> None:
    """Made on return; `config` with underscores for dots."""
    admin = AdminClient({"bootstrap.servers": address})
    named = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, config=named)])[topic].result(TIMEOUT_S)


def committed(address: str, topic: str, partitions: int = 1) -> list[Found]:
    """All committed records, in order by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
        }
    )
    found = []
    try:
        for partition in range(partitions):
            place = TopicPartition(topic, partition)
            _, end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_S)
            consumer.assign([TopicPartition(topic, partition, 0)])
            # The end counts transactions' marks too: what is read up to it is everything.
            while (
                consumer.position([place])[0].offset < end
                and (message := consumer.poll(2.0)) is not None
            ):
                headers = dict(message.headers() or [])
                key, value, mark = message.key(), message.value(), headers.get("Lockstep-Id")
                found.append(Found(partition, _text(key), _text(value) or "", _text(mark)))
    finally:
        consumer.close()
    return found


def put(address: str, topic: str, values: Sequence[str], *, partition: int = 0) -> None:
    """Records in a topic, durable on return."""
    producer = Producer({"bootstrap.servers": address, "acks": "all"})
    for value in values:
        producer.produce(topic, value.encode(), partition=partition)
    if producer.flush(TIMEOUT_S):
        raise TimeoutError(f"{topic}: not taken in {TIMEOUT_S} s")


def _text(given: str | bytes | None) -> str | None:
    return given.decode() if isinstance(given, bytes) else given
