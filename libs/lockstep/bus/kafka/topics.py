"""Live topics: one Kafka topic per kind of subject, so that nobody reads what is far from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from lockstep.bus.contract import Mailbox, Subscription
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.kafka.ingress import KafkaIngress
from lockstep.bus.kafka.ledger import World
from lockstep.bus.kafka.live import Live, Message
from lockstep.bus.kafka.mailbox import KafkaMailbox
from lockstep.bus.kafka.requests import MAX_ANSWER_BYTES, Requests
from lockstep.bus.subjects import INGRESS_ALL, matches
from lockstep.bus.subscriptions import QueuedSubscription

_KINDS: Final = ("control", "presenter", "topic")
_REST: Final = "other"


class KafkaTopics:
    """Nothing is kept: who does not listen misses it."""

    def __init__(self, world: World, ingress: KafkaIngress) -> None:
        self._limits = world.broker.connection.limits
        self._clock = world.clock
        self._ingress = ingress
        self._live = {kind: Live(world, f"live.{kind}") for kind in (*_KINDS, _REST)}
        self._requests = Requests(world)

    async def make(self) -> None:
        """The Kafka topics are there when this returns."""
        await asyncio.gather(self._requests.make(), *(one.make() for one in self._live.values()))

    @property
    def max_answer_bytes(self) -> int:
        return MAX_ANSWER_BYTES

    async def publish(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        kind = subject.partition(".")[0]
        self._live[kind if kind in _KINDS else _REST].send(subject, payload, headers)

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        """See the contract; ingress.> alone is kept."""
        if matches(INGRESS_ALL, subject):
            await self._ingress.door.put(subject, payload, headers)
            return True
        limit_bytes = self._limits.max_message_bytes
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=subject)
        await self.publish(subject, payload, headers=headers)
        return False

    async def subscribe(self, pattern: str) -> Subscription:
        ends: list[Callable[[], object]] = []

        async def forget() -> None:
            for end in ends:
                end()

        subscription = QueuedSubscription(self._limits.subscription_queue_messages, forget)

        def take(message: Message) -> None:
            subscription.offer(message.subject, message.payload)

        ends += [await live.listen(pattern, take) for live in self._of(pattern)]
        return subscription

    async def open_mailbox(self, pattern: str, name: str) -> Mailbox:
        """See Bus.mailbox; on Kafka no mailbox is kept."""
        mailbox = KafkaMailbox(self._limits.subscription_queue_messages, self._clock)
        for live in self._of(pattern):
            mailbox.leave.append(await live.share(pattern, name, mailbox.take))
        return mailbox

    async def request(self, subject: str, payload: bytes, *, timeout_ms: int) -> bytes:
        return await self._requests.request(subject, payload, timeout_ms=timeout_ms)

    async def respond(
        self,
        subject: str,
        handler: Callable[[bytes], Awaitable[bytes]],
        *,
        queue: str | None = None,
    ) -> Subscription:
        return await self._requests.respond(subject, handler, queue=queue)

    async def close(self) -> None:
        """Hears nothing more."""
        await asyncio.gather(self._requests.close(), *(one.close() for one in self._live.values()))

    def _of(self, pattern: str) -> list[Live]:
        kind = pattern.partition(".")[0]
        if kind in ("*", ">"):
            return list(self._live.values())
        return [self._live[kind if kind in _KINDS else _REST]]
