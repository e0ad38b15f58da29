"""The bus clients' front door: a work queue shared by all receivers through one consumer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Final

from nats.aio.msg import Msg

from lockstep.bus.contract import IngressMessage
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.jetstream import JetStream, StreamConfig, persistently, stream_config
from lockstep.bus.nats.puller import Puller
from lockstep.bus.subjects import (
    ID_HEADER,
    INGRESS_ALL,
    INGRESS_STREAM,
    ingress_names,
    ingress_subject,
)
from lockstep.clock import Randomness
from lockstep.events import UnavailableError

_CONSUMER: Final = "receivers"
_MAX_PULL_BYTES: Final = 16_777_216
_NS_PER_MS: Final = 1_000_000
_PAUSE_S: Final = 0.05


class NatsIngress:
    """Client side (`publish`) and receiver side (`read`)."""

    def __init__(self, jetstream: JetStream, randomness: Randomness) -> None:
        self._jetstream = jetstream
        self._randomness = randomness
        self._lock = asyncio.Lock()
        self._puller: Puller | None = None

    def stream(self) -> StreamConfig:
        """The stream behind the door."""
        limits = self._jetstream.limits
        return stream_config(
            INGRESS_STREAM,
            INGRESS_ALL,
            limits,
            max_bytes=limits.ingress_max_bytes,
            forgets=False,
            retention="workqueue",
        )

    async def publish(
        self, app: str, stream: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """See the contract."""
        limits = self._jetstream.limits
        subject = ingress_subject(app, stream)
        limit_bytes = min(limits.max_message_bytes, self._jetstream.connection.max_payload_bytes)
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=subject)
        # The same id again after a lost acknowledgement.
        given = {ID_HEADER: self._randomness.uuid_hex(), **(headers or {})}
        await persistently(
            lambda: self._jetstream.publish(
                subject, payload, given, limit_bytes=limits.ingress_max_bytes
            ),
            limits,
        )

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[IngressMessage]:
        """See the contract."""
        deadline = asyncio.get_running_loop().time() + wait_ms / 1000
        async with self._lock:
            for failures in itertools.count(1):
                try:
                    return await self._read(max_messages, deadline)
                except UnavailableError:
                    await self._drop()
                    # A lost consumer is made anew at once, whatever time is left.
                    if failures > 1 and asyncio.get_running_loop().time() >= deadline:
                        raise
                    await asyncio.sleep(0 if failures == 1 else _PAUSE_S)
        raise AssertionError("unreachable")

    async def release(self) -> None:
        """Gives back what has come and was not read, so that others need not wait for it."""
        puller = self._puller
        while puller is not None and puller.buffered() is not None:
            with contextlib.suppress(UnavailableError):
                await self._jetstream.connection.publish(puller.take().reply, b"-NAK")

    async def _read(self, max_messages: int, deadline: float) -> Sequence[IngressMessage]:
        puller = await self._open()
        remaining = max(0.0, deadline - asyncio.get_running_loop().time())
        await puller.wait(remaining, max_messages=max_messages, max_bytes=_MAX_PULL_BYTES)
        taken: list[IngressMessage] = []
        fresh_s = self._jetstream.limits.ingress_redelivery_ms / 1000
        while len(taken) < max_messages and puller.buffered() is not None:
            stale = puller.waited_s() >= fresh_s
            message = puller.take()
            if not stale:  # else somebody else has been given it by now
                taken.append(_message(message, self._jetstream.connection))
        return taken

    async def _open(self) -> Puller:
        if self._puller is None:
            limits = self._jetstream.limits
            config = {
                "durable_name": _CONSUMER,
                "ack_policy": "explicit",
                "ack_wait": limits.ingress_redelivery_ms * _NS_PER_MS,
                "max_ack_pending": limits.ingress_max_unacknowledged,
                "deliver_policy": "all",
                "replay_policy": "instant",
            }
            puller = Puller(self._jetstream.connection, INGRESS_STREAM, _CONSUMER)
            await puller.open()
            self._puller = puller
            await self._jetstream.call(
                f"CONSUMER.DURABLE.CREATE.{INGRESS_STREAM}.{_CONSUMER}",
                {"stream_name": INGRESS_STREAM, "config": config},
            )
        return self._puller

    async def _drop(self) -> None:
        puller, self._puller = self._puller, None
        if puller is not None:
            await puller.close()


def _message(message: Msg, connection: Connection) -> IngressMessage:
    app, stream = ingress_names(message.subject)
    headers = dict(message.headers or {})
    tokens = message.reply.split(".")
    shift = 0 if len(tokens) == 9 else 2
    # Sequence and time of storing: also unique when the stream has been made anew.
    message_id = headers.get(ID_HEADER) or f"{tokens[5 + shift]}-{tokens[7 + shift]}"

    async def acknowledge() -> None:
        # Lost, it means one redelivery, which the message's id makes harmless.
        await connection.publish(message.reply, b"+ACK")

    return IngressMessage(app, stream, message.data, headers, message_id, acknowledge)
