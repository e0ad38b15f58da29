"""What stands in a topic, as those see it who read what is committed; and putting it there."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

TIMEOUT_S = 60.0  # a bound for a busy machine
OPEN_S = 10.0


@dataclass(frozen=True, slots=True)
class Found:
    """One record."""

    partition: int
    key: str | None
    value: str
    id: str | None
    written_ms: int = 0


def fresh_topic() -> str:
    """A name nobody else uses."""
    return f"t-{uuid.uuid4().hex}"


def create(address: str, topic: str, partitions: int, **config: str) -> None:
    """Made on return; `config` with underscores for dots."""
    admin = AdminClient({"bootstrap.servers": address})
    named = {name.replace("_", "."): value for name, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, config=named)])[topic].result(TIMEOUT_S)


def leaderless(address: str) -> set[str]:
    """Topics of which a partition has no leader now."""
    admin = AdminClient({"bootstrap.servers": address})
    topics = admin.list_topics(timeout=TIMEOUT_S).topics.items()
    return {
        name for name, told in topics if any(one.leader < 0 for one in told.partitions.values())
    }


def committed(address: str, topic: str, partitions: int = 1) -> list[Found]:
    """All committed records, in order by partition; what is in an open transaction is waited for,
    up to a limit."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    ends = _ends(address, topic, partitions)
    found = []
    try:
        for partition, end in enumerate(ends):
            consumer.assign([TopicPartition(topic, partition, 0)])
            # The end counts transactions' marks, and so does the offset at which a reader is told
            # that it stands at the end of what is committed: a mark may come after the commit.
            deadline_s = time.monotonic() + OPEN_S
            while (left_s := deadline_s - time.monotonic()) > 0:
                message = consumer.poll(left_s)
                if message is None:
                    break
                if (error := message.error()) is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise KafkaException(error)
                    if (message.offset() or 0) >= end:
                        break
                    continue
                headers = dict(message.headers() or [])
                key, value, mark = message.key(), message.value(), headers.get("Lockstep-Id")
                written_ms = message.timestamp()[1]
                found.append(
                    Found(partition, _text(key), _text(value) or "", _text(mark), written_ms)
                )
    finally:
        consumer.close()
    return found


def _ends(address: str, topic: str, partitions: int) -> list[int]:
    """Where each partition ends, open transactions included."""
    reader = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_uncommitted",
        }
    )
    try:
        places = [TopicPartition(topic, partition) for partition in range(partitions)]
        return [reader.get_watermark_offsets(place, timeout=TIMEOUT_S)[1] for place in places]
    finally:
        reader.close()


def put(address: str, topic: str, values: Sequence[str], *, partition: int = 0) -> None:
    """Records in a topic, durable on return."""
    producer = Producer({"bootstrap.servers": address, "acks": "all"})
    for value in values:
        producer.produce(topic, value.encode(), partition=partition)
    if producer.flush(TIMEOUT_S):
        raise TimeoutError(f"{topic}: not taken in {TIMEOUT_S} s")


def _text(given: str | bytes | None) -> str | None:
    return given.decode() if isinstance(given, bytes) else given
