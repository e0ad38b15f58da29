"""@source(type='rabbitmq'): a queue that all receivers share; acknowledged when in the log.

Without a `queue.name` the queue is named after the app and the stream, so that it outlives a
receiver. A message that comes again is known by its sender's message id; without one it counts
twice when a receiver dies between the log and the acknowledgement.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from aio_pika.abc import AbstractConnection, AbstractIncomingMessage

from lockstep.connectors.rabbitmq.connection import LOST, closed, connected
from lockstep.sources import Place, Received, Source

PREFETCH: Final = 256


class RabbitSource(Source):
    """Options: `uri`, `exchange.name`, `exchange.type` (direct), `routing.key`, `queue.name` …"""

    shared: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._options = options
        self._name = options.get("queue.name") or f"lockstep.{place.app}.{place.stream}"
        self._connection: AbstractConnection | None = None
        self._found: asyncio.Queue[AbstractIncomingMessage | str] = asyncio.Queue()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        try:
            if self._connection is None:
                await self._open()
            async with asyncio.timeout(wait_ms / 1000):
                found = [await self._found.get()]
        except TimeoutError:
            return ()
        except LOST as error:
            raise OSError(f"RabbitMQ cannot be read: {error!r}") from error
        while len(found) < max_messages and not self._found.empty():
            found.append(self._found.get_nowait())
        messages: list[Received] = []
        for one in found:
            if isinstance(one, str):
                raise OSError(one)  # what is not acknowledged comes again
            messages.append(_received(one))
        return messages

    async def _open(self) -> None:
        options = self._options
        # Of this connection alone: what an earlier one brought cannot be acknowledged any more.
        found = self._found = asyncio.Queue()
        connection = await connected(options)
        self._connection = connection
        channel = await connection.channel()
        # The broker may end the channel or the consumer, and leave the connection as it is.
        for ending in (connection.close_callbacks, channel.close_callbacks):
            ending.add(
                lambda _, why: found.put_nowait(f"the connection to RabbitMQ is lost: {why}")
            )
        (await channel.get_underlay_channel()).on_consumer_cancel_callbacks.add(
            lambda _: found.put_nowait(f"RabbitMQ's queue {self._name!r} is lost")
        )
        await channel.set_qos(PREFETCH)
        queue = await channel.declare_queue(
            self._name,
            durable=_flag(options, "queue.durable.enabled", default=True),
            exclusive=_flag(options, "queue.exclusive.enabled"),
            auto_delete=_flag(options, "queue.autodelete.enabled"),
        )
        exchange = await channel.declare_exchange(
            options["exchange.name"],
            options.get("exchange.type", "direct").lower(),
            durable=_flag(options, "exchange.durable.enabled"),
            auto_delete=_flag(options, "exchange.autodelete.enabled"),
        )
        await queue.bind(exchange, options.get("routing.key", ""))
        await queue.consume(found.put)

    async def close(self) -> Sequence[Received]:
        connection, self._connection = self._connection, None
        if connection is not None:
            await closed(connection)
        return ()


def _flag(options: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    return options.get(name, str(default)).strip().lower() == "true"


def _received(message: AbstractIncomingMessage) -> Received:
    async def acknowledge() -> None:
        with contextlib.suppress(*LOST):  # it comes again
            if not message.channel.is_closed:
                await message.ack()

    properties = {str(name): str(value) for name, value in message.headers.items()}
    properties |= {"routing.key": message.routing_key or "", "exchange": message.exchange or ""}
    if message.content_type:
        properties["Content-Type"] = message.content_type
    return Received(message.body, properties, message.message_id, acknowledge)
