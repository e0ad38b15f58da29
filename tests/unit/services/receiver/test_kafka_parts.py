"""Parts of the Kafka source that need no broker: offsets to commit, options."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from confluent_kafka import OFFSET_INVALID, TopicPartition

from lockstep.clock import VirtualClock
from lockstep.siddhiql import ast
from lockstep_services.receiver import kafka
from lockstep_services.receiver.kafka_options import KafkaOptions
from lockstep_services.receiver.offsets import Offsets


def test_an_offset_is_committed_once_nothing_before_it_is_under_way() -> None:
    """Also when later records end first; gaps, as of transactions' marks, do not matter."""
    offsets, place = Offsets(), ("t", 0)
    for offset in (5, 6, 9):
        offsets.begin(place, offset)
    assert offsets.take_ended() == {}
    offsets.end(place, 6)
    assert offsets.take_ended() == {}
    offsets.end(place, 5)
    assert offsets.take_ended() == {place: 9}
    assert offsets.take_ended() == {}
    offsets.end(place, 9)
    assert offsets.take_ended() == {place: 10}


def test_partitions_move_by_themselves() -> None:
    """One that waits does not hold another up."""
    offsets = Offsets()
    offsets.begin(("t", 0), 0)
    offsets.begin(("t", 1), 7)
    offsets.end(("t", 1), 7)
    assert offsets.take_ended() == {("t", 1): 8}


def _options(**given: str) -> KafkaOptions:
    named = {
        "type": "kafka",
        "bootstrap.servers": "h:1",
        "topic.list": "a, b",
        "group.id": "g",
        **{name.replace("_", "."): value for name, value in given.items()},
    }
    elements = tuple(ast.Element(name, value) for name, value in named.items())
    return KafkaOptions.of(ast.Annotation("source", elements))


def test_options_are_read() -> None:
    """Lists, maps and the client's own settings."""
    options = _options(
        partition_no_list="0, 2",
        topic_offsets_map="a=5,b=0",
        seq_enabled="True",
        optional_configuration="fetch.min.bytes:1, client.id:x:y",
    )
    assert (options.topics, options.partitions) == (("a", "b"), (0, 2))
    assert options.offsets == {"a": 5, "b": 0}
    assert options.is_numbered
    assert options.settings == {
        "bootstrap.servers": "h:1",
        "group.id": "g",
        "fetch.min.bytes": "1",
        "client.id": "x:y",
    }


class Member:
    """A client whose group has been in one of two partitions, and that gets nothing."""

    def __init__(self, _: object) -> None:
        self.commits: list[list[tuple[int, int]]] = []

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """Nothing comes of them."""

    def committed(
        self, partitions: Sequence[TopicPartition], timeout: float
    ) -> list[TopicPartition]:
        """The first one's place is known."""
        offsets = (7, OFFSET_INVALID)
        return [
            TopicPartition(each.topic, each.partition, offset)
            for each, offset in zip(partitions, offsets, strict=True)
        ]

    def get_watermark_offsets(self, _: TopicPartition, timeout: float) -> tuple[int, int]:
        """There is more than the group has read."""
        return 0, 9

    def commit(self, offsets: Sequence[TopicPartition], *, asynchronous: bool) -> None:
        """Noted."""
        self.commits.append([(each.partition, each.offset) for each in offsets])

    def consume(self, _: int, timeout: float) -> list[object]:
        """Nothing."""
        return []

    def close(self) -> None:
        """Nothing to give back."""


async def test_places_of_named_partitions_are_committed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker forgets those of a partition that brings nothing for a week, as it knows of no
    members; the topic would come again from its beginning."""
    clock = VirtualClock()
    made: list[Member] = []

    def join(config: object) -> Member:
        made.append(Member(config))
        return made[-1]

    monkeypatch.setattr(kafka, "Consumer", join)
    mailbox = kafka.KafkaMailbox(_options(topic_list="a", partition_no_list="0, 1"), clock)
    for _ in range(2):
        await mailbox.read(max_messages=1, wait_ms=0)
    assert made[0].commits == [[(0, 7)]]
    await clock.advance_ms(kafka.COMMIT_AGAIN_MS)
    await mailbox.read(max_messages=1, wait_ms=0)
    assert made[0].commits == [[(0, 7)]] * 2
    await mailbox.close()


async def test_places_of_a_group_with_members_are_the_broker_s_to_keep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It forgets them only when all members have left."""
    member = Member(None)
    monkeypatch.setattr(member, "subscribe", lambda *_, **__: None, raising=False)
    monkeypatch.setattr(kafka, "Consumer", lambda _: member)
    mailbox = kafka.KafkaMailbox(_options(), VirtualClock())
    await mailbox.read(max_messages=1, wait_ms=0)
    await mailbox.close()
    assert member.commits == []
