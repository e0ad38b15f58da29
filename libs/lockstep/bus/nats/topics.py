"""Live topics and requests on core NATS."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from nats.aio.msg import Msg

from lockstep.bus.contract import Subscription
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.in_flight import InFlight
from lockstep.bus.nats.jetstream import JetStream, persistently
from lockstep.bus.nats.keepers import Keepers
from lockstep.bus.subjects import ID_HEADER
from lockstep.bus.subscriptions import QueuedSubscription
from lockstep.clock import Randomness
from lockstep.events import LockstepError, UnavailableError
from lockstep.telemetry import get_logger


class NatsTopics:
    """Nothing is kept: who does not listen misses it."""

    def __init__(self, jetstream: JetStream, randomness: Randomness, in_flight: InFlight) -> None:
        self._jetstream = jetstream
        self._connection = connection = jetstream.connection
        self._randomness = randomness
        self._in_flight = in_flight
        self._keepers = Keepers(jetstream)
        self._log = get_logger()
        self._answering: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(connection.limits.max_concurrent_responses)

    @property
    def max_answer_bytes(self) -> int:
        return self._connection.max_payload_bytes

    async def publish(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        await self._connection.publish(subject, payload, headers=headers)

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        limits = self._connection.limits
        limit_bytes = min(limits.max_message_bytes, self._connection.max_payload_bytes)
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=subject)
        if await self._keepers.stream_of(subject) is None:
            await self._connection.publish(subject, payload, headers=headers)
            return False
        # With an id it can be sent again after a lost acknowledgement.
        given = {ID_HEADER: self._randomness.uuid_hex(), **(headers or {})}
        try:
            async with self._in_flight.passing(len(payload)):
                await persistently(
                    lambda: self._jetstream.publish(
                        subject, payload, given, limit_bytes=limits.max_log_bytes
                    ),
                    limits,
                )
        except UnavailableError:
            self._keepers.forget(subject)
            raise
        return True

    async def subscribe(self, pattern: str) -> Subscription:
        key: int | None = None

        async def forget() -> None:
            if key is not None:
                await self._connection.unsubscribe(key)

        limit = self._connection.limits.subscription_queue_messages
        subscription = QueuedSubscription(limit, forget)

        async def take(message: Msg) -> None:
            subscription.offer(message.subject, message.data)

        key = await self._connection.subscribe(pattern, take)
        return subscription

    async def request(self, subject: str, payload: bytes, *, timeout_ms: int) -> bytes:
        answer = await self._connection.request(subject, payload, timeout_ms=timeout_ms)
        return answer.data

    async def respond(
        self,
        subject: str,
        handler: Callable[[bytes], Awaitable[bytes]],
        *,
        queue: str | None = None,
    ) -> Subscription:
        key: int | None = None

        async def forget() -> None:
            if key is not None:
                await self._connection.drain(key)

        async def take(message: Msg) -> None:
            await self._room.acquire()  # a full house holds up this subscription alone
            task = asyncio.get_running_loop().create_task(self._answer(message, handler))
            self._answering.add(task)
            task.add_done_callback(self._answered)

        key = await self._connection.subscribe(subject, take, queue=queue or "")
        return QueuedSubscription(1, forget)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._answering.discard(task)
        self._room.release()

    async def _answer(self, message: Msg, handler: Callable[[bytes], Awaitable[bytes]]) -> None:
        try:
            answer = await handler(message.data)
            if message.reply:
                await self._connection.publish(message.reply, answer)
        except LockstepError as error:
            self._log.warning("a request got no answer", subject=message.subject, error=str(error))
