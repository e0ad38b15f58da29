"""Mailboxes: a subject's messages shared by name, durable where a stream keeps the subject."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Final

from nats.aio.msg import Msg

from lockstep.bus.contract import Mail, Mailbox
from lockstep.bus.live_mail import LiveMail
from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.consumer import SharedConsumer, message_id, sequence_of
from lockstep.bus.nats.jetstream import JetStream, persistently
from lockstep.bus.subjects import covers
from lockstep.clock import SystemClock

SEQUENCE_HEADER: Final = "sequenceNumber"
"""As the older products call a message's number in its stream."""
_NS_PER_MS: Final = 1_000_000


async def open_mailbox(jetstream: JetStream, pattern: str, name: str, queue: str = "") -> Mailbox:
    """See the contract. `queue`: the group that shares what no stream keeps. UnavailableError."""
    consumer = consumer_name(pattern, name)
    answer = await persistently(
        lambda: jetstream.call("STREAM.LIST", {"subject": pattern}), jetstream.limits
    )
    for stream in answer.get("streams") or ():
        config = stream["config"]
        if any(covers(kept, pattern) for kept in config.get("subjects") or ()):
            # A work queue hands everything out; any other stream begins with what is new.
            policy = "all" if config.get("retention") == "workqueue" else "new"
            shared = SharedConsumer(
                jetstream,
                str(config["name"]),
                consumer,
                {
                    "deliver_policy": policy,
                    "filter_subject": pattern,
                    # Who has not come back for so long will not; the stream need not wait for it.
                    "inactive_threshold": jetstream.limits.max_log_age_ms * _NS_PER_MS,
                },
            )
            await shared.open()
            return KeptMailbox(shared)
    return await open_live(jetstream.connection, pattern, queue or consumer)


async def open_live(connection: Connection, pattern: str, queue: str) -> Mailbox:
    """Of a subject that no stream keeps. Errors: UnavailableError."""
    live = LiveMailbox(connection)
    await live.open(pattern, queue)
    return live


def consumer_name(pattern: str, name: str) -> str:
    """Under which those who open a mailbox of that name share its messages."""
    return f"lockstep-{hashlib.sha256(f'{name} {pattern}'.encode()).hexdigest()[:24]}"


class KeptMailbox:
    """A stream keeps what has not been acknowledged."""

    def __init__(self, shared: SharedConsumer) -> None:
        self._shared = shared

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        found = await self._shared.read(max_messages=max_messages, wait_ms=wait_ms)
        return [
            Mail(
                message.subject,
                message.data,
                {SEQUENCE_HEADER: sequence_of(message), **(message.headers or {})},
                message_id(message),
                partial(self._shared.acknowledge, message),
            )
            for message in found
        ]

    async def close(self) -> Sequence[Mail]:
        await self._shared.release()
        return ()


class LiveMailbox:
    """Core NATS with a queue group: at most once. Over its limit the newest is lost and told."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._mail = LiveMail(connection.limits.subscription_queue_messages, SystemClock())
        self._key: int | None = None
        self.read = self._mail.read

    async def open(self, pattern: str, queue: str) -> None:
        """Listens."""
        self._key = await self._connection.subscribe(pattern, self._take, queue=queue)

    async def close(self) -> Sequence[Mail]:
        key, self._key = self._key, None
        if key is not None:
            await self._connection.drain(key)
        return self._mail.rest()

    async def _take(self, message: Msg) -> None:
        self._mail.offer(message.subject, message.data, message.headers or {})
