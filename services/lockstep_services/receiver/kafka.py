"""@source(type='kafka'): the records of topics, as a mailbox that all receivers share by group.

A record counts as taken when it, or its dead letter, is durable; only then its offset is committed.
Its topic, partition, offset and time are its id, so what comes again after a rebalance finds itself
in the log; with `seq.enabled` the sender's own number is, which survives a sender that sends again.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from confluent_kafka import (
    OFFSET_INVALID,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from lockstep.bus import Mail
from lockstep.clock import Clock
from lockstep.connectors.kafka import files_of, refuse_own_files
from lockstep.events import UnavailableError
from lockstep.tls import Renewal
from lockstep_services.receiver.kafka_marks import Marks, Reached
from lockstep_services.receiver.kafka_options import KafkaOptions
from lockstep_services.receiver.offsets import Offsets, Place

T = TypeVar("T")

TIMEOUT_S: Final = 10.0
END_TIMEOUT_S: Final = 2.0
SESSION_TIMEOUT_MS: Final = 10_000
"""After so long the partitions of a receiver that died go to the others."""

COMMIT_AGAIN_MS: Final = 3_600_000
"""Of partitions that are named, places are committed again so often. Nobody is a member of their
group then, so the broker forgets each `offsets.retention.minutes` after its last commit."""

PASSING: Final = frozenset(
    {
        KafkaError._PARTITION_EOF,
        KafkaError._MAX_POLL_EXCEEDED,  # the client joins again with the next read
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # it may be made yet
    }
)
_NUMBERED: Final = re.compile(rb"([^:~]*:\d+)~")


class KafkaMailbox:
    """Opened with the first read, and again when its certificates were replaced. Errors:
    UnavailableError."""

    def __init__(self, options: KafkaOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._again_ms = 0  # when places are to be committed again
        self._consumer: Consumer | None = None
        self._offsets = Offsets()
        self._marks = Marks(clock)
        self._renewal = Renewal(files_of(options.settings))
        # The client blocks; its calls come one after the other, on a thread of this mailbox.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kafka")

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        return await self._on_thread(partial(self._read, max_messages, wait_ms / 1000))

    async def close(self) -> Sequence[Mail]:
        """Leaves the group; what was not acknowledged comes to whoever reads on."""
        with contextlib.suppress(RuntimeError):  # closed before
            leaving = self._thread.submit(self._leave)
            self._thread.shutdown(wait=False)
            # Left also when this call is cancelled: who stays in the group keeps its partitions.
            await asyncio.shield(asyncio.wrap_future(leaving))
        return ()

    async def _on_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _read(self, max_messages: int, wait_s: float) -> list[Mail]:
        try:
            if self._renewal.is_due():
                self._leave()
            if self._consumer is None:
                self._consumer = self._join()
            if ended := self._ended():
                self._consumer.commit(offsets=ended, asynchronous=True)
            if due := self._marks.due(partial(_end_of, self._consumer)):
                self._consumer.commit(offsets=_offsets(due), asynchronous=False)
                self._marks.noted(due)
            if self._options.partitions and self._clock.monotonic_ms() >= self._again_ms:
                self._commit_again(self._consumer)
            found = self._consumer.consume(max_messages, timeout=wait_s)
        except KafkaException as error:
            raise _away(error.args[0]) from error
        mails = []
        for message in found:
            trouble = message.error()
            if trouble is None:
                mails.append(self._mail(message))
            elif trouble.code() not in PASSING:
                raise _away(trouble)
        return mails

    def _join(self) -> Consumer:
        options = self._options
        try:
            refuse_own_files(options.settings)
        except OSError as error:
            raise UnavailableError(str(error)) from error  # a link may lead elsewhere yet
        consumer = Consumer(
            {
                "auto.offset.reset": "earliest",
                "log_level": 0,  # every call tells its own errors
                "session.timeout.ms": SESSION_TIMEOUT_MS,
                **options.settings,
                "enable.auto.commit": False,
            }
        )
        if options.partitions:
            consumer.assign(self._placed(consumer, self._named()))
            self._again_ms = 0
        else:
            consumer.subscribe(list(options.topics), on_assign=self._assigned)
        return consumer

    def _named(self) -> list[TopicPartition]:
        options = self._options
        return [
            TopicPartition(topic, partition)
            for topic in options.topics
            for partition in options.partitions
        ]

    def _commit_again(self, consumer: Consumer) -> None:
        """What stands there. A partition that brings nothing for long keeps its place so."""
        known = consumer.committed(self._named(), timeout=TIMEOUT_S)
        if known := [place for place in known if place.offset >= 0]:
            consumer.commit(offsets=known, asynchronous=False)
        self._again_ms = self._clock.monotonic_ms() + COMMIT_AGAIN_MS

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._offsets = Offsets()  # the group's: what was under way comes again, to somebody
        consumer.assign(self._placed(consumer, partitions))

    def _placed(self, consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Where the group goes on; where `topic.offsets.map` says, if it has never been there."""
        placed = consumer.committed(partitions, timeout=TIMEOUT_S)
        for place in placed:
            # Who does not know whether there is a place must not take it for none.
            if place.error is not None and place.error.code() not in PASSING:
                raise KafkaException(place.error)

        known = [Reached((one.topic, one.partition), one.offset, one.metadata) for one in placed]
        self._marks.assigned(known)
        if not self._options.offsets:
            return partitions
        for place in placed:
            if place.offset == OFFSET_INVALID and place.topic in self._options.offsets:
                place.offset = self._options.offsets[place.topic]
        return placed

    def _ended(self) -> list[TopicPartition]:
        """Where to go on, of the partitions that have moved since the last look."""
        moved = self._offsets.take_ended().items()
        return _offsets([self._marks.to_commit(place, offset) for place, offset in moved])

    def _leave(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is None:
            return
        with contextlib.suppress(KafkaException):  # uncommitted records come again, and are known
            if ended := self._ended():
                consumer.commit(offsets=ended, asynchronous=False)
        consumer.close()
        self._offsets = Offsets()  # what was under way comes again, and is known

    def _mail(self, message: Message) -> Mail:
        place, at = (message.topic() or "", message.partition() or 0), message.offset() or 0
        payload = message.value() or b""
        kind, time_ms = message.timestamp()
        mark = self._marks.of(place, at, None if kind == TIMESTAMP_NOT_AVAILABLE else time_ms)
        if self._options.is_numbered and (number := _NUMBERED.match(payload)) is not None:
            mark = number[1].decode("utf-8", "replace")
            payload = payload[number.end() :]
        offsets = self._offsets
        offsets.begin(place, at)

        async def acknowledge() -> None:
            offsets.end(place, at)

        mark = f"{place[0]}/{place[1]}/{mark}"
        return Mail(place[0], payload, _properties(message), mark, acknowledge)


def _end_of(consumer: Consumer, place: Place) -> int | None:
    """None where nobody tells: its partition may have no leader, and the others are read on."""
    try:
        return consumer.get_watermark_offsets(TopicPartition(*place), timeout=END_TIMEOUT_S)[1]
    except KafkaException:
        return None


def _offsets(reached: Sequence[Reached]) -> list[TopicPartition]:
    """As the client commits them."""
    return [
        TopicPartition(*one.place, one.offset)
        if one.note is None
        else TopicPartition(*one.place, one.offset, one.note)
        for one in reached
    ]


def _properties(message: Message) -> Mapping[str, str]:
    """Headers, and what `trp:` knows of a record (extensions 12.3)."""
    headers: Iterable[Any] = message.headers() or ()
    given = {str(name): _text(value) for name, value in headers}
    given |= {
        "topic": message.topic(),
        "partition": str(message.partition()),
        "offset": str(message.offset()),
        "key": _text(message.key()),
        "record.timestamp": str(message.timestamp()[1]),
        "event.timestamp": str(message.timestamp()[1]),
    }
    return {name: value for name, value in given.items() if value is not None}


def _text(value: bytes | str | None) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _away(told: KafkaError) -> UnavailableError:
    return UnavailableError(f"Kafka cannot be read: {told.str()}")
