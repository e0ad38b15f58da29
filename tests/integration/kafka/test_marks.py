"""By what the records of a Kafka source are known, on a real broker: also of a topic that was made
anew, and behind an update."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lockstep.bus import Mail
from lockstep.clock import VirtualClock
from lockstep_services.receiver.kafka import KafkaMailbox
from lockstep_services.receiver.kafka_marks import NOTE, SWITCH_AFTER_MS
from lockstep_services.receiver.kafka_options import KafkaOptions
from tests.contract.patience import eventually
from tests.kafka.broker import KafkaBroker
from tests.kafka.topics import TIMEOUT_S, create, fresh_topic, put


class Reader:
    """A mailbox of a group of its own that reads one topic."""

    def __init__(self, address: str, *, is_named: bool = False) -> None:
        self.address = address
        self.topic = fresh_topic()
        self.group = uuid.uuid4().hex
        self.clock = VirtualClock()
        settings = {"bootstrap.servers": address, "group.id": self.group}
        partitions = (0,) if is_named else ()
        self._options = KafkaOptions(settings, (self.topic,), partitions, {}, False)
        self.mailbox = KafkaMailbox(self._options, self.clock)
        create(address, self.topic, 1)

    async def come(self, count: int) -> list[Mail]:
        """So many records, none of which has ended."""
        found: list[Mail] = []

        async def are_there() -> bool:
            found.extend(await self.mailbox.read(max_messages=100, wait_ms=200))
            return len(found) >= count

        await eventually(are_there)
        return found

    async def read(self, count: int) -> list[str]:
        """The ids of so many records, without the topic's name; all of them end."""
        found = await self.come(count)
        for one in found:
            await one.acknowledge()
        return [(one.id or "").removeprefix(self.topic) for one in found]

    async def begin_again(self) -> None:
        """As another receiver does."""
        await self.mailbox.close()
        self.mailbox = KafkaMailbox(self._options, self.clock)

    def put(self, *values: str) -> None:
        """Records."""
        put(self.address, self.topic, values)

    def commit_as_before(self, offset: int) -> None:
        """As earlier releases did: without a note."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": self.group})
        place = TopicPartition(self.topic, 0, offset)
        consumer.commit(offsets=[place], asynchronous=False)
        consumer.close()

    def note(self) -> str | None:
        """What stands with the committed offset."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": self.group})
        try:
            places = [TopicPartition(self.topic, 0)]
            return consumer.committed(places, timeout=TIMEOUT_S)[0].metadata
        finally:
            consumer.close()


def offsets(ids: Sequence[str]) -> list[tuple[int, bool]]:
    """Of ids, and whether each has a time."""
    marks = [one.removeprefix("/0/").partition("@") for one in ids]
    return [(int(mark[0]), bool(mark[2])) for mark in marks]


async def test_records_of_a_topic_that_was_made_anew_have_other_ids(kafka: KafkaBroker) -> None:
    """Their offsets are those of the ones before. What is read twice has its id twice."""
    reader = Reader(kafka.url)
    try:
        reader.put("a", "b")
        first = await reader.read(2)
        assert offsets(first) == [(0, True), (1, True)]
        await reader.begin_again()
        admin = AdminClient({"bootstrap.servers": kafka.url})
        await asyncio.to_thread(admin.delete_topics([reader.topic])[reader.topic].result, 20)

        async def made() -> bool:
            try:
                create(kafka.url, reader.topic, 1)
            except KafkaException:  # it is still being removed
                return False
            return True

        await eventually(made)
        reader.put("c", "d")
        second = await reader.read(2)
        assert offsets(second) == offsets(first)
        assert not set(first) & set(second)
    finally:
        await reader.mailbox.close()


async def test_what_comes_again_has_the_same_id(kafka: KafkaBroker) -> None:
    """Where its place was never committed."""
    reader = Reader(kafka.url)
    try:
        reader.put("a", "b")
        found = await reader.come(2)
        await reader.begin_again()
        again = await reader.read(2)
        assert [one.id for one in found] == [reader.topic + one for one in again]
    finally:
        await reader.mailbox.close()


async def test_behind_an_update_records_keep_their_ids_until_none_is_under_way(
    kafka: KafkaBroker,
) -> None:
    """Those that an earlier release may have read are known by their offsets alone, and so is what
    follows, until no receiver came or went for an hour. Then a note is committed first."""
    reader = Reader(kafka.url, is_named=True)
    try:
        reader.put("a", "b", "c", "d")
        reader.commit_as_before(1)
        assert offsets(await reader.read(3)) == [(1, False), (2, False), (3, False)]
        reader.put("e")
        assert offsets(await reader.read(1)) == [(4, False)]
        await reader.begin_again()
        reader.put("f")
        assert offsets(await reader.read(1)) == [(5, False)]
        assert not reader.note()
        await reader.clock.advance_ms(SWITCH_AFTER_MS)
        await reader.mailbox.read(max_messages=1, wait_ms=0)
        assert reader.note() == NOTE
        reader.put("g")
        assert offsets(await reader.read(1)) == [(6, True)]
        await reader.begin_again()
        reader.put("h")
        assert offsets(await reader.read(1)) == [(7, True)]
        await reader.clock.advance_ms(SWITCH_AFTER_MS)
        await reader.mailbox.read(max_messages=1, wait_ms=0)
        assert reader.note() == NOTE
    finally:
        await reader.mailbox.close()
