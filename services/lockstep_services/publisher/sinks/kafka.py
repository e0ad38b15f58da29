"""@sink(type='kafka'): rows as records, each batch and the cursor in one Kafka transaction.

Exactly once for consumers that read committed records only. The cursor is an offset committed for a
consumer group that nobody joins; who takes the sink over shuts the predecessor out by the
transactional id, as Kafka's own transactions have it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # NewTopic is not in its __all__
    AdminClient,
    NewTopic,
)

from lockstep.connectors.kafka import TRANSACTION_TIMEOUT_MS, files_of, refuse_own_files
from lockstep.events import FencedError, LockstepError, OutputRow, UnavailableError
from lockstep.schemas import SchemaUser
from lockstep.siddhiql import ast
from lockstep.store import Cursors
from lockstep.tls import Renewal
from lockstep_services.publisher.contract import (
    Batch,
    RefusedRow,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)
from lockstep_services.publisher.sinks.kafka_records import Record, Records

CURSOR_TOPIC: Final = "lockstep-cursors"
"""Where the cursor stands when the destination is no one topic."""

TIMEOUT_MS: Final = 10_000  # of each step with a broker
POLL_S: Final = 1.0
UNFIT: Final = frozenset(
    {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError._UNKNOWN_PARTITION}
)
SHUT_OUT: Final = frozenset(
    {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}
)
MISTAKEN: Final = frozenset({KafkaError._INVALID_ARG, KafkaError._NOT_IMPLEMENTED})


@dataclass(slots=True)
class _Opened:
    producer: Producer
    group: Any  # what the client hands out for `send_offsets_to_transaction`
    sequence: int


class KafkaSink:
    """Options: `bootstrap.servers`, `topic`, `partition.no`, `key`, `sequence.id`,
    `optional.configuration` (`name:value,…` of librdkafka).

    Topic, partition and key may hold `{{attribute}}`. Without `partition.no`, records go by their
    key; without both, to partition 0.
    """

    waits_for_ever = True
    takes_again = False  # a sequence that goes back would be taken for a repetition
    at_once = None
    gathering = None

    def __init__(
        self,
        binding: SinkBinding,
        annotation: ast.Annotation,
        cursors: Cursors,
        *,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        self.binding = binding
        self._timeout_s = timeout_ms / 1000
        self._records = Records(binding, annotation)
        self._settings: dict[str, Any] = {
            **self._records.settings,
            "log_level": 0,  # every call tells its own errors
        }
        self._renewal = Renewal(files_of(self._settings))
        self._cursors = cursors
        self._opened: _Opened | None = None
        self._reached = 0

    @property
    def schema_users(self) -> Sequence[SchemaUser]:
        """Who wants schemas of a registry."""
        return self._records.schema_users

    async def open(self) -> int:
        """Takes the sink over: an older publisher's transaction is ended and refused from now.

        A broker forgets offsets of a group that rests for its `offsets.retention.minutes`; the
        store remembers, perhaps a batch less.
        """
        await self.close()
        remembered = await self._cursors.get(self.binding.key)
        opened = await asyncio.to_thread(self._take_over, remembered)
        self._opened = opened
        self._reached = opened.sequence
        return opened.sequence

    async def deliver(self, batch: Batch) -> None:
        """All records and the cursor, or nothing; what is known to be there is not sent again.
        FencedError when somebody else has delivered meanwhile: a part of these, or more."""
        if self._opened is None or self._renewal.is_due():
            before = self._reached
            if before < await self.open() != batch.up_to:
                raise FencedError("another publisher has delivered", where=self.binding.key)
        opened = self._opened
        if opened is None or opened.sequence >= batch.up_to:
            return
        try:
            await asyncio.to_thread(self._transact, opened, batch)
        except LockstepError:
            # Whether the transaction came through is asked of Kafka when the sink opens again.
            # After a refused record the client cannot go on either: the broker misses its number.
            self._records.not_committed()
            await self.close()
            raise
        opened.sequence = self._reached = batch.up_to
        await self._cursors.put(self.binding.key, batch.up_to)

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        """All or nothing arrives."""
        return batch.rows

    async def begin_again(self) -> None:
        """The cursor goes back to the front with the next batch."""
        self._reached = 0
        if self._opened is not None:
            self._opened.sequence = 0

    async def close(self) -> None:
        """Leaves an open transaction to its end by the next who opens."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await asyncio.to_thread(opened.producer.purge)

    @property
    def _cursor_topic(self) -> str:
        return self._records.only_topic or CURSOR_TOPIC

    def _take_over(self, remembered: int) -> _Opened:
        try:
            refuse_own_files(self._settings)
        except OSError as error:
            raise SinkSetupError(str(error), where=self.binding.key) from error
        try:
            self._ensure_topic()
            producer = Producer(
                {
                    **self._settings,
                    "transactional.id": f"lockstep/{self.binding.key}",
                    "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                }
            )
            producer.init_transactions(self._timeout_s)
            return _Opened(producer, *self._read_cursor(remembered))
        except KafkaException as error:
            raise self._translated(error.args[0]) from error

    def _ensure_topic(self) -> None:
        admin = AdminClient(self._settings)
        topic = self._cursor_topic
        if topic in admin.list_topics(timeout=self._timeout_s).topics:
            return
        made = admin.create_topics([NewTopic(topic)], request_timeout=self._timeout_s)[topic]
        try:
            made.result(self._timeout_s)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _read_cursor(self, remembered: int) -> tuple[Any, int]:
        consumer = Consumer(
            {
                **self._settings,
                "group.id": f"lockstep.{self.binding.key}",
                "isolation.level": "read_committed",
            }
        )
        try:
            committed = TopicPartition(self._cursor_topic, 0)
            found = consumer.committed([committed], timeout=self._timeout_s)[0]
            if found.error is not None:
                raise KafkaException(found.error)
            known = found.offset if found.offset >= 0 else remembered
            return consumer.consumer_group_metadata(), known
        finally:
            consumer.close()

    def _transact(self, opened: _Opened, batch: Batch) -> None:
        producer = opened.producer
        refused: list[RefusedRow] = []
        try:
            producer.begin_transaction()
            for made in self._records.of(batch.rows):
                if isinstance(made, RefusedRow):
                    refused.append(made)
                else:
                    _produce(producer, made, refused)
            if waiting := _serve(producer, self._timeout_s):
                # What comes next would wait for the same broker, longer than it is told to.
                raise UnavailableError(
                    f"Kafka is away: {waiting} records were not taken within {self._timeout_s:g} s",
                    where=self.binding.key,
                )
            if not refused:
                cursor = TopicPartition(self._cursor_topic, 0, batch.up_to)
                producer.send_offsets_to_transaction([cursor], opened.group, self._timeout_s)
                producer.commit_transaction(self._timeout_s)
        except KafkaException as error:
            raise self._translated(error.args[0]) from error
        if refused:
            # The transaction stays open: who opens the sink next ends it.
            raise RowsRefusedError(refused, where=self.binding.key)

    def _translated(self, told: KafkaError) -> UnavailableError | FencedError | SinkSetupError:
        where = self.binding.key
        if told.code() in SHUT_OUT:
            return FencedError("another publisher has taken this sink over", where=where)
        if told.code() in MISTAKEN:
            return SinkSetupError(f"Kafka's client refuses: {told.str()}", where=where)
        return UnavailableError(f"Kafka is away: {told.str()}", where=where)


def _produce(producer: Producer, record: Record, refused: list[RefusedRow]) -> None:
    def delivered(told: KafkaError | None, _: object) -> None:
        # Other errors are the commit's to tell.
        if told is not None and told.code() in UNFIT:
            refused.extend(RefusedRow(row, told.str()) for row in record.rows)

    while True:
        try:
            producer.produce(**record.produced, on_delivery=delivered)
        except BufferError:
            _serve(producer, POLL_S)  # the client's queue is at its limit: let it send
        except KafkaException as error:
            if error.args[0].code() not in UNFIT:
                raise
            delivered(error.args[0], None)
            return
        else:
            return


def _serve(producer: Producer, timeout_s: float) -> int:
    """Waits until the broker has answered for what was produced; for how many records it has
    not."""
    # The client raises a fatal error in the midst of its callbacks and trips over it; the next call
    # of the transaction tells it in good order.
    with contextlib.suppress(SystemError):
        return int(producer.flush(timeout_s))
    return 0
