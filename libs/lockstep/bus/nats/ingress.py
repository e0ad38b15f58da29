"""The bus clients' front door: a work queue shared by all receivers through one consumer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from nats.aio.msg import Msg

from lockstep.bus.contract import IngressMessage
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.consumer import SharedConsumer, acknowledge, message_id
from lockstep.bus.nats.jetstream import JetStream, persistently, stream_config
from lockstep.bus.nats.shared_stream import SharedStream
from lockstep.bus.subjects import (
    ID_HEADER,
    INGRESS_ALL,
    INGRESS_STREAM,
    ingress_names,
    ingress_subject,
)
from lockstep.clock import Randomness

_CONSUMER: Final = "receivers"


class NatsIngress:
    """Client side (`publish`) and receiver side (`read`)."""

    def __init__(self, jetstream: JetStream, randomness: Randomness) -> None:
        self._jetstream = jetstream
        self._randomness = randomness
        limits = jetstream.limits
        self.stream = SharedStream(
            jetstream,
            stream_config(
                INGRESS_STREAM,
                INGRESS_ALL,
                limits,
                max_bytes=limits.ingress_max_bytes,
                forgets=False,
                retention="workqueue",
            ),
        )
        self._consumer = SharedConsumer(
            jetstream, INGRESS_STREAM, _CONSUMER, {"deliver_policy": "all"}, self.stream
        )

    async def publish(
        self, app: str, stream: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        limits = self._jetstream.limits
        subject = ingress_subject(app, stream)
        limit_bytes = min(limits.max_message_bytes, self._jetstream.connection.max_payload_bytes)
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=subject)
        # The same id again after a lost acknowledgement.
        given = {ID_HEADER: self._randomness.uuid_hex(), **(headers or {})}
        publish = partial(
            self._jetstream.publish, subject, payload, given, limit_bytes=limits.ingress_max_bytes
        )
        await persistently(lambda: self.stream.served(publish), limits)

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[IngressMessage]:
        found = await self._consumer.read(max_messages=max_messages, wait_ms=wait_ms)
        return [_message(message, self._jetstream.connection) for message in found]

    async def release(self) -> None:
        """Gives back what has come and was not read, so that others need not wait for it."""
        await self._consumer.release()


def _message(message: Msg, connection: Connection) -> IngressMessage:
    app, stream = ingress_names(message.subject)
    return IngressMessage(
        app,
        stream,
        message.data,
        dict(message.headers or {}),
        message_id(message),
        partial(acknowledge, connection, message),
    )
