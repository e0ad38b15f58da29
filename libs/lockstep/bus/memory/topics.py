"""Live topics and requests in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lockstep.bus.contract import Ingress, Subscription
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.memory.carrier import MemoryCarrier
from lockstep.bus.memory.link import Link
from lockstep.bus.memory.mailbox import MemoryMailbox
from lockstep.bus.subjects import INGRESS_ALL, ingress_names, matches
from lockstep.bus.subscriptions import QueuedSubscription
from lockstep.events import UnavailableError

MAX_ANSWER_BYTES: Final = 8_000_000
"""About what servers take."""


@dataclass(frozen=True)
class _Listener:
    pattern: str
    link: Link
    subscription: QueuedSubscription


@dataclass(frozen=True)
class _Box:
    pattern: str
    name: str
    link: Link
    mailbox: MemoryMailbox


@dataclass(frozen=True)
class _Responder:
    subject: str
    link: Link
    handler: Callable[[bytes], Awaitable[bytes]]


class MemoryTopics:
    """Delivers to everybody on the same carrier who can be reached."""

    def __init__(self, carrier: MemoryCarrier, link: Link, ingress: Ingress) -> None:
        self._carrier = carrier
        self._ingress = ingress
        self._link = link
        self._keys: list[int] = []

    @property
    def max_answer_bytes(self) -> int:
        return MAX_ANSWER_BYTES

    async def publish(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        self._link.send()
        for listener in list(self._carrier.listeners.values()):
            if (
                isinstance(listener, _Listener)
                and listener.link.reachable
                and matches(listener.pattern, subject)
            ):
                listener.subscription.offer(subject, payload)
        self._into_boxes(subject, payload, headers or {})

    def _into_boxes(self, subject: str, payload: bytes, headers: Mapping[str, str]) -> None:
        """One of the readers of each mailbox, each in turn."""
        served: set[tuple[str, str]] = set()
        for key, box in list(self._carrier.listeners.items()):
            if not isinstance(box, _Box) or not box.link.reachable:
                continue
            if matches(box.pattern, subject) and (box.name, box.pattern) not in served:
                served.add((box.name, box.pattern))
                box.mailbox.offer(subject, payload, headers)
                self._carrier.listeners[key] = self._carrier.listeners.pop(key)

    def open_mailbox(self, pattern: str, name: str) -> MemoryMailbox:
        self._link.send()
        key = self._carrier.next_key()
        mailbox = MemoryMailbox(
            self._carrier.clock,
            self._carrier.limits.subscription_queue_messages,
            lambda: self._carrier.listeners.pop(key, None),
        )
        self._carrier.listeners[key] = _Box(pattern, name, self._link, mailbox)
        self._keys.append(key)
        return mailbox

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        """See the contract; ingress.> alone is kept."""
        if matches(INGRESS_ALL, subject):
            app, stream = ingress_names(subject)
            await self._ingress.publish(app, stream, payload, headers=headers)
            return True
        limit_bytes = self._carrier.limits.max_message_bytes
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=subject)
        await self.publish(subject, payload, headers=headers)
        return False

    async def subscribe(self, pattern: str) -> Subscription:
        self._link.send()
        return self._add(lambda subscription: _Listener(pattern, self._link, subscription))

    async def request(self, subject: str, payload: bytes, *, timeout_ms: int) -> bytes:
        self._link.send()
        for responder in list(self._carrier.listeners.values()):
            if (
                isinstance(responder, _Responder)
                and responder.link.reachable
                and responder.subject == subject
            ):
                return await self._answer(responder, subject, payload, timeout_ms)
        raise UnavailableError("nobody answers", where=subject)

    async def respond(
        self,
        subject: str,
        handler: Callable[[bytes], Awaitable[bytes]],
        *,
        queue: str | None = None,
    ) -> Subscription:
        self._link.send()
        return self._add(lambda _: _Responder(subject, self._link, handler))

    def close(self) -> None:
        """Forgets what was subscribed here."""
        for key in self._keys:
            self._carrier.listeners.pop(key, None)

    def _add(self, make: Callable[[QueuedSubscription], object]) -> Subscription:
        key = self._carrier.next_key()

        async def forget() -> None:
            self._carrier.listeners.pop(key, None)

        limit = self._carrier.limits.subscription_queue_messages
        subscription = QueuedSubscription(limit, forget)
        self._carrier.listeners[key] = make(subscription)
        self._keys.append(key)
        return subscription

    async def _answer(
        self, responder: _Responder, subject: str, payload: bytes, timeout_ms: int
    ) -> bytes:
        answering = asyncio.ensure_future(responder.handler(payload))
        waiting = asyncio.ensure_future(self._carrier.clock.sleep_ms(timeout_ms))
        try:
            await asyncio.wait({answering, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() or not responder.link.reachable:
                raise UnavailableError(f"no answer within {timeout_ms} ms", where=subject)
            answer = answering.result()
            if len(answer) > MAX_ANSWER_BYTES:
                raise UnavailableError("the answer is longer than the bus takes", where=subject)
            return answer
        finally:
            answering.cancel()
            waiting.cancel()
