"""@sink(type='rabbitmq'): a message counts as delivered when the broker has confirmed it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

import aio_pika
from aio_pika.exceptions import DeliveryError

from lockstep.connectors.rabbitmq.connection import LOST, TIMEOUT_S, check_uri, closed, connected
from lockstep.sinks import Message, MessageRefusedError, Sink, headers_filled


class RabbitSink(Sink):
    """Options: `uri`, `exchange.name`, `exchange.type` (direct), `routing.key`, `headers` …

    Each message bears the output's identity as `message_id`, unless the option gives another.
    """

    in_flight: ClassVar[int] = 16

    def __init__(self, options: Mapping[str, str]) -> None:
        check_uri(options)
        self._options = options
        self._connection: Any = None
        self._channel: Any = None
        self._exchanges: dict[str, Any] = {}
        self._opening = asyncio.Lock()

    async def send(self, message: Message) -> None:
        filled = {name: message.fill(text) for name, text in self._options.items()}
        made = aio_pika.Message(
            message.payload,
            headers=headers_filled(self._options.get("headers", ""), message.fill),
            content_type=filled.get("content.type", message.content_type),
            content_encoding=filled.get("content.encoding"),
            delivery_mode=int(filled.get("delivery.mode", "2")),
            correlation_id=filled.get("correlation.id"),
            reply_to=filled.get("reply.to"),
            message_id=filled.get("message.id", message.id),
        )
        try:
            exchange = await self._exchange(filled)
            async with asyncio.timeout(TIMEOUT_S):
                await exchange.publish(made, filled.get("routing.key", ""), mandatory=False)
        except DeliveryError as error:
            raise MessageRefusedError(f"RabbitMQ refuses the message: {error}") from error
        except LOST as error:
            await self.close()
            raise OSError(f"RabbitMQ is away: {error!r}") from error
        except OSError:
            await self.close()
            raise

    async def _exchange(self, filled: Mapping[str, str]) -> Any:
        name = filled["exchange.name"]
        async with self._opening:
            if self._channel is None or self._channel.is_closed:
                try:
                    self._connection = await connected(filled)
                except ValueError as error:  # of what the client reads on opening alone
                    raise OSError(f"RabbitMQ: the client takes no such 'uri': {error}") from error
                self._channel = await self._connection.channel(publisher_confirms=True)
                self._exchanges.clear()
            if name not in self._exchanges:
                self._exchanges[name] = await self._channel.declare_exchange(
                    name,
                    filled.get("exchange.type", "direct").lower(),
                    durable=filled.get("exchange.durable.enabled", "").lower() == "true",
                    auto_delete=filled.get("exchange.autodelete.enabled", "").lower() == "true",
                )
            return self._exchanges[name]

    async def close(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None and not connection.is_closed:
            await closed(connection)
