"""Topics in Kafka that were made with other settings of the bus than those of today."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from structlog.testing import capture_logs

from lockstep.bus import LogName, RecordTooLargeError
from lockstep.bus.errors import BusRefusedError, BusRightsError
from lockstep.bus.kafka import KafkaBus
from lockstep.bus.kafka.input_log import KafkaInputLog
from lockstep.bus.kafka.topic_settings import TopicSettings
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import (
    LIMITS,
    KafkaCarriers,
    fresh_log,
    one_event,
    with_limits,
)
from tests.contract.patience import PATIENCE_S, eventually
from tests.kafka.broker import KafkaBroker

SMALL_BYTES = 100_000
LARGE_BYTES = 300_000
WEEK_MS = 604_800_000
DAY_MS = 86_400_000


@pytest.fixture
async def carriers(kafka: KafkaBroker) -> AsyncIterator[KafkaCarriers]:
    """On the session's broker."""
    made = KafkaCarriers(f"kafka://{kafka.url}")
    yield made
    await made.close()


async def _made_before(carriers: KafkaCarriers) -> LogName:
    name = fresh_log()
    bus = await carriers.connect(with_limits(max_message_bytes=SMALL_BYTES, max_log_age_ms=WEEK_MS))
    await bus.input_log(name)
    return name


async def _config(url: str, topic: str) -> Mapping[str, str | None]:
    admin = AdminClient({"bootstrap.servers": url})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    (found,) = admin.describe_configs([resource], request_timeout=PATIENCE_S).values()
    return {name: each.value for name, each in (await asyncio.wrap_future(found)).items()}


async def _set(url: str, topic: str, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": url})
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in configs.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    (done,) = admin.incremental_alter_configs([resource], request_timeout=PATIENCE_S).values()
    await asyncio.wrap_future(done)


async def test_a_topic_follows_the_settings(carriers: KafkaCarriers, kafka: KafkaBroker) -> None:
    """Larger records are taken from now on, and the age is the new one. What was let in before is
    let in by a process with a smaller limit, too."""
    name = await _made_before(carriers)
    bus = await carriers.connect(with_limits(max_message_bytes=1_000_000, max_log_age_ms=DAY_MS))
    log = await bus.input_log(name)
    assert isinstance(log, KafkaInputLog)
    await log.append(one_event("x" * LARGE_BYTES), dedup_id="large")

    async def has(size_bytes: int, age_ms: int) -> bool:
        found = await _config(kafka.url, log.reader._tape.topic)
        told = found["max.message.bytes"], found["retention.ms"], found["min.insync.replicas"]
        return told == (str(size_bytes + 65_536), str(age_ms), "1")

    await eventually(lambda: has(1_000_000, DAY_MS))
    small = await carriers.connect(with_limits(max_message_bytes=SMALL_BYTES))
    await small.input_log(name)
    await eventually(lambda: has(1_000_000, WEEK_MS))


async def test_who_may_not_change_a_topic_hears_that_a_record_is_too_large(
    carriers: KafkaCarriers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the topic's limit, so that whoever has it can send less at once; and a warning says once
    which right is lacking."""
    names = [await _made_before(carriers) for _ in range(2)]

    async def refuse(self: TopicSettings, topic: str, changes: Mapping[str, str]) -> None:
        raise BusRefusedError("the bus does not let us do this: denied", where=topic)

    monkeypatch.setattr(TopicSettings, "_change", refuse)
    with capture_logs() as logs:
        bus = await carriers.connect(with_limits(max_message_bytes=1_000_000))
        opened = [await bus.input_log(name) for name in names]
    assert len([each for each in logs if each["log_level"] == "warning"]) == 1
    with pytest.raises(RecordTooLargeError, match=f"takes {SMALL_BYTES}"):
        await opened[0].append(one_event("x" * LARGE_BYTES), dedup_id="large")
    assert (await opened[0].append(one_event("x"), dedup_id="small")).position > 0


async def test_a_topic_that_forgets_is_mended(carriers: KafkaCarriers, kafka: KafkaBroker) -> None:
    """An operator has made, or set, it so that it forgets. A record that it does not take is told
    with a hint until a process opens the log."""
    name = await _made_before(carriers)
    bus = await carriers.connect(LIMITS)
    log = await bus.input_log(name)
    assert isinstance(log, KafkaInputLog)
    topic = log.ledger.topic
    await _set(kafka.url, topic, cleanup_policy="compact", retention_bytes="100000")

    async def is_refused() -> bool:
        try:
            await log.append(one_event(1))
        except UnavailableError as error:
            return "cleanup.policy" in str(error.hint)
        return False

    await eventually(is_refused)
    other = await (await carriers.connect(LIMITS)).input_log(name)

    async def is_mended() -> bool:
        found = await _config(kafka.url, topic)
        return (found["cleanup.policy"], found["retention.bytes"]) == ("delete", "-1")

    await eventually(is_mended)

    async def is_taken() -> bool:
        try:
            return (await other.append(one_event(2), dedup_id="2")).position > 0
        except UnavailableError:
            return False

    await eventually(is_taken)


async def test_letters_stay_in_a_topic_that_was_made_compacted(kafka: KafkaBroker) -> None:
    """A letter bears its subject as its key: one of each would be left."""
    prefix = f"p{uuid.uuid4().hex}"
    topic = f"{prefix}.dead"
    configs = {
        "cleanup.policy": "compact",
        "retention.bytes": "100000",
        "message.timestamp.type": "CreateTime",
    }
    admin = AdminClient({"bootstrap.servers": kafka.url})
    (made,) = admin.create_topics([NewTopic(topic, 1, 1, config=configs)]).values()
    await asyncio.wrap_future(made)
    url = f"kafka://{kafka.url}?prefix={prefix}"
    bus = await KafkaBus.connect(url, LIMITS, SystemClock(), SystemRandomness())
    try:

        async def is_mended() -> bool:
            found = await _config(kafka.url, topic)
            return [found[name] for name in configs] == ["delete", "-1", "LogAppendTime"]

        await eventually(is_mended)
    finally:
        await bus.close()


async def test_each_topic_that_forgets_is_named_to_who_may_not_change_it(
    carriers: KafkaCarriers, kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has, and what to set."""
    topics = []
    names = [await _made_before(carriers) for _ in range(2)]
    bus = await carriers.connect()
    for name in names:
        log = await bus.input_log(name)
        assert isinstance(log, KafkaInputLog)
        topics.append(log.ledger.topic)
        await _set(kafka.url, topics[-1], retention_bytes="100000")

    async def are_set() -> bool:
        found = [await _config(kafka.url, topic) for topic in topics]
        return [each["retention.bytes"] for each in found] == ["100000"] * 2

    await eventually(are_set)

    async def refuse(self: TopicSettings, topic: str, changes: Mapping[str, str]) -> None:
        raise BusRightsError("the bus does not let us do this: denied", where=topic)

    monkeypatch.setattr(TopicSettings, "_change", refuse)
    bus = await carriers.connect()
    with capture_logs() as logs:
        for name in names * 2:
            await bus.input_log(name)
    told = [each for each in logs if each["event"] == "a topic may forget what is needed"]
    assert [each["topic"] for each in told] == topics
    assert told[0]["has"] == {"retention.bytes": "100000"}
    assert told[0]["hint"] == "set of the topic retention.bytes=-1"


async def test_what_is_sent_together_is_never_too_large(carriers: KafkaCarriers) -> None:
    """A broker refuses all of a batch that is larger than its topic takes of one record."""
    bus = await carriers.connect(with_limits(max_message_bytes=20_000))
    log = await bus.input_log(fresh_log())
    record = one_event("x" * 15_000)
    stored = await asyncio.gather(*(log.append(record, dedup_id=f"{n}") for n in range(64)))
    assert len({each.position for each in stored}) == 64
