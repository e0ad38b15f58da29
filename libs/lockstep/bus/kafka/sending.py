"""The one producer of a bus. The client sends on threads of its own; one more thread hears what has
become of each message and hands it to the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.kafka.errors import translated
from lockstep.bus.kafka.refusals import Refusals
from lockstep.bus.limits import BusLimits
from lockstep.events import LockstepError, UnavailableError

Headers = Sequence[tuple[str, bytes]]

MAX_REQUEST_BYTES: Final = 8_388_608
"""Of one message with all that is around it: dead letters hold what was too large for a log."""

FRAME_BYTES: Final = 65_536
"""A message's headers, and what Kafka puts around it."""

_HEARS_EVERY_S: Final = 0.2
_BATCH_BYTES: Final = 1_000_000  # the client's own limit
_FLUSH_S: Final = 2.0
_ATTEMPTS: Final = 3  # within the time that a message has
_QUEUE_MESSAGES: Final = 100_000
_TIMES_LATE: Final = 3  # the time that a message has


class Stored(NamedTuple):
    """Where a message stands, and when its broker has stored it."""

    offset: int
    stamped_ms: int


@dataclass(frozen=True, slots=True)
class _Message:
    topic: str
    value: bytes
    key: bytes | None
    partition: int
    headers: Headers
    where: str
    done: asyncio.Future[Stored]


class Sender:
    """Messages are stored in the order of the calls, also when the producer is exchanged."""

    def __init__(
        self,
        config: Mapping[str, Any],
        limits: BusLimits,
        troubled: Callable[[KafkaError], None],
        taken_bytes: Mapping[str, int],
    ) -> None:
        self._config = config
        self._limits = limits
        self._troubled = troubled
        self._taken_bytes = taken_bytes
        self._loop = asyncio.get_running_loop()
        self._producer = self._made()
        self._broken: deque[Producer] = deque()
        self._refusals = Refusals(self._loop.time)
        self._waiting: deque[_Message] | None = None
        self._closed = False
        self._patience_s = _TIMES_LATE * limits.publish_timeout_ms / 1000
        self._hearing = threading.Thread(target=self._hear, name="kafka-produced", daemon=True)
        self._hearing.start()

    def send(
        self,
        topic: str,
        value: bytes,
        *,
        where: str,
        headers: Headers = (),
        key: bytes | None = None,
        partition: int = 0,
    ) -> asyncio.Future[Stored]:
        """Done when it is stored, on as many brokers as have to have it."""
        if self._closed:
            raise UnavailableError("the bus was closed", where=where)
        done: asyncio.Future[Stored] = self._loop.create_future()
        # The client tells what becomes of a message within its time. If it ever does not, whoever
        # waits goes on all the same.
        late = self._loop.call_later(self._patience_s, _give_up, done, where)
        done.add_done_callback(lambda _: late.cancel())
        message = _Message(topic, value, key, partition, headers, where, done)
        try:
            if self._waiting is None:
                self._produce(message)
            elif len(self._waiting) < _QUEUE_MESSAGES:
                self._waiting.append(message)
            else:
                raise _too_much(where)
        except LockstepError as error:
            done.cancel()  # nobody waits for it
            self._refusals.note(error)
            raise
        return done

    async def exchange(self) -> None:
        """Goes on with a producer that has read its files anew. What is under way with the one
        before is finished first, and what comes meanwhile waits, so that the order stays.
        KafkaException: the files cannot be used now, and the one before goes on."""
        if self._waiting is not None:
            return
        before, fresh = self._producer, self._made()
        self._waiting = deque()
        try:
            patience_s = self._limits.publish_timeout_ms / 1000 + _FLUSH_S
            await asyncio.to_thread(before.flush, patience_s)
        finally:
            self._broken.append(before)  # what is left there, if anything, came to nothing
            self._producer = fresh
            waiting, self._waiting = self._waiting, None
            for message in waiting:
                try:
                    self._produce(message)
                except LockstepError as error:
                    if not message.done.done():
                        message.done.set_exception(error)

    async def close(self) -> None:
        """Sends what is under way and ends."""
        self._closed = True
        await asyncio.to_thread(self._producer.flush, _FLUSH_S)
        self._producer.purge()
        await asyncio.to_thread(self._hearing.join)

    def _produce(self, message: _Message) -> None:
        def delivered(error: KafkaError | None, told: Any) -> None:
            offset = None if error is not None else told.offset()
            stored = None if offset is None else Stored(offset, told.timestamp()[1])
            self._post(self._settle, message, error, stored)

        try:
            self._producer.produce(
                message.topic,
                message.value,
                message.key,
                message.partition,
                on_delivery=delivered,
                headers=list(message.headers),
            )
        except BufferError as error:
            raise _too_much(message.where) from error
        except KafkaException as error:
            told = error.args[0]
            if told.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                raise RecordTooLargeError(
                    len(message.value), MAX_REQUEST_BYTES, where=message.where
                ) from error
            if told.fatal():
                with contextlib.suppress(KafkaException):  # bad files: the next message tries again
                    fresh = self._made()
                    self._broken.append(self._producer)
                    self._producer = fresh
            raise translated(told, message.where) from error

    def _settle(self, message: _Message, error: KafkaError | None, stored: Stored | None) -> None:
        done, where = message.done, message.where
        if done.done():
            return
        if error is not None:
            taken_bytes = self._taken_bytes.get(message.topic)
            refusal = refusal_of(error, len(message.value), taken_bytes, where)
            self._refusals.note(refusal)
            done.set_exception(refusal)
        elif stored is not None and stored.offset >= 0:
            done.set_result(stored)
        else:  # it was stored by an attempt whose answer was lost
            done.set_exception(UnavailableError("the bus does not tell where this is", where=where))

    def _hear(self) -> None:
        while not self._closed:
            self._producer.poll(_HEARS_EVERY_S)
            for broken in list(self._broken):  # who waits for what it had is told
                broken.purge()
                if broken.flush(_HEARS_EVERY_S) == 0:
                    self._broken.remove(broken)

    def _post(self, call: Callable[..., None], *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *arguments)

    def _made(self) -> Producer:
        limits = self._limits
        return Producer(
            {
                **self._config,
                "error_cb": self._troubled,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": limits.publish_timeout_ms,
                "request.timeout.ms": max(1_000, limits.publish_timeout_ms // _ATTEMPTS),
                "socket.timeout.ms": max(1_000, limits.publish_timeout_ms // _ATTEMPTS),
                "message.max.bytes": MAX_REQUEST_BYTES,
                # A broker refuses all of a batch that is larger than its topic takes of one.
                "batch.size": min(_BATCH_BYTES, limits.max_message_bytes),
                "queue.buffering.max.messages": _QUEUE_MESSAGES,
            }
        )


def _too_much(where: str) -> UnavailableError:
    return UnavailableError("too much is under way to the bus", where=where)


def refusal_of(
    error: KafkaError, size_bytes: int, taken_bytes: int | None, where: str
) -> LockstepError:
    """Why a message was not stored. One that fits by itself was refused with others that were sent
    along with it, so it may be tried again. So may one of which nobody knows whether it fits: who
    took it for too large would put it aside."""
    if error.code() != KafkaError.MSG_SIZE_TOO_LARGE:
        return translated(error, where)
    limit_bytes = None if taken_bytes is None else max(1, taken_bytes - FRAME_BYTES)
    if limit_bytes is not None and size_bytes > limit_bytes:
        return RecordTooLargeError(size_bytes, limit_bytes, where=where)
    return UnavailableError(
        f"a record of {size_bytes} bytes is too large for its topic, alone or with others",
        where=where,
        hint="raise max.message.bytes of the topic, or let the bus's user describe and alter the "
        "configs of its topics",
    )


def _give_up(done: asyncio.Future[Stored], where: str) -> None:
    if not done.done():
        error = UnavailableError("the bus has not told what became of this", where=where)
        done.set_exception(error)
