"""One producer and one admin client for all of a bus; what blocks stays off the event loop.

The client sends on threads of its own. One more thread hears what has become of each message and
hands it to the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import stamina
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from lockstep.bus.errors import LogFullError, LogGoneError, NoRoomError, RecordTooLargeError
from lockstep.bus.kafka.address import Address
from lockstep.bus.kafka.errors import translated
from lockstep.bus.limits import BusLimits
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

T = TypeVar("T")
Headers = Sequence[tuple[str, bytes]]

MAX_REQUEST_BYTES: Final = 8_388_608
"""Of one message with all that is around it: dead letters hold what was too large for a log."""

_HEARS_EVERY_S: Final = 0.2
_REFRESH_MS: Final = 5_000  # an admin client learns so where the controller is
_FLUSH_S: Final = 2.0
_RETRY_FIRST_S: Final = 0.02
_RETRY_MAX_S: Final = 0.5
_ATTEMPTS: Final = 3  # within the time that a message has
_QUEUE_MESSAGES: Final = 100_000


class Connection:
    """Use `open`. Errors of all calls: UnavailableError, LogGoneError, BusRefusedError."""

    def __init__(self, address: Address, limits: BusLimits, name: str) -> None:
        self.address = address
        self.limits = limits
        self.config: dict[str, Any] = {
            **address.config,
            "client.id": name,
            "log_level": 0,  # every call tells its own errors
            "allow.auto.create.topics": False,
            "broker.address.family": "any",
            "socket.keepalive.enable": True,
            "socket.connection.setup.timeout.ms": max(1_000, limits.connect_timeout_ms),
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 1_000,
            "topic.metadata.refresh.interval.ms": _REFRESH_MS,
            "topic.metadata.refresh.fast.interval.ms": 50,
            "retry.backoff.ms": 50,
            "retry.backoff.max.ms": 500,
        }
        self.admin = AdminClient(self.config | {"error_cb": self._troubled})
        self._loop = asyncio.get_running_loop()
        self._producer = self._make_producer()
        self._broken: deque[Producer] = deque()
        self._refusal: KafkaError | None = None
        self._closed = False
        self._hearing = threading.Thread(target=self._hear, name="kafka-produced", daemon=True)
        self._hearing.start()

    @classmethod
    async def open(cls, address: Address, limits: BusLimits, name: str) -> Connection:
        """Some broker has answered."""
        connection = cls(address, limits, name)
        try:
            async with asyncio.timeout(limits.connect_timeout_ms / 1000):
                while True:
                    try:
                        await connection.topics(timeout_ms=1_000)
                    except UnavailableError:
                        connection.refused()
                        await asyncio.sleep(_RETRY_FIRST_S)
                    else:
                        return connection
        except TimeoutError as error:
            await connection.close()
            raise UnavailableError("the bus cannot be reached", where=address.shown) from error
        except BaseException:
            await connection.close()
            raise

    def refused(self) -> None:
        """Raises what a broker told that does not let us in."""
        if self._refusal is not None:
            raise translated(self._refusal, self.address.shown)

    def send(
        self,
        topic: str,
        value: bytes,
        *,
        where: str,
        headers: Headers = (),
        key: bytes | None = None,
        partition: int = 0,
    ) -> asyncio.Future[int]:
        """The offset at which it is stored, on as many brokers as have to have it. Messages are
        stored in the order of these calls."""
        if self._closed:
            raise UnavailableError("the bus was closed", where=where)
        done: asyncio.Future[int] = self._loop.create_future()

        def delivered(error: KafkaError | None, message: Any) -> None:
            offset = None if error is not None else message.offset()
            self._post(_settle, done, error, offset, where)

        try:
            self._producer.produce(
                topic, value, key, partition, on_delivery=delivered, headers=list(headers)
            )
        except BufferError as error:
            raise UnavailableError("too much is under way to the bus", where=where) from error
        except KafkaException as error:
            told = error.args[0]
            if told.code() == KafkaError.MSG_SIZE_TOO_LARGE:
                raise RecordTooLargeError(len(value), MAX_REQUEST_BYTES, where=where) from error
            if told.fatal():
                self._broken.append(self._producer)
                self._producer = self._make_producer()
            raise translated(told, where) from error
        return done

    async def ask(self, futures: Mapping[Any, Future[T]], where: str) -> T:
        """What an admin call for one thing gives."""
        (future,) = futures.values()
        try:
            return await asyncio.wrap_future(future)
        except KafkaException as error:
            raise translated(error.args[0], where) from error

    async def topics(self, *, timeout_ms: int | None = None) -> Sequence[str]:
        """The names of all topics."""
        timeout_s = (timeout_ms or self.limits.publish_timeout_ms) / 1000
        try:
            found = await asyncio.to_thread(self.admin.list_topics, timeout=timeout_s)
        except KafkaException as error:
            raise translated(error.args[0], self.address.shown) from error
        return list(found.topics)

    async def healthy(self) -> bool:
        """Whether a broker answers now."""
        if self._closed:
            return False
        try:
            await self.topics(timeout_ms=1_000)
        except UnavailableError:
            return False
        return True

    async def persistently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Calls until it succeeds or `publish_timeout_ms` have passed."""
        async for attempt in stamina.retry_context(
            on=_worth_retrying,
            attempts=None,
            timeout=self.limits.publish_timeout_ms / 1000,
            wait_initial=_RETRY_FIRST_S,
            wait_max=_RETRY_MAX_S,
            wait_jitter=_RETRY_FIRST_S,
        ):
            with attempt:
                if self._closed:
                    raise ClosedError("the bus was closed", where=self.address.shown)
                return await call()
        raise AssertionError("retries end with a result or an error")

    async def close(self) -> None:
        """Sends what is under way and ends; idempotent."""
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._producer.flush, _FLUSH_S)
        self._producer.purge()
        await asyncio.to_thread(self._hearing.join)

    def _hear(self) -> None:
        while not self._closed:
            self._producer.poll(_HEARS_EVERY_S)
            while self._broken:  # who waits for what it had is told
                broken = self._broken.popleft()
                broken.purge()
                broken.flush(_HEARS_EVERY_S)

    def _post(self, call: Callable[..., None], *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *arguments)

    def _troubled(self, error: KafkaError) -> None:
        if isinstance(translated(error, ""), UnavailableError):
            get_logger().debug("bus error", error=error.str())
        else:
            self._refusal = error

    def _make_producer(self) -> Producer:
        limits = self.limits
        return Producer(
            {
                **self.config,
                "error_cb": self._troubled,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "message.timeout.ms": limits.publish_timeout_ms,
                "request.timeout.ms": max(1_000, limits.publish_timeout_ms // _ATTEMPTS),
                "socket.timeout.ms": max(1_000, limits.publish_timeout_ms // _ATTEMPTS),
                "message.max.bytes": MAX_REQUEST_BYTES,
                "queue.buffering.max.messages": _QUEUE_MESSAGES,
            }
        )


class ClosedError(UnavailableError):
    """Nothing can be asked of a bus that was closed here."""


def one(topic: str, offset: int = 0, partition: int = 0) -> TopicPartition:
    """A place in a topic."""
    return TopicPartition(topic, partition, offset)


def _worth_retrying(error: Exception) -> bool:
    final = LogFullError | NoRoomError | LogGoneError | ClosedError
    return isinstance(error, UnavailableError) and not isinstance(error, final)


def _settle(
    done: asyncio.Future[int], error: KafkaError | None, offset: int | None, where: str
) -> None:
    if done.cancelled():
        return
    if error is not None:
        done.set_exception(translated(error, where))
    elif offset is not None:
        done.set_result(offset)
