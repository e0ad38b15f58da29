"""One producer and one admin client for all of a bus; what blocks stays off the event loop.

Clients read their certificates when they are made. So when the files change, clients are made anew:
first an admin client, which shows that a broker takes them; then the producer, and those that read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import stamina
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from lockstep.bus.errors import (
    BusRefusedError,
    BusRightsError,
    LogFullError,
    LogGoneError,
    NoRoomError,
)
from lockstep.bus.kafka.address import Address
from lockstep.bus.kafka.errors import translated
from lockstep.bus.kafka.sending import Sender
from lockstep.bus.limits import BusLimits
from lockstep.events import LockstepError, UnavailableError
from lockstep.telemetry import get_logger
from lockstep.tls import Renewal

T = TypeVar("T")

_REFRESH_MS: Final = 5_000  # an admin client learns so where the controller is
_RETRY_FIRST_S: Final = 0.02
_RETRY_MAX_S: Final = 0.5
_LOOK_S: Final = 1.0  # at the files of certificates


class Connection:
    """Use `open`. Errors of all calls: UnavailableError, LogGoneError."""

    def __init__(self, address: Address, limits: BusLimits, name: str) -> None:
        self.address = address
        self.limits = limits
        self.request_s = max(1.0, limits.publish_timeout_ms / 3_000)
        """So long a broker may take over one answer, so that there is time to ask another one."""
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
        self.admin = self._made_admin()
        self._controlling: AdminClient | None = None
        self.made = 1
        """How often clients were made: those that were made before have older certificates."""
        self._refusal: KafkaError | None = None
        self._closed = False
        self.taken_bytes: dict[str, int] = {}
        """What topics take of one message with all that is around it, where that is known."""
        self._sender = Sender(self.config, limits, self._troubled, self.taken_bytes)
        self.send = self._sender.send
        self._renewing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, address: Address, limits: BusLimits, name: str) -> Connection:
        """Some broker has answered. Errors: UnavailableError, BusRefusedError."""
        connection = cls(address, limits, name)
        try:
            async with asyncio.timeout(limits.connect_timeout_ms / 1000):
                while True:
                    try:
                        await connection.topics(timeout_ms=1_000)
                    except BusRightsError as error:
                        raise _not_let_in(error) from error
                    except UnavailableError:
                        connection.refused()
                        await asyncio.sleep(_RETRY_FIRST_S)
                    else:
                        connection.look_after_files()
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
            raise _not_let_in(translated(self._refusal, self.address.shown))

    def look_after_files(self) -> None:
        """From now on, where certificates are shown or authorities trusted."""
        if self.address.files and self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())

    @property
    def controlling(self) -> AdminClient:
        """For what a broker has to hand on to the controller. One that is cut off from it lets such
        a request wait, and with it all that comes behind it on the same connection."""
        if self._controlling is None:
            try:
                self._controlling = self._made_admin()
            except KafkaException as error:  # somebody is writing the certificates' files
                raise translated(error.args[0], self.address.shown) from error
        return self._controlling

    async def ask(self, futures: Mapping[Any, Future[T]], where: str) -> T:
        """What an admin call for one thing gives."""
        (future,) = futures.values()
        try:
            async with asyncio.timeout(self.limits.publish_timeout_ms / 1000):
                return await asyncio.wrap_future(future)
        except KafkaException as error:
            raise translated(error.args[0], where) from error
        except TimeoutError as error:
            raise UnavailableError("no broker has answered", where=where) from error

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
        if self._renewing is not None:
            self._renewing.cancel()
        await self._sender.close()

    async def _renew(self) -> None:
        renewal, is_wanted = Renewal(self.address.files), False
        while True:
            await asyncio.sleep(_LOOK_S)
            is_wanted = renewal.is_due() or is_wanted
            if is_wanted and await self._is_renewed():
                is_wanted = False
                get_logger().info("new certificates are used", brokers=self.address.shown)

    async def _is_renewed(self) -> bool:
        """Whether a broker lets in who shows what the files hold now, and all clients were made
        anew. Until then, those of before go on."""
        timeout_s = self.limits.connect_timeout_ms / 1000
        try:
            # Any of these clients may find files that somebody is writing at this moment.
            admin = self._made_admin()
            await asyncio.to_thread(admin.list_topics, timeout=timeout_s)
            await self._sender.exchange()
            self.admin, self._controlling = admin, None
            self.made += 1
        except KafkaException as error:
            told = translated(error.args[0], self.address.shown)
            get_logger().warning("no broker takes the new certificates yet", error=str(told))
            return False
        return True

    def _made_admin(self) -> AdminClient:
        # The client would wait a minute for one answer before it takes another connection.
        own = {"error_cb": self._troubled, "socket.timeout.ms": round(1_000 * self.request_s)}
        return AdminClient(self.config | own)

    def _troubled(self, error: KafkaError) -> None:
        if isinstance(translated(error, ""), BusRightsError):
            self._refusal = error
        else:
            get_logger().debug("bus error", error=error.str())


class ClosedError(UnavailableError):
    """Nothing can be asked of a bus that was closed here."""


def one(topic: str, offset: int = 0, partition: int = 0) -> TopicPartition:
    """A place in a topic."""
    return TopicPartition(topic, partition, offset)


def _worth_retrying(error: Exception) -> bool:
    final = LogFullError | NoRoomError | LogGoneError | ClosedError
    return isinstance(error, UnavailableError) and error.retryable and not isinstance(error, final)


def _not_let_in(error: LockstepError) -> BusRefusedError:
    """At the start it is a mistake of who has set up the bus."""
    return BusRefusedError(error.message, where=error.where, hint=error.hint)
